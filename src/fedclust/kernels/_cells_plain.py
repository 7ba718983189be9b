"""Local steps over observed cells in NumPy: a missing cell is NaN and adds nothing.

The functions take one block of rows, like those of `_plain.py`, and mirror `_cells_compiled.py`.
"""

from typing import Any

import numpy as np

from ..typing import BoolArray, FloatArray
from ._plain import DIRECT_FEATURES, _raise_power, chunks, memberships_of, prepare
from .grid import Grid

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
    complete: BoolArray = np.asarray(~np.isnan(X).any(axis=1))
    return complete


def observe(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Values, zero where one is missing, and ones where it is not."""
    seen = ~np.isnan(X)
    return np.where(seen, X, 0.0).astype(np.float64, copy=False), seen.astype(np.float64)


def sq_distances(X: FloatArray, C: FloatArray) -> FloatArray:
    """Squared distances over observed cells (n, C), times F / observed; 0 without any."""
    rows, seen = observe(X)
    n_observed = seen.sum(axis=1)
    D = distances_over(rows, seen, C.astype(np.float64, copy=False))
    scale: FloatArray = X.shape[1] / np.maximum(n_observed, 1.0)
    return D * scale[:, None]


def distances_over(rows: FloatArray, seen: FloatArray, C: FloatArray) -> FloatArray:
    """Squared distances over observed cells, not scaled."""
    if rows.shape[1] <= DIRECT_FEATURES:
        return add_observed(rows, seen, C)
    shift = C.mean(axis=0)
    rows, C = rows - shift * seen, C - shift
    sum_of_squares = np.einsum("nf,nf->n", rows, rows)[:, None] + seen @ (C * C).T
    D: FloatArray = sum_of_squares - 2.0 * (rows @ C.T)
    at, to = np.nonzero(sum_of_squares * 1e-6 >= D)  # cancelled: use differences
    for part in np.array_split(np.arange(len(at)), 1 + len(at) // 4096):
        apart = (rows[at[part]] - C[to[part]]) * seen[at[part]]
        D[at[part], to[part]] = (apart**2).sum(axis=1)
    return D


def add_observed(rows: FloatArray, seen: FloatArray, C: FloatArray) -> FloatArray:
    """The same, column by column: the same bits wherever a row is in its block."""
    D: FloatArray = np.zeros((len(rows), len(C)))
    for f in range(rows.shape[1]):
        D += ((rows[:, f, None] - C[:, f]) * seen[:, f, None]) ** 2
    return D


def hard_block(X: FloatArray, w: FloatArray, C: FloatArray) -> tuple[Any, ...]:
    """Count, weight and weighted sum of the observed cells of the rows nearest to each centre."""
    records, weight, total = (np.zeros(C.shape) for _ in range(3))
    for chunk in chunks(len(X), len(C)):
        rows, seen = observe(X[chunk])
        own = np.zeros((len(rows), len(C)))
        own[np.arange(len(rows)), distances_over(rows, seen, C).argmin(axis=1)] = 1.0
        records += own.T @ seen
        if len(w):
            own *= w[chunk, None]
            weight += own.T @ seen
        total += own.T @ rows
    return records, weight if len(w) else records, total


def exact_hard_block(X: FloatArray, w: FloatArray, C: FloatArray, grid: Grid) -> tuple[Any, ...]:
    """`hard_block` in integers."""
    records, weight, total = (np.zeros(C.shape, np.int64) for _ in range(3))
    for chunk in chunks(len(X), len(C)):
        rows, seen = observe(X[chunk])
        labels = add_observed(rows, seen, C).argmin(axis=1)
        v = w[chunk, None] if len(w) else np.ones((len(rows), 1))
        mass = (np.rint(v * grid.mass) * seen).astype(np.int64)
        steps = (np.rint(v * ((rows - grid.offset) * grid.unit)) * seen).astype(np.int64)
        np.add.at(records, labels, seen.astype(np.int64))
        np.add.at(weight, labels, mass)
        np.add.at(total, labels, steps)
    return records, weight, total


def fuzzy_block(X: FloatArray, w: FloatArray, C: FloatArray, fuzzifier: float) -> tuple[Any, ...]:
    """Sum of u^m and of u^m x over observed cells, per centre."""
    weight, total = np.zeros(C.shape), np.zeros(C.shape)
    for chunk in chunks(len(X), len(C)):
        rows, seen = observe(X[chunk])
        U = _raise_power(memberships_of(distances_over(rows, seen, C), fuzzifier), fuzzifier)
        if len(w):
            U *= w[chunk, None]
        weight += U.T @ seen
        total += U.T @ rows
    return weight, total


def exact_fuzzy_block(
    X: FloatArray, w: FloatArray, C: FloatArray, fuzzifier: float, grid: Grid
) -> tuple[Any, ...]:
    """`fuzzy_block` in integers."""
    weight, total = np.zeros(C.shape, np.int64), np.zeros(C.shape, np.int64)
    for chunk in chunks(len(X), len(C)):
        rows, seen = observe(X[chunk])
        U = _raise_power(memberships_of(add_observed(rows, seen, C), fuzzifier), fuzzifier)
        if len(w):
            U *= w[chunk, None]
        steps = (rows - grid.offset) * grid.unit * seen
        for c in range(len(C)):
            mass = np.rint(U[:, c, None] * grid.mass) * seen
            weight[c] += mass.astype(np.int64).sum(axis=0)
            total[c] += np.rint(U[:, c, None] * steps).astype(np.int64).sum(axis=0)
    return weight, total
