"""FFCM with avg1: the server averages local fuzzy centres, weighted by their support.

M. Stallmann, A. Wilbik: "Towards Federated Clustering: A Federated Fuzzy c-Means Algorithm
(FFCM)", AAAI 2022 workshop on federated learning; Eqs. 5-8.

As printed, with one local step and the support W = sum of u^m (Eq. 7), avg1 is lossless: it equals
LLF-FCM. That is the default here. The paper's results come from code that iterates to convergence
at every client and weighs by the sum of u, without the power, at the updated centres; that is
`reference`. (Eq. 5 has squared norms *and* the exponent 2/(m-1), which squares twice.)
"""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

from ..core import Data, Role, Rule, Traits, Work, checks
from ..kernels import divide_or_keep, fuzzy_c_means, memberships
from ..typing import FloatArray, Rng
from .centers import CenterAlgorithm, Centers, CenterState, Sums, find_supported
from .fuzzy_c_means import underdetermined_rule


@dataclass(frozen=True, eq=False)
class AveragedFCM(CenterAlgorithm[CenterState, Sums]):
    """Weighted average of local fuzzy c-means centres; lossless with one local step."""

    fuzzifier: float = 2.0
    local_steps: Annotated[int, Work(10_000)] = 1
    local_tol: float = 1e-6
    plain_support: bool = False  # weight by the sum of u at the updated centres
    # Records that must be nearest to a local centre for it to be sent. None: 2, but 1 with one
    # local step, which is lossless. After several steps a centre with one record lies on it.
    min_count: Annotated[int | None, Role.RECORDS] = None

    key: ClassVar[str] = "ffcm-avg1"
    use_for: ClassVar[str] = "Use it to compare with its paper. At its defaults it equals llf-fcm."
    traits: ClassVar[Traits] = Traits(soft=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.fuzzifier(self)
        checks.integer(self, "local_steps")
        checks.number(self, "local_tol")
        checks.boolean(self, "plain_support")
        if self.min_count is not None:
            checks.integer(self, "min_count")

    @property
    def _min_count(self) -> int:
        return self.min_count or (1 if self.local_steps == 1 else 2)

    @property
    def lossless(self) -> bool:
        return self.local_steps == 1 and not self.plain_support and self._min_count == 1

    def client_step(self, down: Centers, data: Data, rng: Rng) -> Sums:
        centers, support = fuzzy_c_means(  # Eqs. 5-7
            data.X,
            down.centers,
            self.fuzzifier,
            data.weight,
            steps=self.local_steps,
            tol=self.local_tol * self.unit(down.centers),
        )
        if self.plain_support:
            support = self._sum_of_u(data, centers)
        sums = Sums(support, support[:, None] * centers)
        return sums.keep(find_supported(data, centers, self._min_count))

    def _sum_of_u(self, data: Data, centers: FloatArray) -> FloatArray:
        u = memberships(data.X, centers, self.fuzzifier)
        return data.weight @ u if len(data.weight) else u.sum(axis=0)

    def server_step(self, state: CenterState, merged: Sums, rng: Rng) -> CenterState:
        return state.move_to(divide_or_keep(merged.total, merged.weight, state.centers))  # Eq. 8

    def rule(self, n_features: int) -> Rule:
        """The rule of LLF-FCM. A fuzzy mean of two records may equal one of them if it is heavy."""
        return underdetermined_rule(self.n_clusters, n_features)

    @classmethod
    def reference(cls, n_clusters: int, **changes: Any) -> Self:
        """Iterate to convergence at every client, and weight by the sum of u."""
        settings = {"local_steps": 1000, "plain_support": True, "min_count": 1, **_AUTHORS_STOP}
        return cls(n_clusters, **{**settings, **changes})


_AUTHORS_STOP = {"max_rounds": 1000, "tol": 1e-4, "absolute_tol": True}
