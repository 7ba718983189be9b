"""Non-federated clustering, run by a client on its rows or by the server on centres."""

from typing import NamedTuple

import numpy as np

from ..typing import BoolArray, FloatArray, IntArray, Rng
from .steps import (
    _UNIT,
    DistancesFrom,
    HardSums,
    divide_or_keep,
    fuzzy_sums,
    hard_sums,
    nearest,
    sq_distances,
)


class LocalClustering(NamedTuple):
    """Centres and the sizes of the clusters that they are means of."""

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
    first: HardSums | None = None,
) -> LocalClustering:
    """Lloyd steps until centres move at most `tol`; those with too few rows do not move.

    `first` are the sums at the given centres, if they are known already.
    """
    sums = hard_sums(X, centers, weight) if first is None else first
    for step in range(steps):
        if step:
            sums = hard_sums(X, centers, weight)
        movable = np.where(sums.records >= min_count, sums.weight, 0.0)
        moved = divide_or_keep(sums.total, movable, centers)
        shift = float(np.linalg.norm(moved - centers))
        centers = moved
        if shift <= tol:
            break
    return LocalClustering(centers, sums.records, sums.weight)


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
    greedy: bool = True,
    weighted_starts: bool = True,
) -> FloatArray:
    """Best solution by inertia from `restarts` k-means++ starts and from `start`; always k centres.

    Without `weighted_starts` a row is drawn as a start whatever its weight is.

    With fewer than k distinct points some centres repeat, and repeats get no rows. If `start` is
    given in that case, only it is used, and its centres without rows do not move.
    """
    starts = [] if start is None else [start]
    if start is None or len(X) >= k:
        mass = weight if weighted_starts else _UNIT
        starts += [kmeans_plusplus(X, k, rng, mass, greedy=greedy) for _ in range(restarts)]
    solutions = [lloyd(X, pad_centers(s, k), weight, steps=steps).centers for s in starts]
    return min(solutions, key=lambda centers: inertia(X, centers, weight))


