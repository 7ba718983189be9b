"""One local step over all rows: assign, memberships, and the sums that clients send.

Arrays in, arrays out. Rows are cut into blocks, blocks run on threads, and a block runs compiled
code where numba is installed and NumPy where it is not.
"""

from functools import cache, reduce
from typing import Any, NamedTuple

import numpy as np

from ..typing import FloatArray, IntArray
from . import _plain
from .threads import map_blocks

_UNIT = np.empty(0)  # no weights: every row counts once


class HardSums(NamedTuple):
    """What an assignment of rows to their nearest centres adds up to."""

    records: FloatArray  # (C,)    rows
    weight: FloatArray  # (C,)    their weights
    total: FloatArray  # (C, F)  their weighted sum


class FuzzySums(NamedTuple):
    """What a pass of memberships adds up to."""

    weight: FloatArray  # (C,)    sum of u^m
    total: FloatArray  # (C, F)  sum of u^m x


@cache
def backend() -> Any:
    """`_compiled` where numba is installed, else `_plain`; both have the same functions."""
    try:
        from . import _compiled
    except ImportError:
        return _plain
    return _compiled


def hard_sums(X: FloatArray, centers: FloatArray, weight: FloatArray = _UNIT) -> HardSums:
    """Counts, weights and sums of the rows nearest to each centre (ties to the lowest index)."""
    X, code = np.ascontiguousarray(X), backend()
    ready = code.prepare(centers, X.dtype)

    def step(block: slice) -> tuple[FloatArray, ...]:
        return tuple(code.hard_block(X[block], weight[block] if len(weight) else weight, ready))

    return HardSums(*_added(map_blocks(step, *X.shape, products=_products(X))))


def fuzzy_sums(
    X: FloatArray, centers: FloatArray, fuzzifier: float, weight: FloatArray = _UNIT
) -> FuzzySums:
    """Sum of u^m and of u^m x per centre, never holding all memberships at once."""
    X, code = np.ascontiguousarray(X), backend()
    ready = code.prepare(centers, np.float64)

    def step(block: slice) -> tuple[FloatArray, ...]:
        rows = X[block].astype(np.float64, copy=False)
        w = weight[block] if len(weight) else weight
        return tuple(code.fuzzy_block(rows, w, ready, fuzzifier))

    return FuzzySums(*_added(map_blocks(step, *X.shape, products=_products(X))))


def nearest(X: FloatArray, centers: FloatArray) -> tuple[IntArray, FloatArray]:
    """Index of each row's nearest centre (ties to the lowest) and its squared distance."""
    X, code = np.ascontiguousarray(X), backend()
    ready = code.prepare(centers, X.dtype)
    labels, d2 = np.empty(len(X), np.int32), np.empty(len(X))

    def step(block: slice) -> None:
        labels[block], d2[block] = code.nearest_block(X[block], ready)

    map_blocks(step, *X.shape, products=_products(X))
    return labels, d2


def memberships(X: FloatArray, centers: FloatArray, fuzzifier: float) -> FloatArray:
    """Memberships (n, C), rows summing to one; a row on a centre belongs to it alone."""
    X, code = np.ascontiguousarray(X), backend()
    ready = code.prepare(centers, np.float64)
    U = np.empty((len(X), len(centers)))

    def step(block: slice) -> None:
        rows = X[block].astype(np.float64, copy=False)
        U[block] = code.memberships_block(rows, ready, fuzzifier)

    map_blocks(step, *X.shape, products=_products(X))
    return U


def sq_distances(X: FloatArray, centers: FloatArray) -> FloatArray:
    """All squared distances (n, C): for a few rows, or where the matrix itself is wanted."""
    D = np.empty((len(X), len(centers)))

    def step(block: slice) -> None:
        D[block] = _plain.sq_distances(X[block], centers)

    map_blocks(step, *X.shape, products=_products(X))
    return D


def divide_or_keep(total: FloatArray, weight: FloatArray, old: FloatArray) -> FloatArray:
    """`total / weight` per centre; a centre nobody holds stays where it was."""
    held = weight > 0
    return np.where(held[:, None], total / np.where(held, weight, 1.0)[:, None], old)


def _products(X: FloatArray) -> bool:
    """Whether a step over these rows multiplies matrices."""
    return backend() is _plain or X.shape[1] > _plain.DIRECT_FEATURES


def _added(parts: list[tuple[FloatArray, ...]]) -> list[FloatArray]:
    if len(parts) == 1:
        return list(parts[0])
    return [reduce(np.add, field) for field in zip(*parts, strict=True)]
