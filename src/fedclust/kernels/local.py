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

    With ``neighbours > 1`` no seed is a row, nor do several together give one: see `_Places`.
    Fewer than k seeds come back where there are too few rows for more. The order of the rows
    does not matter, and a row of weight n is as likely as n copies of it.
    """
    places = _Places(X, weight, k, neighbours)
    trials = 2 + int(np.log(k)) if greedy else 1
    seeds: list[FloatArray] = []
    d2: FloatArray = np.ones(len(places.rows))  # before the first seed, weight alone decides
    while len(seeds) < k and (mass := places.drawable() * d2).any():
        drawn = _draw(mass, trials if seeds else 1, rng)
        if len(drawn) > 1:
            closer = np.minimum(sq_distances(places.rows, places.rows[drawn]), d2[:, None])
            drawn = drawn[[np.argmin(places.weight @ closer)]]
        seeds.append(places.blend(int(drawn[0])))
        to_seed = sq_distances(places.rows, seeds[-1][None])[:, 0]
        d2 = to_seed if len(seeds) == 1 else np.minimum(d2, to_seed)
    return np.array(seeds, dtype=np.float64).reshape(-1, X.shape[1])


def random_seeds(
    X: FloatArray, k: int, rng: Rng, weight: FloatArray = _UNIT, *, neighbours: int
) -> FloatArray:
    """Up to k seeds at rows drawn by weight alone, blended as in `kmeans_plusplus`."""
    places = _Places(X, weight, k, neighbours)
    seeds: list[FloatArray] = []
    while len(seeds) < k and (mass := places.drawable()).any():
        seeds.append(places.blend(int(_draw(mass, 1, rng)[0])))
    return np.array(seeds, dtype=np.float64).reshape(-1, X.shape[1])


_FEWEST = 3  # rows in a blend: from the means of two and of another two a row can be had back


class _Places:
    """The distinct rows of a client, and which of them no seed has used yet.

    A seed is the mean of a drawn place and its nearest unused ones: of `neighbours` of them, or
    of fewer, but at least three, where there are not so many per seed. No place is used twice,
    so no sum or difference of seeds is a row. The mean takes places, not rows or weights: else
    a heavy row, or a row with copies, would be its own neighbourhood. A place that as many
    records share as a blend has neighbours is nobody's own, and stands alone.
    """

    def __init__(self, X: FloatArray, weight: FloatArray, k: int, neighbours: int) -> None:
        # Equal rows stand together on a line; the line's order is not that of the rows.
        line = np.zeros(len(X))
        for f in range(X.shape[1]):  # not a matrix product: equal rows must give equal bits
            line += X[:, f] * np.cos(f + 1.0)
        order = np.argsort(line, kind="stable")
        first = np.flatnonzero(np.diff(line[order], prepend=np.nan) != 0)
        w = weight[order] if len(weight) else np.ones(len(X))
        self.rows: FloatArray = X[order[first]]  # (P, F)
        self.weight: FloatArray = np.add.reduceat(w, first) if len(X) else w
        self._alone = np.diff(first, append=len(X)) >= neighbours
        self._unused = np.ones(len(first), dtype=bool)
        self._near = min(neighbours, max(_FEWEST, len(first) // k))

    def drawable(self) -> FloatArray:
        """Weight of the places that a seed may be made of."""
        enough = np.count_nonzero(self._unused) >= _FEWEST
        return self.weight * (self._unused & (self._alone | enough))

    def blend(self, place: int) -> FloatArray:
        """The seed at a place; the places it is made of are used up."""
        chosen = np.array([place])
        if not self._alone[place]:
            unused = np.flatnonzero(self._unused)
            d2 = sq_distances(self.rows[unused], self.rows[[place]])[:, 0]
            size = min(self._near, len(unused))
            candidates = np.flatnonzero(d2 <= np.partition(d2, size - 1)[size - 1])
            chosen = unused[candidates[np.argsort(d2[candidates], kind="stable")[:size]]]
        self._unused[chosen] = False
        mean: FloatArray = self.rows[chosen].mean(axis=0, dtype=np.float64)
        return mean


def _draw(mass: FloatArray, size: int, rng: Rng) -> IntArray:
    """Positions drawn with probability proportional to `mass`."""
    rising = np.cumsum(mass, dtype=np.float64)
    drawn: IntArray = np.searchsorted(rising, rng.random(size) * rising[-1], side="right")
    last: IntArray = np.minimum(drawn, np.flatnonzero(mass)[-1])
    return last


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
