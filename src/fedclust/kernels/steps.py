"""One local step over all rows: assignments, memberships, and the sums that clients send.

Rows are cut into blocks that run on several threads. A block runs compiled code if numba is
installed, and NumPy code otherwise.
"""

import warnings
from functools import cache, reduce
from typing import Any, NamedTuple, cast

import numpy as np

from ..typing import Array, FloatArray, IntArray
from . import _cells_plain, _plain
from .gpu.rows import forget, placed
from .grid import Grid
from .threads import map_blocks

_UNIT = np.empty(0)  # no weights: every row counts once
_KEPT_ELEMENTS = 2**24  # 128 MB


class HardSums(NamedTuple):
    """Sums over the rows assigned to each centre."""

    records: Array  # (C,)    rows
    weight: Array  # (C,)    their weights
    total: Array  # (C, F)  their weighted sum


class FuzzySums(NamedTuple):
    """Sums over all rows, weighted by their memberships."""

    weight: Array  # (C,)    sum of u^m
    total: Array  # (C, F)  sum of u^m x


@cache
def backend() -> Any:
    """Return `_compiled` if numba is installed, else `_plain`; both have the same functions."""
    try:
        from . import _compiled
    except ImportError:
        return _plain
    return _compiled


def hard_sums(
    X: FloatArray, centers: FloatArray, weight: FloatArray = _UNIT, grid: Grid | None = None
) -> HardSums:
    """Counts, weights and sums of the rows nearest to each centre (ties to the lowest index).

    On a grid the sums are integers, the same for any split and order of the rows.
    """
    if (found := _on_device("hard_sums", X, centers, weight, grid)) is not None:
        return HardSums(*found)
    X, code = np.ascontiguousarray(X), backend()
    ready = code.prepare(centers, X.dtype if grid is None else np.float64)

    def step(block: slice) -> tuple[Any, ...]:
        w = weight[block] if len(weight) else weight
        if grid is None:
            return tuple(code.hard_block(X[block], w, ready))
        return tuple(code.exact_hard_block(_as_double(X[block]), w, ready, grid))

    return HardSums(*_add_parts(map_blocks(step, *X.shape, products=_products(X))))


def fuzzy_sums(
    X: FloatArray,
    centers: FloatArray,
    fuzzifier: float,
    weight: FloatArray = _UNIT,
    grid: Grid | None = None,
) -> FuzzySums:
    """Sum of u^m and of u^m x per centre, without holding all memberships at once.

    On a grid the sums are integers, each record's contribution rounded once.
    """
    if (found := _on_device("fuzzy_sums", X, centers, fuzzifier, weight, grid)) is not None:
        return FuzzySums(*found)
    X, code = np.ascontiguousarray(X), backend()
    ready = code.prepare(centers, np.float64)

    def step(block: slice) -> tuple[Any, ...]:
        rows, w = _as_double(X[block]), weight[block] if len(weight) else weight
        if grid is None:
            return tuple(code.fuzzy_block(rows, w, ready, fuzzifier))
        return tuple(code.exact_fuzzy_block(rows, w, ready, fuzzifier, grid))

    return FuzzySums(*_add_parts(map_blocks(step, *X.shape, products=_products(X))))


def _as_double(rows: FloatArray) -> FloatArray:
    return rows.astype(np.float64, copy=False)


def nearest(X: FloatArray, centers: FloatArray) -> tuple[IntArray, FloatArray]:
    """Index of each row's nearest centre (ties to the lowest) and its squared distance.

    Here and below, a missing cell is NaN: distances are over observed cells, times F / observed. A
    row without any value has the distance zero to all centres.
    """
    if (found := _on_device("nearest", X, centers)) is not None:
        labels, d2 = found
        return labels, d2
    X, code = np.ascontiguousarray(X), backend()
    ready = code.prepare(centers, X.dtype)
    labels, d2 = np.empty(len(X), np.int32), np.empty(len(X))

    def step(block: slice) -> None:
        labels[block], d2[block] = code.nearest_block(X[block], ready)
        # A missing cell leaves no finite distance: cheaper to see than in all cells.
        if np.isfinite(d2[block].max(initial=0.0)) or not _has_missing(X[block]):
            return
        for part in _plain.chunks(block.stop - block.start, len(centers)):
            D = _cells_plain.sq_distances(X[block][part], centers)
            labels[block][part], d2[block][part] = D.argmin(axis=1), D.min(axis=1)

    map_blocks(step, *X.shape, products=_products(X))
    return labels, d2


def memberships(X: FloatArray, centers: FloatArray, fuzzifier: float) -> FloatArray:
    """Memberships (n, C), rows summing to one; a row on a centre belongs only to it."""
    if (found := _on_device("memberships", X, centers, fuzzifier)) is not None:
        return cast(FloatArray, found[0])
    X, code = np.ascontiguousarray(X), backend()
    ready = code.prepare(centers, np.float64)
    U = np.empty((len(X), len(centers)))

    def step(block: slice) -> None:
        rows = X[block].astype(np.float64, copy=False)
        if not _has_missing(rows):
            U[block] = code.memberships_block(rows, ready, fuzzifier)
            return
        for part in _plain.chunks(len(rows), len(centers)):
            D = _cells_plain.sq_distances(rows[part], centers)
            U[block][part] = _plain.memberships_of(D, fuzzifier)

    map_blocks(step, *X.shape, products=_products(X))
    return U


