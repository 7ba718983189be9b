"""k-means that is robust to a few hostile clients: medians over clients instead of sums.

One Lloyd step per round at every client; a centre moves to the weighted coordinate-wise median of
the clients' means (Yin et al. 2018, Byzantine-robust distributed learning, for the median). Means
are stacked, so the server sees those of every client: this is for clients that are less trusted
than the server. On heterogeneous data medians differ from means, and the result from that of pooled
data. A client sends one mean of a cluster, and its weight counts only up to a few times what is
usual in that cluster, so no client can outweigh the others. The seeding is robust, too.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from ..core import AnyAlgorithm, Data, Dims, MessageError, Role, Schema, Stacked, Traits, checks
from ..kernels import divide_or_keep, hard_sums, inertia
from ..typing import FloatArray, IntArray, Rng
from .centers import CenterAlgorithm, Centers, CenterState
from .micro_clusters import RivalQuery, Rivals

_HEAVY = 2.0  # times the median weight of a cluster's means: more does not count


@dataclass(frozen=True, eq=False)
class ClusterMeans(Stacked):
    """A client's mean of each of its clusters, and the weight of each."""

    mean: Annotated[FloatArray, Dims("K", "F")]
    weight: Annotated[FloatArray, Dims("K")]
    cluster: Annotated[IntArray, Dims("K")]
    support: Annotated[FloatArray | None, Dims("K", stays=True)] = None  # records behind each row

    def check(self, sizes: Mapping[str, int]) -> None:
        """Check the shapes, and that no cluster has two means."""
        super().check(sizes)
        if len(np.unique(self.cluster)) < len(self.cluster):
            raise MessageError("array 'cluster' names a cluster twice")


@dataclass(frozen=True, eq=False)
class RobustCMeans(CenterAlgorithm[CenterState, ClusterMeans]):
    """Centres at the weighted median of the clients' means, feature by feature."""

    # A mean of fewer records is not sent.
    min_count: Annotated[int, Role.RECORDS] = 2

    key: ClassVar[str] = "robust-cm"
    use_for: ClassVar[str] = "Use it when some clients may send false means."
    traits: ClassVar[Traits] = Traits(counted=True)
    seeding: ClassVar[str | None] = "robust"

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
                centers[c] = capped_median(merged.mean[own], merged.weight[own])
        return state.move_to(centers)

    def rival_steps(self, init: FloatArray, *, step: bool) -> AnyAlgorithm:
        return RobustRivals(self.n_clusters, init, step, self.min_count)


@dataclass(frozen=True, eq=False)
class RivalMeans(Stacked):
    """A client's means of the clusters of several starts, and its inertia under each start."""

    inertia: Annotated[FloatArray, Dims("M", "R")]
    mean: Annotated[FloatArray, Dims("M", "RC", "F")]
    weight: Annotated[FloatArray, Dims("M", "RC")]  # zero: withheld


@dataclass(frozen=True, eq=False)
class RobustRivals(RivalQuery[RivalMeans]):
    """Which of several starts most clients prefer, and one robust step from each."""

    # A mean of fewer records is not sent.
    min_count: Annotated[int, Role.RECORDS] = 2

    key: ClassVar[str] = "robust-rivals"
    traits: ClassVar[Traits] = Traits()

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.integer(self, "min_count")

    def client_step(self, down: Centers, data: Data, rng: Rng) -> RivalMeans:
        starts = self.split(down.centers)
        values = np.array([inertia(data.X, centers, data.weight) for centers in starts])
        means, weights = np.empty((0, data.X.shape[1])), np.empty(0)
        if self.step:
            sums = [hard_sums(data.X, centers, data.weight) for centers in starts]
            records, weight, total = (np.concatenate(p) for p in zip(*sums, strict=True))
            weights = np.where(records >= self.min_count, weight, 0.0)
            means = np.where(weights[:, None] > 0, divide_or_keep(total, weights, total), 0.0)
        return RivalMeans(values[None], means[None], weights[None])

    def model(self, state: RivalMeans) -> Rivals:
        moved = self.init.copy()
        for row in range(state.weight.shape[1]):
            own = state.weight[:, row] > 0
            if own.any():
                moved[row] = capped_median(state.mean[own, row], state.weight[own, row])
        return Rivals(self.split(moved), rank_by_most(state.inertia))

    def sizes(self, schema: Schema) -> dict[str, int]:
        return super().sizes(schema) | {"M": 1}


def rank_by_most(inertia: FloatArray) -> FloatArray:
    """How often each start loses against another, by the middle half of the clients (M, R)."""
    quarter = len(inertia) // 4
    differences = np.sort(inertia[:, :, None] - inertia[:, None, :], axis=0)
    middle = differences[quarter : len(inertia) - quarter]
    lost: FloatArray = (middle.mean(axis=0) > 0).sum(axis=1).astype(np.float64)
    return lost


def capped_median(rows: FloatArray, weight: FloatArray) -> FloatArray:
    """Weighted median of each column; no weight counts for much more than is usual."""
    return weighted_median(rows, np.minimum(weight, _HEAVY * np.median(weight)))


def weighted_median(rows: FloatArray, weight: FloatArray) -> FloatArray:
    """Weighted median of each column; between two values, their middle."""
    order = np.argsort(rows, axis=0, kind="stable")
    values = np.take_along_axis(rows, order, axis=0)
    rising = np.cumsum(weight[order], axis=0)
    half = rising[-1] / 2
    low = np.minimum((rising < half * (1 - 1e-12)).sum(axis=0), len(rows) - 1)
    high = np.minimum((rising <= half * (1 + 1e-12)).sum(axis=0), len(rows) - 1)
    columns = np.arange(rows.shape[1])
    return np.asarray((values[low, columns] + values[high, columns]) / 2)
