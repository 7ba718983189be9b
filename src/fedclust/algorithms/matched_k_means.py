"""FKM: federated k-means whose server matches local means by a weighted k-means.

S. Garst, M. Reinders: "Federated K-means Clustering", 2023; Algorithm 1, Eq. 1.

A client uses only the global means that are nearest to some of its rows, so its number of clusters
adapts in every round. In the authors' ablation the weights matter most. The paper seeds with raw
k-means++ rows; the default seeding sends means of neighbourhoods instead. The server keeps the best
of a warm start and ten new ones: with a single new one results vary between runs.
"""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

from ..core import Data, Role, Rule, Traits, Work, checks
from ..kernels import LocalClustering, hard_sums, lloyd
from ..typing import Rng
from .centers import Candidates, CenterAlgorithm, Centers, CenterState, cluster_candidates


@dataclass(frozen=True, eq=False)
class MatchedKMeans(CenterAlgorithm[CenterState, Candidates]):
    """Local means, matched by weighted k-means at the server."""

    max_rounds: Annotated[int, Role.FREE] = 100
    local_steps: Annotated[int, Work(10_000)] = 1
    weighted: bool = True
    weighted_starts: bool = True  # k-means++ at the server draws means by weight, too
    # K-means++ starts of the server's k-means, beside the warm start.
    restarts: Annotated[int, Role.FREE] = 10
    warm_start: bool = True
    # Weight a mean by the rows nearest to it, not by the rows that it averages.
    recount: bool = False
    suppress_recounted: bool = False  # compare these with min_count, too
    # The paper's p: a mean of fewer records is not sent.
    min_count: Annotated[int, Role.RECORDS] = 2

    key: ClassVar[str] = "fkm"
    use_for: ClassVar[str] = (
        "Use it when clients should send little, in a few rounds, on data without heavy tails."
    )
    traits: ClassVar[Traits] = Traits(counted=True)
    seeding: ClassVar[str | None] = "fkm"

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.integer(self, "local_steps")
        checks.boolean(self, "weighted")
        checks.boolean(self, "weighted_starts")
        checks.boolean(self, "warm_start")
        checks.integer(self, "restarts", 0 if self.warm_start else 1)
        checks.boolean(self, "recount")
        checks.boolean(self, "suppress_recounted")
        checks.integer(self, "min_count")

    def client_step(self, down: Centers, data: Data, rng: Rng) -> Candidates:
        local = lloyd(data.X, down.centers, data.weight, steps=1)
        held = local.records > 0  # lines 14-15: only the global means that have rows here
        local = LocalClustering(*(part[held] for part in local))
        if self.local_steps > 1 and held.any():
            local = lloyd(data.X, local.centers, data.weight, steps=self.local_steps - 1)
        weight, counted = local.weight, local.records
        if held.any() and (self.recount or self.suppress_recounted):
            near = hard_sums(data.X, local.centers, data.weight)
            weight = near.weight if self.recount else weight
            counted = near.records if self.suppress_recounted else counted
        return Candidates(local.centers, weight, local.records).keep(counted >= self.min_count)

    def server_step(self, state: CenterState, merged: Candidates, rng: Rng) -> CenterState:
        centers = cluster_candidates(  # line 10, Eq. 1
            merged,
            self.n_clusters,
            rng,
            weighted=self.weighted,
            restarts=self.restarts,
            warm=self.warm_start,
            weighted_starts=self.weighted_starts,
            previous=state.centers,
        )
        return state.move_to(centers)

    def rule(self, n_features: int) -> Rule:
        """Section 2: clusters of fewer than p records are omitted (by the client itself)."""
        return Rule(min_count=self.min_count)

    @classmethod
    def reference(cls, n_clusters: int, **changes: Any) -> Self:
        """The authors' code: k-means++ starts in each round, counts after the update, no stop.

        In the scikit-learn of that time k-means++ ignored the weights.
        """
        settings = {
            "warm_start": False,
            "weighted_starts": False,
            "recount": True,
            "suppress_recounted": True,
            "tol": 0.0,
        }
        return cls(n_clusters, **{**settings, **changes})
