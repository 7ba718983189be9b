"""k-means that a few hostile clients cannot pull away: medians over clients instead of sums.

One Lloyd step per round at every client; a centre moves to the weighted coordinate-wise median of
the clients' means (Yin et al. 2018, Byzantine-robust distributed learning, for the median). Means
stack, so the server sees every client's own: this is for clients that are less trusted than the
server. On heterogeneous data a median is not the mean, and the result not that of pooling.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from ..core import Data, Dims, Role, Stacked, Traits, checks
from ..kernels import divide_or_keep, hard_sums
from ..typing import FloatArray, IntArray, Rng
from .centers import CenterAlgorithm, Centers, CenterState


@dataclass(frozen=True, eq=False)
class ClusterMeans(Stacked):
    """A client's mean of each cluster it holds, and how much stands behind it."""

    mean: Annotated[FloatArray, Dims("K", "F")]
    weight: Annotated[FloatArray, Dims("K")]
    cluster: Annotated[IntArray, Dims("K")]
    support: Annotated[FloatArray | None, Dims("K", stays=True)] = None  # records behind each row


@dataclass(frozen=True, eq=False)
class RobustCMeans(CenterAlgorithm[CenterState, ClusterMeans]):
    """Centres at the weighted median of the clients' means, feature by feature."""

    # Records that must stand behind a mean for it to be sent.
    min_count: Annotated[int, Role.RECORDS] = 2

    key: ClassVar[str] = "robust-cm"
    traits: ClassVar[Traits] = Traits(counted=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.integer(self, "min_count")

    def client_step(self, down: Centers, data: Data, rng: Rng) -> ClusterMeans:
        sums = hard_sums(data.X, down.centers, data.weight)
        means = divide_or_keep(sums.total, sums.weight, down.centers)
        clusters = np.arange(self.n_clusters)
        return ClusterMeans(means, sums.weight, clusters, sums.records).keep(
            sums.records >= self.min_count
        )

    def server_step(self, state: CenterState, merged: ClusterMeans, rng: Rng) -> CenterState:
        centers = state.centers.copy()
        for c in range(self.n_clusters):
            own = (merged.cluster == c) & (merged.weight > 0)
            if own.any():
                centers[c] = weighted_median(merged.mean[own], merged.weight[own])
        return state.move_to(centers)


def weighted_median(rows: FloatArray, weight: FloatArray) -> FloatArray:
    """Per column the value with half of the weight on either side; between two, their middle."""
    order = np.argsort(rows, axis=0, kind="stable")
    values = np.take_along_axis(rows, order, axis=0)
    rising = np.cumsum(weight[order], axis=0)
    half = rising[-1] / 2
    low = np.minimum((rising < half * (1 - 1e-12)).sum(axis=0), len(rows) - 1)
    high = np.minimum((rising <= half * (1 + 1e-12)).sum(axis=0), len(rows) - 1)
    columns = np.arange(rows.shape[1])
    return np.asarray((values[low, columns] + values[high, columns]) / 2)
