"""LLF-CM: lossless federated c-means (k-means), rows split between owners.

J. L. Corcuera Barcena, F. Marcelloni, A. Renda, A. Bechini, P. Ducange: "Federated c-means and
Fuzzy c-means Clustering Algorithms for Horizontally and Vertically Partitioned Data", IEEE
Transactions on Artificial Intelligence, 2024; Algorithm 1, Eqs. 3-5.

One exact Lloyd step per round: clients send counts and sums, and the sum of those over clients is
what one client with all rows would compute. Line 16 of the paper negates its stop condition by
mistake. Its rule that clusters of one record are not sent costs exactness, so it is `rule`, which a
plan may leave out. An empty cluster keeps its centre, as in the authors' code.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from ..core import AnyAlgorithm, Data, Rule, Traits
from ..kernels import divide_or_keep, hard_sums
from ..typing import FloatArray, Rng
from .centers import CenterAlgorithm, Centers, CenterState, Sums, as_kind
from .micro_clusters import RivalSteps


@dataclass(frozen=True, eq=False)
class CMeans(CenterAlgorithm[CenterState, Sums]):
    """Lossless k-means: one exact Lloyd step per round."""

    key: ClassVar[str] = "llf-cm"
    use_for: ClassVar[str] = "Use it for k-means, unless a case below applies. It is the default."
    traits: ClassVar[Traits] = Traits(
        counted=True, conserves=True, means=True, additive=True, boundable=True
    )

    def client_step(self, down: Centers, data: Data, rng: Rng) -> Sums:
        sums = hard_sums(data.X, down.centers, data.weight, data.grid)  # Eq. 3
        return Sums(sums.weight, sums.total, sums.records)

    def server_step(self, state: CenterState, merged: Sums, rng: Rng) -> CenterState:
        return state.move_to(divide_or_keep(merged.total, merged.weight, state.centers))  # Eq. 5

    def rival_steps(self, init: FloatArray, *, step: bool) -> AnyAlgorithm:
        return RivalSteps(self.n_clusters, init, step)

    def over_cells(self) -> AnyAlgorithm:
        from .partial import PartialCMeans

        return as_kind(PartialCMeans, self)

    @property
    def lossless(self) -> bool:
        return True

    def rule(self, n_features: int) -> Rule:
        """Algorithm 1, line 8: a cluster of one record is not sent."""
        return Rule(min_count=2)

    @classmethod
    def reference(cls, n_clusters: int, **changes: Any) -> Self:
        """Always ten rounds (in the authors' code the tolerance test is commented out)."""
        return cls(n_clusters, **{"max_rounds": 10, "tol": 0.0, **changes})
