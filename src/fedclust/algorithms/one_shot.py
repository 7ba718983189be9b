"""One-shot k-means: k-means at every client, then k-means over all local centres.

The plain two-level scheme that P. Holzer, T. Jacob, S. Kavane (2023) call k-FED and seed DWF
k-means with: no projection, no core sets, no max-min rule (for those see `k_fed`).

Their code gives all centres equal weight. A client that has fewer than k rows sends them when the
code seeds DWF (preset "reference"), and sends nothing when it is compared with DWF (preset
"baseline"). Here a small client computes fewer clusters, and a centre is weighted by its rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

from ..core import Data, Empty, Role, Traits, Work, checks
from ..kernels import hard_sums, k_means
from ..typing import FloatArray, Rng
from .centers import Candidates, OneRound, cluster_candidates


@dataclass(frozen=True, eq=False)
class OneShotKMeans(OneRound[Candidates]):
    """k-means over local k-means."""

    weighted: bool = True
    local_restarts: Annotated[int, Work(100)] = 5
    restarts: Annotated[int, Role.FREE] = 10  # k-means++ starts of the server's k-means
    # A local centre of fewer records is not sent.
    min_count: Annotated[int, Role.RECORDS] = 2
    leave_out_small: bool = False  # a client of fewer than k rows sends nothing

    key: ClassVar[str] = "one-shot"
    use_for: ClassVar[str] = "Use it for k-means when clients can answer only once."
    traits: ClassVar[Traits] = Traits(counted=True, draws=True)
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "baseline": {  # what the DWF paper's tables call k-FED
            "weighted": False,
            "local_restarts": 1,
            "restarts": 1,
            "min_count": 1,
            "leave_out_small": True,
        }
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.boolean(self, "weighted")
        checks.integer(self, "local_restarts")
        checks.integer(self, "restarts")
        checks.integer(self, "min_count")
        checks.boolean(self, "leave_out_small")

    def client_step(self, down: Empty, data: Data, rng: Rng) -> Candidates:
        k = count_local_clusters(len(data), self.n_clusters, self.min_count)
        if k == 0 or (self.leave_out_small and k < self.n_clusters):
            return Candidates.empty(data.X.shape[1])
        centers = k_means(data.X, k, rng, data.weight, restarts=self.local_restarts)
        sums = hard_sums(data.X, centers, data.weight)
        return Candidates(centers, sums.weight, sums.records).keep_supported(self.min_count)

    def centers(self, merged: Candidates, rng: Rng) -> FloatArray:
        return cluster_candidates(
            merged, self.n_clusters, rng, weighted=self.weighted, restarts=self.restarts
        )

    @classmethod
    def reference(cls, n_clusters: int, **changes: Any) -> Self:
        """DWF's initialiser: five restarts at both levels, no weights, small clients send rows."""
        settings = {"weighted": False, "local_restarts": 5, "restarts": 5, "min_count": 1}
        return cls(n_clusters, **{**settings, **changes})


def count_local_clusters(n_rows: int, k: int, min_count: int) -> int:
    """The number of clusters, up to k, for which a client has `min_count` rows each."""
    return min(k, n_rows // min_count)
