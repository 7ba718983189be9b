"""Search for the best centres of weighted points: the server's work, over summaries of rows.

There are few points, so the search can afford what a run over all rows cannot: restarts, and
swaps of a centre for a point (S. Lattanzi, C. Sohler, 2019: "A better k-means++ algorithm via
local search"), with Lloyd steps after each.
"""

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from ..typing import FloatArray, Rng
from .local import draw, fuzzy_c_means, inertia, kmeans_plusplus, lloyd, pad_centers
from .steps import memberships, nearest, sq_distances

_STARTS = 16  # at least, or as many as solutions are wanted
_POLISH_ONE_OF = 4  # of the starts: the best ones
_STEPS = 100  # Lloyd steps of a start
_STEPS_AFTER_SWAP = 10
_FEWEST_SWAPS = 48  # tried before giving up, or one for each centre if these are more
_CANDIDATES = 256  # points for which a centre may be swapped
_KICKED = 2  # centres that a kick moves
_REMOVALS = 2  # centres that may be taken for a point: those that are missed least
_FUZZY_STEPS = 100
_FUZZY_STEPS_AFTER_SWAP = 30
_MOST_FUZZY_SWAPS = 64
_FUZZY_POLISH = 2  # of the solutions: the best ones
_SAME = 1e-6  # relative difference of objectives below which solutions are the same
_SMALLEST_GAIN = 1e-12


def search_centers(
    points: FloatArray, k: int, rng: Rng, weight: FloatArray, *, most: int, kicks: int = 0
) -> list[FloatArray]:
    """Up to `most` different local optima of k-means, the best first.

    After each of the `kicks`, which move two centres of the best solution, it is improved again.
    """
    n_starts = max(_STARTS, most)
    found = [
        lloyd(points, pad_centers(seeds, k), weight, steps=_STEPS).centers
        for seeds in (kmeans_plusplus(points, k, rng, weight) for _ in range(n_starts))
    ]
    found = _rank(found, lambda centers: inertia(points, centers, weight))
    if 1 < k < len(points):
        found += [_swap(points, weight, start) for start in found[: n_starts // _POLISH_ONE_OF]]
        found += _kick(points, weight, found, kicks, rng)
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


def _kick(
    points: FloatArray, weight: FloatArray, found: list[FloatArray], kicks: int, rng: Rng
) -> Iterator[FloatArray]:
    """Better solutions than all found: some centres of the best move, then swaps improve it."""
    value, best = min(((inertia(points, one, weight), one) for one in found), key=lambda v: v[0])
    for _ in range(kicks):
        share = weight * nearest(points, best)[1]
        if not share.any():
            return
        changed, n = best.copy(), min(_KICKED, len(best))
        changed[rng.choice(len(best), n, replace=False)] = points[draw(share, n, rng)]
        moved = _swap(
            points, weight, lloyd(points, changed, weight, steps=_STEPS_AFTER_SWAP).centers
        )
        after = inertia(points, moved, weight)
        if after < value * (1 - _SMALLEST_GAIN):
            value, best = after, moved
            yield best


def _swap(points: FloatArray, weight: FloatArray, centers: FloatArray) -> FloatArray:
    """Replace centres by points as long as that lowers the inertia."""
    value = inertia(points, centers, weight)
    while True:
        for changed in _promising_swaps(points, weight, centers):
            moved = lloyd(points, changed, weight, steps=_STEPS_AFTER_SWAP).centers
            after = inertia(points, moved, weight)
            if after < value * (1 - _SMALLEST_GAIN):
                centers, value = moved, after
                break
        else:
            return lloyd(points, centers, weight, steps=_STEPS).centers


def _promising_swaps(
    points: FloatArray, weight: FloatArray, centers: FloatArray
) -> Iterator[FloatArray]:
    """Centres after one swap; those with the lowest inertia before any step come first."""
    D, k = sq_distances(points, centers), len(centers)
    own = D.argmin(axis=1)
    first, second = np.partition(D, 1, axis=1)[:, :2].T
    far = np.argsort(-weight * first, kind="stable")[:_CANDIDATES]
    to_far = sq_distances(points, points[far])
    gain = weight @ np.maximum(first[:, None] - to_far, 0)  # (P,) of another centre at a point
    lost = np.minimum(second[:, None], to_far) - np.minimum(first[:, None], to_far)
    cost = (weight * (own == np.arange(k)[:, None])) @ lost  # (C, P) of taking a centre for it
    taken = np.argpartition(cost, min(_REMOVALS, k) - 1, axis=0)[:_REMOVALS]
    net = gain - np.take_along_axis(cost, taken, axis=0)
    for place in np.argsort(-net, axis=None, kind="stable")[: max(_FEWEST_SWAPS, k)]:
        removal, candidate = np.unravel_index(place, net.shape)
        changed = centers.copy()
        changed[taken[removal, candidate]] = points[far[candidate]]
        yield changed


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
