"""Clustering in one place: what a client runs on its rows and a server on the centres it got."""

from typing import NamedTuple

import numpy as np

from ..typing import FloatArray, IntArray, Rng
from .steps import _UNIT, divide_or_keep, fuzzy_sums, hard_sums, nearest, sq_distances


class Local(NamedTuple):
    """Centres and the assignment that made them."""

    centers: FloatArray  # (C, F)
    records: FloatArray  # (C,) rows
    weight: FloatArray  # (C,) their weights


def lloyd(
    X: FloatArray,
    centers: FloatArray,
    weight: FloatArray = _UNIT,
    *,
    steps: int,
    tol: float = 0.0,
    min_count: int = 1,
) -> Local:
    """Lloyd steps until centres move at most `tol`; one of fewer than `min_count` rows stays."""
    for _ in range(steps):
        sums = hard_sums(X, centers, weight)
        movable = np.where(sums.records >= min_count, sums.weight, 0.0)
        moved = divide_or_keep(sums.total, movable, centers)
        shift = float(np.linalg.norm(moved - centers))
        centers = moved
        if shift <= tol:
            break
    return Local(centers, sums.records, sums.weight)


def inertia(X: FloatArray, centers: FloatArray, weight: FloatArray = _UNIT) -> float:
    """Weighted sum of squared distances to the nearest centre."""
    d2 = nearest(X, centers)[1]
    return float(d2 @ weight if len(weight) else d2.sum())


def k_means(
    X: FloatArray,
    k: int,
    rng: Rng,
    weight: FloatArray = _UNIT,
    *,
    restarts: int = 10,
    steps: int = 300,
    start: FloatArray | None = None,
) -> FloatArray:
    """Best of `restarts` k-means++ starts and of `start`, by inertia: always k centres.

    With fewer than k distinct points some centres repeat, and a repeated one wins no row; given
    a `start`, it alone is used then, and centres without a point stay where it has them.
    """
    starts = [] if start is None else [start]
    if start is None or len(X) >= k:
        starts += [kmeans_plusplus(X, k, rng, weight) for _ in range(restarts)]
    found = [lloyd(X, padded(s, k), weight, steps=steps).centers for s in starts]
    return min(found, key=lambda centers: inertia(X, centers, weight))


def padded(centers: FloatArray, k: int) -> FloatArray:
    """Repeat centres until there are k."""
    return centers[np.arange(k) % len(centers)]


def fuzzy_c_means(
    X: FloatArray,
    centers: FloatArray,
    fuzzifier: float,
    weight: FloatArray = _UNIT,
    *,
    steps: int,
    tol: float = 0.0,
) -> tuple[FloatArray, FloatArray]:
    """Fuzzy c-means steps until the centres move at most `tol`; centres and their sum of u^m."""
    for _ in range(steps):
        sums = fuzzy_sums(X, centers, fuzzifier, weight)
        moved = divide_or_keep(sums.total, sums.weight, centers)
        shift = float(np.linalg.norm(moved - centers))
        centers = moved
        if shift <= tol:
            break
    return centers, sums.weight


def kmeans_plusplus(
    X: FloatArray,
    k: int,
    rng: Rng,
    weight: FloatArray = _UNIT,
    *,
    neighbours: int = 1,
    greedy: bool = True,
) -> FloatArray:
    """Up to k seeds by D^2 sampling (Arthur & Vassilvitskii 2007); greedy: the best of a few draws.

    With ``neighbours > 1`` a drawn row is replaced by the mean of that many nearest distinct
    rows (of fewer, but at least two, where there are not so many per seed) before anything else
    is measured: no seed is a row. Fewer than k seeds come back when there are fewer distinct
    rows, and none from a handful of equal ones. The order of the rows does not matter, and a row
    of weight n is as likely as n copies of it: draws go along a fixed projection of the rows.
    """
    X, w, near = _ordered(X, weight, k, neighbours)
    if len(X) == 0:
        return np.empty((0, X.shape[1]))
    trials = 2 + int(np.log(k)) if greedy else 1
    seeds = [_seed(X, w, X[_draw(w, 1, rng)[0]], near)]
    d2 = sq_distances(X, np.array(seeds))[:, 0]
    while len(seeds) < k and d2.max() > 0:
        drawn = X[_draw(w * d2, trials, rng)]
        closer = np.minimum(sq_distances(X, drawn), d2[:, None])
        row = drawn[np.argmin(w @ closer)]
        seeds.append(_seed(X, w, row, near))
        d2 = np.minimum(d2, sq_distances(X, seeds[-1][None])[:, 0])
        d2[(row == X).all(axis=1)] = 0.0  # its seed speaks for it: it is not drawn again
    return np.array(seeds, dtype=np.float64)


