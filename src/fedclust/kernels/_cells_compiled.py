"""The functions of `_cells_plain.py` over loops that numba compiles."""

from typing import Any

import numpy as np

from ..typing import BoolArray, FloatArray
from . import _cell_fuzzy_loops, _cell_loops
from ._centers import DOUBT, PreparedCenters, prepare
from .grid import Grid

_TILED = 128  # columns; with more, tiles leave the cache, and matrix products are faster

__all__ = [
    "exact_fuzzy_block",
    "exact_hard_block",
    "fuzzy_block",
    "hard_block",
    "is_complete",
    "prepare",
]


def is_complete(X: FloatArray) -> BoolArray:
    """Which rows have no missing cell."""
    complete = np.empty(len(X), np.bool_)
    _cell_loops.is_complete(X, complete)
    return complete


def hard_block(X: FloatArray, w: FloatArray, ready: PreparedCenters) -> tuple[Any, ...]:
    """Count, weight and weighted sum of the observed cells of the rows nearest to each centre."""
    records, weight, total = sums = tuple(np.zeros(ready.C.shape) for _ in range(3))
    if ready.dims:
        _cell_loops.hard_direct(X, w, ready.C, ready.dims, *sums)
    else:
        _cell_loops.hard_product(X, w, *ready.moved, DOUBT[X.dtype], *sums)
    return records, weight if len(w) else records, total


def exact_hard_block(
    X: FloatArray, w: FloatArray, ready: PreparedCenters, grid: Grid
) -> tuple[Any, ...]:
    """`hard_block` in integers."""
    sums = tuple(np.zeros(ready.C.shape, np.int64) for _ in range(3))
    steps = (grid.mass, grid.offset, grid.unit)
    if ready.dims:
        _cell_loops.rounded_hard_direct(X, w, ready.C, ready.dims, *steps, *sums)
    else:
        doubt = DOUBT[X.dtype]
        _cell_loops.rounded_hard_product(X, w, *ready.moved, doubt, *steps, *sums)
    return sums


def fuzzy_block(
    X: FloatArray, w: FloatArray, ready: PreparedCenters, fuzzifier: float
) -> tuple[Any, ...]:
    """Sum of u^m and of u^m x over observed cells, per centre."""
    weight, total = np.zeros(ready.C.shape), np.zeros(ready.C.shape)
    if ready.dims:
        _cell_fuzzy_loops.fuzzy_direct(X, w, ready.C, fuzzifier, ready.dims, weight, total)
    elif X.shape[1] <= _TILED:
        _cell_fuzzy_loops.fuzzy_tiles(X, w, ready.C, fuzzifier, weight, total)
    else:
        _cell_fuzzy_loops.fuzzy_product(X, w, *ready.moved, fuzzifier, weight, total)
    return weight, total


def exact_fuzzy_block(
    X: FloatArray, w: FloatArray, ready: PreparedCenters, fuzzifier: float, grid: Grid
) -> tuple[Any, ...]:
    """`fuzzy_block` in integers."""
    sums = (np.zeros(ready.C.shape, np.int64), np.zeros(ready.C.shape, np.int64))
    steps = (grid.mass, grid.offset, grid.unit)
    if ready.dims:
        _cell_fuzzy_loops.rounded_fuzzy_direct(X, w, ready.C, fuzzifier, ready.dims, *steps, *sums)
    else:
        _cell_fuzzy_loops.rounded_fuzzy_product(X, w, *ready.moved, fuzzifier, *steps, *sums)
    return sums
