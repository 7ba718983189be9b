"""FFCM with avg2: the server runs k-means over local fuzzy centres.

M. Stallmann, A. Wilbik: "Towards Federated Clustering: A Federated Fuzzy c-Means Algorithm
(FFCM)", AAAI 2022 workshop on federated learning; Eq. 9.

k-means matches centres between clients, so a cluster may be absent at some of them. Local fuzzy
c-means runs to convergence: with a single step avg2 gets worse. The authors' code draws k-means++
starts in the first round only, and their number depended on the scikit-learn version; here every
round keeps the best of a warm start and ten new ones.
"""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

import numpy as np

from ..core import Data, Role, Traits, Work, checks
from ..kernels import fuzzy_c_means, nearest
from ..typing import Rng
from .centers import Candidates, CenterAlgorithm, Centers, CenterState, cluster_candidates


@dataclass(frozen=True, eq=False)
class ClusteredFCM(CenterAlgorithm[CenterState, Candidates]):
    """k-means over the clients' fuzzy c-means centres."""

    fuzzifier: float = 2.0
    local_steps: Annotated[int, Work(10_000)] = 300
    local_tol: float = 1e-6
    # K-means++ starts of the server's k-means, beside the warm start.
    restarts: Annotated[int, Role.FREE] = 10
    seed_once: bool = False  # k-means++ starts in the first round, then the warm start alone
    greedy: bool = True  # k-means++ at the server keeps the best of a few draws
    weighted: bool = False  # weight a local centre by its sum of u^m
    # A local centre of fewer records is not sent.
    min_count: Annotated[int, Role.RECORDS] = 2

    key: ClassVar[str] = "ffcm-avg2"
    use_for: ClassVar[str] = "Use it to compare with its paper. Otherwise prefer llf-fcm or ffcf."
    traits: ClassVar[Traits] = Traits(soft=True, counted=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.fuzzifier(self)
        checks.integer(self, "local_steps")
        checks.number(self, "local_tol")
        checks.integer(self, "restarts", 1 if self.seed_once else 0)
        checks.boolean(self, "seed_once")
        checks.boolean(self, "greedy")
        checks.boolean(self, "weighted")
        checks.integer(self, "min_count")

    def client_step(self, down: Centers, data: Data, rng: Rng) -> Candidates:
        if len(data) == 0:
            return Candidates.empty(data.X.shape[1])
        centers, support = fuzzy_c_means(
            data.X,
            down.centers,
            self.fuzzifier,
            data.weight,
            steps=self.local_steps,
            tol=self.local_tol * self.unit(down.centers),
        )
        records = np.bincount(nearest(data.X, centers)[0], minlength=self.n_clusters)
        return Candidates(centers, support, records.astype(float)).keep_supported(self.min_count)

    def server_step(self, state: CenterState, merged: Candidates, rng: Rng) -> CenterState:
        first = state.round == 0
        centers = cluster_candidates(  # Eq. 9
            merged,
            self.n_clusters,
            rng,
            weighted=self.weighted,
            restarts=self.restarts if first or not self.seed_once else 0,
            warm=not (first and self.seed_once),
            previous=state.centers,
            greedy=self.greedy,
        )
        return state.move_to(centers)

    @classmethod
    def reference(cls, n_clusters: int, **changes: Any) -> Self:
        """The authors' stopping rules, and k-means++ in the first round only."""
        settings = {
            "local_steps": 1000,
            "seed_once": True,
            "min_count": 1,
            "max_rounds": 1000,
            "tol": 1e-4,
            "absolute_tol": True,
        }
        return cls(n_clusters, **{**settings, **changes})