def pad_centers(centers: FloatArray, k: int) -> FloatArray:
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

    With ``neighbours > 1`` no seed is a row, and no row follows from several seeds: see
    `_Blends`. Returns fewer than k seeds if there are too few rows. The order of the rows
    does not matter, and a row of weight n is as likely as n copies of it.
    """
    distinct = _Blends(X, weight, k, neighbours)
    trials = 2 + int(np.log(k)) if greedy else 1
    distances = DistancesFrom(distinct.rows)
    seeds: list[FloatArray] = []
    d2: FloatArray = np.ones(len(distinct.rows))  # the first draw is by weight alone
    while len(seeds) < k and (mass := distinct.drawable() * d2).any():
        drawn = draw(mass, trials if seeds else 1, rng)
        if len(drawn) > 1:
            closer = np.minimum(distances.to(distinct.rows[drawn]), d2[:, None])
            drawn = drawn[[np.argmin(distinct.weight @ closer)]]
        seeds.append(distinct.blend(int(drawn[0])))
        to_seed = distances.to(seeds[-1][None])[:, 0]
        d2 = to_seed if len(seeds) == 1 else np.minimum(d2, to_seed)
    return np.array(seeds, dtype=np.float64).reshape(-1, X.shape[1])


def random_seeds(
    X: FloatArray, k: int, rng: Rng, weight: FloatArray = _UNIT, *, neighbours: int
) -> FloatArray:
    """Up to k seeds at rows drawn by weight alone, blended as in `kmeans_plusplus`."""
    distinct = _Blends(X, weight, k, neighbours)
    seeds: list[FloatArray] = []
    while len(seeds) < k and (mass := distinct.drawable()).any():
        seeds.append(distinct.blend(int(draw(mass, 1, rng)[0])))
    return np.array(seeds, dtype=np.float64).reshape(-1, X.shape[1])


_MIN_BLEND = 3  # rows in a blend: with two, a row could be recovered from the means of two pairs


class DistinctRows:
    """The distinct rows of a client, in an order that does not depend on that of the rows.

    A value shared by at least `min_count` records identifies none of them.
    """

    def __init__(self, X: FloatArray, weight: FloatArray, min_count: int) -> None:
        # Project rows on a line: equal rows become adjacent, whatever the order of the rows.
        line = np.zeros(len(X))
        for f in range(X.shape[1]):  # not a matrix product: equal rows must give identical values
            line += X[:, f] * np.cos(f + 1.0)
        order = np.argsort(line, kind="stable")
        first = np.flatnonzero(np.diff(line[order], prepend=np.nan) != 0)
        w = weight[order] if len(weight) else np.ones(len(X))
        self.rows: FloatArray = X[order[first]]  # (D, F)
        self.weight: FloatArray = np.add.reduceat(w, first) if len(X) else w
        self.records: IntArray = np.diff(first, append=len(X))
        self.shared: BoolArray = self.records >= min_count


class _Blends(DistinctRows):
    """Seeds from the distinct rows of a client, and which of these no seed has used yet.

    A seed is the mean of a drawn distinct row and its nearest unused ones: `neighbours` of them,
    or fewer, but at least three, if the rows do not suffice for all seeds. No distinct row is used
    twice, so no sum or difference of seeds is a row. The mean ignores weights and copies:
    otherwise a heavy or repeated row would dominate its blend. A shared value may be a seed by
    itself.
    """

    def __init__(self, X: FloatArray, weight: FloatArray, k: int, neighbours: int) -> None:
        super().__init__(X, weight, neighbours)
        self._unused = np.ones(len(self.rows), dtype=bool)
        self._blend_size = min(neighbours, max(_MIN_BLEND, len(self.rows) // k))

    def drawable(self) -> FloatArray:
        """Weight of each distinct row that may still be drawn, else zero."""
        enough = np.count_nonzero(self._unused) >= _MIN_BLEND
        return self.weight * (self._unused & (self.shared | enough))

    def blend(self, drawn: int) -> FloatArray:
        """Seed around a drawn row; the rows it is made of are not used again."""
        chosen = np.array([drawn])
        if not self.shared[drawn]:
            unused = np.flatnonzero(self._unused)
            d2 = sq_distances(self.rows[unused], self.rows[[drawn]])[:, 0]
            size = min(self._blend_size, len(unused))
            candidates = np.flatnonzero(d2 <= np.partition(d2, size - 1)[size - 1])
            chosen = unused[candidates[np.argsort(d2[candidates], kind="stable")[:size]]]
        self._unused[chosen] = False
        mean: FloatArray = self.rows[chosen].mean(axis=0, dtype=np.float64)
        return mean


def draw(mass: FloatArray, size: int, rng: Rng) -> IntArray:
    """Positions drawn with probability proportional to `mass`."""
    cumulative = np.cumsum(mass, dtype=np.float64)
    drawn: IntArray = np.searchsorted(cumulative, rng.random(size) * cumulative[-1], side="right")
    last: IntArray = np.minimum(drawn, np.flatnonzero(mass)[-1])
    return last


def farthest_first(X: FloatArray, k: int, start: FloatArray) -> FloatArray:
    """Add to `start` the row farthest from all chosen so far, until there are k."""
    chosen = start[:k]
    while len(chosen) < k:
        d2 = sq_distances(X, chosen).min(axis=1)
        chosen = np.vstack([chosen, X[np.argmax(d2)]])
    return chosen


def match_centers(centers: FloatArray, reference: FloatArray) -> FloatArray:
    """Reorder centres to match `reference`, so that cluster numbers persist."""
    from scipy.optimize import linear_sum_assignment

    _, order = linear_sum_assignment(sq_distances(reference, centers))
    ordered: FloatArray = centers[order]
    return ordered