def random_seeds(
    X: FloatArray, k: int, rng: Rng, weight: FloatArray = _UNIT, *, neighbours: int
) -> FloatArray:
    """Up to k seeds at rows drawn by weight alone, made as in `kmeans_plusplus`."""
    X, w, near = _ordered(X, weight, k, neighbours)
    if len(X) == 0:
        return np.empty((0, X.shape[1]))
    return np.array([_seed(X, w, X[i], near) for i in _draw(w, k, rng)], dtype=np.float64)


def _ordered(
    X: FloatArray, weight: FloatArray, k: int, neighbours: int
) -> tuple[FloatArray, FloatArray, int]:
    """Rows along a line, so that equal rows stand together, and how many neighbours to blend.

    No rows at all where a seed could only be somebody's row.
    """
    if len(X) < neighbours and (X[:1] == X).all():
        return X[:0], np.empty(0), neighbours
    line = np.zeros(len(X))
    for f in range(X.shape[1]):  # not a matrix product: equal rows must give equal bits
        line += X[:, f] * np.cos(f + 1.0)
    order = np.argsort(line, kind="stable")
    distinct = 1 + np.count_nonzero(np.diff(line[order]))
    w: FloatArray = weight[order] if len(weight) else np.ones(len(X))
    return X[order], w, min(neighbours, max(2, int(distinct) // k))


def _seed(X: FloatArray, weight: FloatArray, row: FloatArray, near: int) -> FloatArray:
    return row if near == 1 else neighbourhood_mean(X, weight, row, near)


def _draw(mass: FloatArray, size: int, rng: Rng) -> IntArray:
    """Positions drawn with probability proportional to `mass`."""
    rising = np.cumsum(mass, dtype=np.float64)
    drawn: IntArray = np.searchsorted(rising, rng.random(size) * rising[-1], side="right")
    return np.minimum(drawn, len(mass) - 1)


def neighbourhood_mean(
    X: FloatArray, weight: FloatArray, row: FloatArray, neighbours: int
) -> FloatArray:
    """Weighted mean of the nearest distinct rows, `row` itself among them.

    Distinct, because the mean of five equal rows would be that row. Of two rows the one given
    counts double: else two neighbours would give the same mean.
    """
    d2 = sq_distances(X, row[None])[:, 0]
    size = 4 * neighbours
    while True:
        reach = np.inf if size >= len(X) else np.partition(d2, size)[size]
        near = d2 <= reach
        places, which = np.unique(X[near], axis=0, return_inverse=True)
        if len(places) >= neighbours or reach == np.inf:
            break
        size *= 4
    # By distance, equal distances by coordinates: np.unique has sorted the places already.
    chosen = np.argsort(sq_distances(places, row[None])[:, 0], kind="stable")[:neighbours]
    mass = np.bincount(which.ravel(), weight[near])[chosen]
    if neighbours == 2:
        mass[0] *= 2.0
    mean: FloatArray = mass @ places[chosen] / mass.sum()
    return mean


def farthest_first(X: FloatArray, k: int, start: FloatArray) -> FloatArray:
    """Add to `start` the row farthest from all chosen so far, until there are k."""
    chosen = start[:k]
    while len(chosen) < k:
        d2 = sq_distances(X, chosen).min(axis=1)
        chosen = np.vstack([chosen, X[np.argmax(d2)]])
    return chosen


def matched(centers: FloatArray, reference: FloatArray) -> FloatArray:
    """The same centres in the order closest to `reference`, so that identities persist."""
    from scipy.optimize import linear_sum_assignment

    _, order = linear_sum_assignment(sq_distances(reference, centers))
    ordered: FloatArray = centers[order]
    return ordered
