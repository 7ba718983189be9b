"""The functions of `_plain.py` over loops that numba compiles."""

import numpy as np

from ..typing import FloatArray, IntArray
from . import _exact_loops, _fuzzy_loops, _hard_loops, _rival_loops
from ._centers import DOUBT, PreparedCenters, prepare
from .grid import Grid

__all__ = [
    "exact_fuzzy_block",
    "exact_hard_block",
    "fuzzy_block",
    "hard_block",
    "memberships_block",
    "nearest_block",
    "prepare",
    "rivals_block",
]


def hard_block(
    X: FloatArray, w: FloatArray, ready: PreparedCenters
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Count, weight and weighted sum of the rows nearest to each centre."""
    k, F = ready.C.shape
    count, weight, total = np.zeros(k), np.zeros(k), np.zeros((k, F))
    if ready.dims:
        _hard_loops.hard_direct(X, w, ready.C, ready.dims, count, weight, total)
    else:
        _hard_loops.hard_product(X, w, *ready.moved, DOUBT[X.dtype], count, weight, total)
    return count, weight if len(w) else count, total


def exact_hard_block(
    X: FloatArray, w: FloatArray, ready: PreparedCenters, grid: Grid
) -> tuple[IntArray, IntArray, IntArray]:
    """`hard_block` in integers."""
    k, F = ready.C.shape
    count, weight = np.zeros(k, np.int64), np.zeros(k, np.int64)
    total = np.zeros((k, F), np.int64)
    steps = (grid.mass, grid.offset, grid.unit)
    if ready.dims:
        _exact_loops.hard_direct(X, w, ready.C, ready.dims, *steps, count, weight, total)
    else:
        doubt = DOUBT[X.dtype]
        _exact_loops.hard_product(X, w, *ready.moved, doubt, *steps, count, weight, total)
    return count, weight if len(w) else count * np.int64(grid.mass), total


def nearest_block(X: FloatArray, ready: PreparedCenters) -> tuple[IntArray, FloatArray]:
    """Nearest centre of each row (ties to the lowest index) and its squared distance."""
    labels, d2 = np.empty(len(X), np.int32), np.empty(len(X))
    if ready.dims:
        _hard_loops.nearest_direct(X, ready.C, ready.dims, labels, d2)
    else:
        _hard_loops.nearest_product(X, *ready.moved, DOUBT[X.dtype], labels, d2)
    return labels, d2


def rivals_block(
    X: FloatArray, w: FloatArray, solutions: FloatArray, step: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Inertia of solutions (R, C, F) and, with `step`, the weight and sum of all their clusters."""
    R, C, F = solutions.shape
    n = R * C if step else 0
    values, weight, total = np.zeros(R), np.zeros(n), np.zeros((n, F))
    columns = np.array(solutions.reshape(R * C, F).T, np.float64, order="C")
    _rival_loops.rival_steps(X, w, columns, R, values, weight, total)
    return values, weight, total


def fuzzy_block(
    X: FloatArray, w: FloatArray, ready: PreparedCenters, fuzzifier: float
) -> tuple[FloatArray, FloatArray]:
    """Sum of u^m and of u^m x, per centre."""
    weight, total = np.zeros(len(ready.C)), np.zeros(ready.C.shape)
    if ready.dims:
        _fuzzy_loops.fuzzy_direct(X, w, ready.C, fuzzifier, ready.dims, weight, total)
    else:
        _fuzzy_loops.fuzzy_product(X, w, *ready.moved, fuzzifier, weight, total)
    return weight, total


def exact_fuzzy_block(
    X: FloatArray, w: FloatArray, ready: PreparedCenters, fuzzifier: float, grid: Grid
) -> tuple[IntArray, IntArray]:
    """`fuzzy_block` in integers."""
    weight, total = np.zeros(len(ready.C), np.int64), np.zeros(ready.C.shape, np.int64)
    steps = (grid.mass, grid.offset, grid.unit)
    if ready.dims:
        _exact_loops.fuzzy_direct(X, w, ready.C, fuzzifier, ready.dims, *steps, weight, total)
    else:
        _exact_loops.fuzzy_product(X, w, *ready.moved, fuzzifier, *steps, weight, total)
    return weight, total


def memberships_block(X: FloatArray, ready: PreparedCenters, fuzzifier: float) -> FloatArray:
    """Memberships (n, C)."""
    U = np.empty((len(X), len(ready.C)))
    if ready.dims:
        _fuzzy_loops.memberships_direct(X, ready.C, fuzzifier, ready.dims, U)
    else:
        _fuzzy_loops.memberships_product(X, *ready.moved, fuzzifier, U)
    return U
