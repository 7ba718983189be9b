"""Indices that decompose: each is a few sums over rows, and a formula for those sums.

The same two functions serve the plain call on one table and the federated run over many clients,
so the two cannot disagree. A row contributes through its squared distances to all centres.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..core import ConfigError
from ..kernels import memberships_of, sq_distances
from ..kernels.threads import map_blocks
from ..typing import FloatArray


class Rows:
    """A block of rows as indices see it; what several of them need is computed once."""

    def __init__(self, D: FloatArray, weight: FloatArray, fuzzifier: float) -> None:
        self.D = D  # (n, C) squared distances
        self.weight = weight  # (n,)
        self.fuzzifier = fuzzifier

    @cached_property
    def distance(self) -> FloatArray:
        """Distances, not squared (n, C)."""
        return np.sqrt(self.D)

    @cached_property
    def memberships(self) -> FloatArray:
        """Bezdek memberships (n, C)."""
        return memberships_of(self.D, self.fuzzifier)

    def mean_of(self, values: FloatArray) -> FloatArray:
        """The sums of a weighted mean of one value per row."""
        return np.array([self.weight @ values, self.weight.sum()])


Sums = Callable[[Rows], FloatArray]


class Index(NamedTuple):
    """What clients add up, and what the server makes of it."""

    sums: Sums  # (T,), the last one the weight
    formula: Callable[[FloatArray, FloatArray], float]  # sums (T,), centres (C, F) -> index
    per_center: bool = False  # T is 2C+1 then, and else 2


def sizes(rows: Rows) -> FloatArray:
    """Weight of the rows nearest to each centre (C,): no index, but it goes with them."""
    held = np.bincount(rows.D.argmin(axis=1), rows.weight, rows.D.shape[1])
    return held.astype(np.float64)


def _nearest(rows: Rows) -> FloatArray:
    return rows.mean_of(rows.D.min(axis=1))


def _nearest_unsquared(rows: Rows) -> FloatArray:
    return rows.mean_of(np.sqrt(rows.D.min(axis=1)))


def _others_unsquared(rows: Rows) -> FloatArray:
    return rows.mean_of(rows.distance.sum(axis=1) - rows.distance.min(axis=1))


def _objective(rows: Rows) -> FloatArray:
    return rows.mean_of((rows.memberships**rows.fuzzifier * rows.D).sum(axis=1))


def _spread(rows: Rows) -> FloatArray:
    """Per centre: distances of its own rows, and their weight."""
    own, w, k = rows.D.argmin(axis=1), rows.weight, rows.D.shape[1]
    distance = w * np.sqrt(rows.D.min(axis=1))
    return np.concatenate([np.bincount(own, distance, k), np.bincount(own, w, k), [w.sum()]])


def _soft_spread(rows: Rows) -> FloatArray:
    """Per centre: distances of all rows, and their memberships."""
    w = rows.weight
    return np.concatenate([w @ rows.distance, w @ rows.memberships, [w.sum()]])


def _silhouette(rows: Rows) -> FloatArray:
    own, next_best = np.sqrt(np.partition(rows.D, 1, axis=1)[:, :2].T)
    gap = np.divide(next_best - own, next_best, out=np.zeros_like(own), where=next_best > 0)
    return rows.mean_of(gap)


def _total(sums: FloatArray, centers: FloatArray) -> float:
    return float(sums[0])


def _mean(sums: FloatArray, centers: FloatArray) -> float:
    return float(sums[0] / sums[-1])


def _mean_per_feature(sums: FloatArray, centers: FloatArray) -> float:
    return float(sums[0] / (sums[-1] * centers.shape[1]))


def _over_separation(sums: FloatArray, centers: FloatArray) -> float:
    apart = sq_distances(centers, centers)
    np.fill_diagonal(apart, np.inf)
    closest = apart.min()
    return float(sums[0] / (sums[-1] * closest)) if closest > 0 else np.inf


def _davies_bouldin(sums: FloatArray, centers: FloatArray) -> float:
    distance, weight = sums[:-1].reshape(2, -1)
    held = weight > 0
    return _worst_ratios(distance[held] / weight[held], centers[held])


def _soft_davies_bouldin(sums: FloatArray, centers: FloatArray) -> float:
    distance, membership = sums[:-1].reshape(2, -1) / sums[-1]
    return _worst_ratios(distance * membership, centers)


def _worst_ratios(spread: FloatArray, centers: FloatArray) -> float:
    """Mean over clusters of the worst (S_i + S_j) / |c_i - c_j|."""
    if len(centers) < 2:
        return 0.0
    apart = np.sqrt(sq_distances(centers, centers))
    np.fill_diagonal(apart, np.inf)
    both = spread[:, None] + spread
    ratio = np.divide(both, apart, out=np.full_like(apart, np.inf), where=apart > 0)
    return float(ratio.max(axis=1).mean())


INDICES: Mapping[str, Index] = {
    "inertia": Index(_nearest, _total),
    "score": Index(_nearest, _mean),
    "wsse": Index(_nearest_unsquared, _mean_per_feature),
    "osse": Index(_others_unsquared, _mean_per_feature),
    "objective": Index(_objective, _total),
    "xie-beni": Index(_objective, _over_separation),
    "davies-bouldin": Index(_spread, _davies_bouldin, per_center=True),
    "soft-davies-bouldin": Index(_soft_spread, _soft_davies_bouldin, per_center=True),
    "simplified-silhouette": Index(_silhouette, _mean),
}


def index(name: str, n_clusters: int) -> Index:
    """The index of that name, if it can be had of so many centres."""
    if name not in INDICES:
        raise ConfigError(f"index={name!r} is not one of {', '.join(INDICES)}")
    if name == "simplified-silhouette" and n_clusters < 2:
        raise ConfigError("simplified-silhouette compares the two nearest centres; there is one")
    return INDICES[name]


def sums_over(
    parts: Sequence[Sums], X: FloatArray, weight: FloatArray, centers: FloatArray, fuzzifier: float
) -> FloatArray:
    """Sums of one or more indices over all rows, one after the other, block by block."""
    w = weight if len(weight) else np.ones(len(X))

    def step(block: slice) -> FloatArray:
        rows = Rows(sq_distances(X[block], centers), w[block], fuzzifier)
        return np.concatenate([part(rows) for part in parts])

    total: FloatArray = np.sum(map_blocks(step, len(X), X.shape[1] + len(centers)), axis=0)
    return total