def sq_distances(X: FloatArray, centers: FloatArray) -> FloatArray:
    """All squared distances (n, C), for a few rows or where the matrix itself is needed."""
    D = np.empty((len(X), len(centers)))

    def step(block: slice) -> None:
        code = _cells_plain if _has_missing(X[block]) else _plain
        D[block] = code.sq_distances(X[block], centers)

    map_blocks(step, *X.shape, products=_products(X))
    return D


def steady_nearest(X: FloatArray, centers: FloatArray) -> IntArray:
    """Index of each row's nearest centre (ties to the lowest), whatever the other rows are.

    The last bit of a matrix product depends on the position of a row, and in a tie it decides.
    """
    labels = np.empty(len(X), np.int32)

    def step(block: slice) -> None:
        rows, nearest = X[block], labels[block]
        for chunk in _plain.chunks(len(rows), len(centers)):
            nearest[chunk] = _plain.add_differences(rows[chunk], centers).argmin(axis=1)

    map_blocks(step, *X.shape, products=False)
    return labels


def steady_nearest_two(X: FloatArray, centers: FloatArray) -> tuple[IntArray, IntArray]:
    """Indices of each row's nearest and second nearest centre; a single centre is both."""
    first, second = np.empty(len(X), np.int32), np.zeros(len(X), np.int32)

    def step(block: slice) -> None:
        rows, nearest, next_one = X[block], first[block], second[block]
        for chunk in _plain.chunks(len(rows), len(centers)):
            D = _plain.add_differences(rows[chunk], centers)
            nearest[chunk] = D.argmin(axis=1)
            D[np.arange(len(D)), nearest[chunk]] = np.inf
            next_one[chunk] = D.argmin(axis=1)

    map_blocks(step, *X.shape, products=False)
    return first, second


def steady_nearest_observed(X: FloatArray, centers: FloatArray) -> tuple[IntArray, IntArray]:
    """`steady_nearest_two` over observed cells; a missing one is NaN."""
    first, second = np.empty(len(X), np.int32), np.zeros(len(X), np.int32)

    def step(block: slice) -> None:
        rows, nearest, next_one = X[block], first[block], second[block]
        for chunk in _plain.chunks(len(rows), len(centers)):
            D = _cells_plain.add_observed(*_cells_plain.observe(rows[chunk]), centers)
            nearest[chunk] = D.argmin(axis=1)
            D[np.arange(len(D)), nearest[chunk]] = np.inf
            next_one[chunk] = D.argmin(axis=1)

    map_blocks(step, *X.shape, products=False)
    return first, second


def steady_memberships(X: FloatArray, centers: FloatArray, fuzzifier: float) -> FloatArray:
    """Memberships (n, C), each row's whatever the other rows are."""
    U = np.empty((len(X), len(centers)))

    def step(block: slice) -> None:
        U[block] = _plain.memberships_of(_plain.add_differences(X[block], centers), fuzzifier)

    map_blocks(step, *X.shape, products=False)
    return U


class DistancesFrom:
    """Squared distances from fixed rows to points that change, as in k-means++.

    Many features need the rows moved to the origin, and their norms. Both are kept between calls,
    unless the rows are large.
    """

    def __init__(self, X: FloatArray) -> None:
        self._X = X
        n, n_features = X.shape
        self._kept = (
            0 < n <= _KEPT_ELEMENTS // max(1, n_features)
            and n_features > _plain.DIRECT_FEATURES
            and not _has_missing(X)
        )
        if self._kept:
            rows = _as_double(X)
            self._shift = rows.mean(axis=0)
            self._moved: FloatArray = rows - self._shift
            self._norms: FloatArray = np.einsum("nf,nf->n", self._moved, self._moved)

    def to(self, points: FloatArray) -> FloatArray:
        """Squared distances (n, C)."""
        if not self._kept:
            return sq_distances(self._X, points)
        moved = _as_double(points) - self._shift
        D = np.empty((len(self._X), len(points)))

        def step(block: slice) -> None:
            D[block] = _plain.sq_distances_near_zero(self._moved[block], moved, self._norms[block])

        map_blocks(step, *self._X.shape)
        return D


def divide_or_keep(total: FloatArray, weight: FloatArray, old: FloatArray) -> FloatArray:
    """`total / weight` per centre, or per cell; what has no weight keeps its old position."""
    if weight.ndim < total.ndim:
        weight = weight[:, None]
    held = weight > 0
    if held.all():
        return total / weight
    return np.where(held, total / np.where(held, weight, 1.0), old)


def _on_device(
    step: str, X: FloatArray, centers: FloatArray, *given: Any
) -> tuple[Any, ...] | None:
    """The step on the device that holds these rows; None if none does, or its memory is full."""
    rows = placed(X)
    if rows is None:
        return None
    from .gpu import steps as on_device

    try:
        found: tuple[Any, ...] | None = getattr(on_device, step)(rows, centers, *given)
    except MemoryError:  # other programs use the device, too
        forget(X)
        warnings.warn("the GPU's memory is full; the CPU goes on", RuntimeWarning, stacklevel=3)
        return None
    return found


def _has_missing(X: FloatArray) -> bool:
    return X.size > 0 and bool(np.isnan(X.min()))


def _products(X: FloatArray) -> bool:
    """Whether a step over these rows multiplies matrices."""
    return backend() is _plain or X.shape[1] > _plain.DIRECT_FEATURES


def _add_parts(parts: list[tuple[Any, ...]]) -> list[Any]:
    if len(parts) == 1:
        return list(parts[0])
    return [reduce(np.add, field) for field in zip(*parts, strict=True)]
