"""Indices that decompose: each is a few sums over rows, and a formula for those sums.

The same two functions serve the plain call on one table and the federated run over many clients,
so the two cannot disagree. A row contributes through its squared distances to all centres.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from ..core import ConfigError
from ..kernels import memberships_of, sq_distances
from ..kernels.threads import blocks
from ..typing import FloatArray


class Index(NamedTuple):
    """What clients add up, and what the server makes of it."""

    # squared distances (n, C), weights (n,), fuzzifier -> sums (T,), the last one the weight
    sums: Callable[[FloatArray, FloatArray, float], FloatArray]
    # sums (T,), centres (C, F) -> index
    formula: Callable[[FloatArray, FloatArray], float]


def _nearest(D: FloatArray, w: FloatArray, m: float) -> FloatArray:
    return np.array([w @ D.min(axis=1), w.sum()])


def _nearest_unsquared(D: FloatArray, w: FloatArray, m: float) -> FloatArray:
    return np.array([w @ np.sqrt(D.min(axis=1)), w.sum()])


def _others_unsquared(D: FloatArray, w: FloatArray, m: float) -> FloatArray:
    distance = np.sqrt(D)
    return np.array([w @ (distance.sum(axis=1) - distance.min(axis=1)), w.sum()])


def _objective(D: FloatArray, w: FloatArray, m: float) -> FloatArray:
    return np.array([w @ (memberships_of(D, m) ** m * D).sum(axis=1), w.sum()])


def _spread(D: FloatArray, w: FloatArray, m: float) -> FloatArray:
    """Per centre: distances of its own rows, and their weight."""
    own = np.eye(D.shape[1])[D.argmin(axis=1)] * w[:, None]
    return np.concatenate([(own * np.sqrt(D)).sum(axis=0), own.sum(axis=0), [w.sum()]])


def _soft_spread(D: FloatArray, w: FloatArray, m: float) -> FloatArray:
    """Per centre: distances of all rows, and their memberships."""
    return np.concatenate([w @ np.sqrt(D), w @ memberships_of(D, m), [w.sum()]])


def _silhouette(D: FloatArray, w: FloatArray, m: float) -> FloatArray:
    own, next_best = np.sqrt(np.partition(D, 1, axis=1)[:, :2].T)
    gap = np.divide(next_best - own, next_best, out=np.zeros_like(own), where=next_best > 0)
    return np.array([w @ gap, w.sum()])


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
    "davies-bouldin": Index(_spread, _davies_bouldin),
    "soft-davies-bouldin": Index(_soft_spread, _soft_davies_bouldin),
    "simplified-silhouette": Index(_silhouette, _mean),
}


def index(name: str) -> Index:
    """The index of that name."""
    if name not in INDICES:
        raise ConfigError(f"index={name!r} is not one of {', '.join(INDICES)}")
    return INDICES[name]


def sums_over(
    name: str, X: FloatArray, weight: FloatArray, centers: FloatArray, fuzzifier: float
) -> FloatArray:
    """The sums of an index over all rows, block by block."""
    if name == "simplified-silhouette" and len(centers) < 2:
        raise ConfigError("simplified-silhouette compares the two nearest centres; there is one")
    w = weight if len(weight) else np.ones(len(X))
    parts = [
        index(name).sums(sq_distances(X[block], centers), w[block], fuzzifier)
        for block in blocks(len(X), X.shape[1] + len(centers))
    ]
    total: FloatArray = np.sum(parts, axis=0)
    return total
