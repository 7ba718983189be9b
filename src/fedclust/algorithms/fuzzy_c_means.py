"""LLF-FCM: lossless federated fuzzy c-means, rows split between owners.

J. L. Corcuera Barcena et al., IEEE Transactions on Artificial Intelligence, 2024; Algorithms 2
and 3, Eqs. 6-7.

Clients send the sums of u^m and of u^m x; memberships are never stored. They are computed as ratios
to the nearest centre's distance, which neither overflows for a fuzzifier near 1 nor divides by zero
on a centre; the authors' code does both.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from ..core import AnyAlgorithm, Data, Rule, Traits, checks
from ..kernels import divide_or_keep, fuzzy_sums
from ..typing import Rng
from .centers import CenterAlgorithm, Centers, CenterState, Sums, as_kind


def underdetermined_rule(n_clusters: int, n_features: int) -> Rule:
    """Section IV-B: a client takes part if N_m > C(F+1)/F, more unknowns than equations."""
    return Rule(min_samples=math.floor(n_clusters * (n_features + 1) / n_features) + 1)


@dataclass(frozen=True, eq=False)
class FuzzyCMeans(CenterAlgorithm[CenterState, Sums]):
    """Lossless fuzzy c-means: one exact step per round."""

    fuzzifier: float = 2.0

    key: ClassVar[str] = "llf-fcm"
    use_for: ClassVar[str] = (
        "Use it for fuzzy c-means, unless a case below applies. It is the default."
    )
    traits: ClassVar[Traits] = Traits(soft=True, means=True, additive=True, boundable=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.fuzzifier(self)

    def client_step(self, down: Centers, data: Data, rng: Rng) -> Sums:
        sums = fuzzy_sums(data.X, down.centers, self.fuzzifier, data.weight, data.grid)
        return Sums(*sums)  # Algorithm 3

    def server_step(self, state: CenterState, merged: Sums, rng: Rng) -> CenterState:
        return state.move_to(divide_or_keep(merged.total, merged.weight, state.centers))  # Eq. 7

    def over_cells(self) -> AnyAlgorithm:
        from .partial import PartialFuzzyCMeans

        return as_kind(PartialFuzzyCMeans, self)

    @property
    def lossless(self) -> bool:
        return True

    def rule(self, n_features: int) -> Rule:
        return underdetermined_rule(self.n_clusters, n_features)

    @classmethod
    def reference(cls, n_clusters: int, **changes: Any) -> Self:
        """Always ten rounds (in the authors' code the tolerance test is commented out)."""
        return cls(n_clusters, **{"max_rounds": 10, "tol": 0.0, **changes})
