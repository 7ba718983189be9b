"""Search for the best centres of weighted points: the server's work, over summaries of rows.

There are few points, so the search can afford what a run over all rows cannot: restarts, and
swaps of a centre for a point (S. Lattanzi, C. Sohler, 2019: "A better k-means++ algorithm via
local search"), with Lloyd steps after each.
"""

from collections.abc import Callable, Iterable

import numpy as np

from ..typing import FloatArray, Rng
from .local import draw, fuzzy_c_means, inertia, kmeans_plusplus, lloyd, pad_centers
from .steps import memberships, sq_distances

_STARTS = 16  # at least, or as many as solutions are wanted
_POLISH_ONE_OF = 8  # of the starts: the best ones
_STEPS = 100  # Lloyd steps of a start
_STEPS_AFTER_SWAP = 10
_FEWEST_SWAPS = 24  # tried, or one for each centre if these are more
_FUZZY_STEPS = 100
_FUZZY_STEPS_AFTER_SWAP = 30
_MOST_FUZZY_SWAPS = 64
_FUZZY_POLISH = 2  # of the solutions: the best ones
_SAME = 1e-6  # relative difference of objectives below which solutions are the same
_SMALLEST_GAIN = 1e-12


def search_centers(
    points: FloatArray, k: int, rng: Rng, weight: FloatArray, *, most: int
) -> list[FloatArray]:
    """Up to `most` different local optima of k-means, the best first."""
    n_starts = max(_STARTS, most)
    found = [
        lloyd(points, pad_centers(seeds, k), weight, steps=_STEPS).centers
        for seeds in (kmeans_plusplus(points, k, rng, weight) for _ in range(n_starts))
    ]
    found = _rank(found, lambda centers: inertia(points, centers, weight))
    if 1 < k < len(points):
        found += [
            _swap(points, weight, start, rng) for start in found[: n_starts // _POLISH_ONE_OF]
        ]
    return _rank(found, lambda centers: inertia(points, centers, weight))[:most]


def search_fuzzy_centers(
    points: FloatArray,
    starts: Iterable[FloatArray],
    fuzzifier: float,
    rng: Rng,
    weight: FloatArray,
) -> list[FloatArray]:
    """Local optima of fuzzy c-means from given starts and from random points, the best first."""
    starts = list(starts)
    k = len(starts[0])
    starts += [_scatter(points, k, rng, weight) for _ in range(_STARTS)]
    found = [
        fuzzy_c_means(points, start, fuzzifier, weight, steps=_FUZZY_STEPS)[0] for start in starts
    ]

    def objective(centers: FloatArray) -> float:
        return fuzzy_objective(points, centers, fuzzifier, weight)

    found = _rank(found, objective)
    if 1 < k < len(points):
        found += [_swap_fuzzy(points, weight, one, fuzzifier, rng) for one in found[:_FUZZY_POLISH]]
    return _rank(found, objective)


def _swap_fuzzy(
    points: FloatArray, weight: FloatArray, centers: FloatArray, fuzzifier: float, rng: Rng
) -> FloatArray:
    """Replace centres by points drawn by their share of the objective, while that lowers it."""
    value, k = fuzzy_objective(points, centers, fuzzifier, weight), len(centers)
    for attempt in range(min(max(_FEWEST_SWAPS, 2 * k), _MOST_FUZZY_SWAPS)):
        U = memberships(points, centers, fuzzifier) ** fuzzifier
        share = weight * (U * sq_distances(points, centers)).sum(axis=1)
        if not share.any():
            break
        changed = centers.copy()
        changed[attempt % k] = points[draw(share, 1, rng)[0]]
        changed = fuzzy_c_means(points, changed, fuzzifier, weight, steps=_FUZZY_STEPS_AFTER_SWAP)[
            0
        ]
        after = fuzzy_objective(points, changed, fuzzifier, weight)
        if after < value * (1 - _SMALLEST_GAIN):
            centers, value = changed, after
    return fuzzy_c_means(points, centers, fuzzifier, weight, steps=_FUZZY_STEPS)[0]


def fuzzy_objective(
    points: FloatArray, centers: FloatArray, fuzzifier: float, weight: FloatArray
) -> float:
    """Weighted sum of squared distances to all centres, times u^m."""
    each = memberships(points, centers, fuzzifier) ** fuzzifier * sq_distances(points, centers)
    return float(each.sum(axis=1) @ weight)


def _scatter(points: FloatArray, k: int, rng: Rng, weight: FloatArray) -> FloatArray:
    """Points drawn by weight, moved a little so that none coincide."""
    drawn = points[draw(weight, k, rng)]
    spread = points.std(axis=0)
    moved: FloatArray = drawn + rng.normal(scale=1e-3, size=drawn.shape) * spread
    return moved


def _swap(points: FloatArray, weight: FloatArray, centers: FloatArray, rng: Rng) -> FloatArray:
    """Replace centres by points drawn by D^2 sampling, as long as that lowers the inertia."""
    value, k = inertia(points, centers, weight), len(centers)
    for _ in range(max(_FEWEST_SWAPS, k)):
        D = sq_distances(points, centers)
        own = D.argmin(axis=1)
        first, second = np.partition(D, 1, axis=1)[:, :2].T
        if not (weight * first).any():
            break
        drawn = points[draw(weight * first, 1, rng)]
        to_drawn = sq_distances(points, drawn)[:, 0]
        kept, lost = np.minimum(first, to_drawn), np.minimum(second, to_drawn)
        increase = np.bincount(own, weight * (lost - kept), k)  # if that centre is replaced
        changed = centers.copy()
        changed[increase.argmin()] = drawn
        changed = lloyd(points, changed, weight, steps=_STEPS_AFTER_SWAP).centers
        after = inertia(points, changed, weight)
        if after < value * (1 - _SMALLEST_GAIN):
            centers, value = changed, after
    return lloyd(points, centers, weight, steps=_STEPS).centers


def _rank(
    solutions: Iterable[FloatArray], objective: Callable[[FloatArray], float]
) -> list[FloatArray]:
    """Sort solutions by an objective, and drop those that differ in nothing but the order."""
    values = sorted(((objective(s), i, s) for i, s in enumerate(solutions)), key=lambda v: v[:2])
    kept: list[FloatArray] = []
    last = -np.inf
    for value, _, solution in values:
        if not kept or value > last * (1 + _SAME):
            kept.append(_sort(solution))
            last = value
    return kept


def _sort(centers: FloatArray) -> FloatArray:
    """Put centres in an order of their own, so that equal solutions are equal arrays."""
    along = centers @ np.cos(np.arange(1.0, centers.shape[1] + 1))
    return centers[np.argsort(along, kind="stable")]
