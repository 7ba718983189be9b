"""The local steps in NumPy, used without numba and as the reference in tests.

The functions take one block of rows and mirror `_compiled.py`, which exists only for speed.
"""

from typing import Any

import numpy as np

from ..typing import FloatArray, IntArray
from .grid import Grid

CHUNK_ELEMENTS = 2**18  # of the (rows, C) scratch: 2 MB
# Up to this many features, differences per feature are faster than a matrix product.
DIRECT_FEATURES = 16
_LIMB = 2**23  # integers are split in two here, so that 2^18 rows still add up exactly


def sq_distances(X: FloatArray, C: FloatArray) -> FloatArray:
    """Squared Euclidean distances (n, C) in float64, accurate far from the origin too."""
    X, C = X.astype(np.float64, copy=False), C.astype(np.float64, copy=False)
    if X.shape[1] <= DIRECT_FEATURES:
        return add_differences(X, C)
    shift = C.mean(axis=0)
    X, C = X - shift, C - shift
    return sq_distances_near_zero(X, C, np.einsum("nf,nf->n", X, X))


def sq_distances_near_zero(X: FloatArray, C: FloatArray, norms: FloatArray) -> FloatArray:
    """Squared distances by a matrix product, for rows around the origin; `norms` are |x|^2."""
    sum_of_squares = norms[:, None] + np.einsum("cf,cf->c", C, C)
    D: FloatArray = sum_of_squares - 2.0 * (X @ C.T)
    rows, columns = np.nonzero(sum_of_squares * 1e-6 >= D)  # cancelled: use differences
    for part in np.array_split(np.arange(len(rows)), 1 + len(rows) // 4096):
        D[rows[part], columns[part]] = ((X[rows[part]] - C[columns[part]]) ** 2).sum(axis=1)
    return D


def add_differences(X: FloatArray, C: FloatArray) -> FloatArray:
    """Squared distances feature by feature: the same bits wherever a row is in its block.

    The last bit of a matrix product depends on the position of a row.
    """
    D: FloatArray = np.zeros((len(X), len(C)))
    for f in range(X.shape[1]):
        D += (X[:, f, None] - C[:, f]) ** 2
    return D


def memberships_of(D: FloatArray, fuzzifier: float) -> FloatArray:
    """Bezdek memberships from squared distances, as ratios to the nearest centre's."""
    low = D.min(axis=1, keepdims=True)
    ratio: FloatArray = np.divide(low, D, out=np.ones_like(D), where=low != D)
    if fuzzifier == 1.5:
        ratio *= ratio
    elif fuzzifier != 2.0:
        ratio **= 1.0 / (fuzzifier - 1.0)
    ratio /= ratio.sum(axis=1, keepdims=True)
    return ratio


def prepare(centers: FloatArray, dtype: Any) -> FloatArray:
    """Cast the centres; only the compiled backend needs a special layout."""
    return centers.astype(dtype, copy=False)


def chunks(n: int, k: int) -> list[slice]:
    """Cut n rows into parts whose (rows, k) scratch fits into a cache."""
    size = max(1, CHUNK_ELEMENTS // k)
    return [slice(s, min(n, s + size)) for s in range(0, n, size)]


def hard_block(
    X: FloatArray, w: FloatArray, C: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Count, weight and weighted sum of the rows nearest to each centre."""
    count, total = np.zeros(len(C)), np.zeros(C.shape)
    weight = np.zeros(len(C))
    for chunk in chunks(len(X), len(C)):
        rows = X[chunk].astype(np.float64, copy=False)
        one_hot = np.zeros((len(rows), len(C)))
        one_hot[np.arange(len(rows)), sq_distances(rows, C).argmin(axis=1)] = 1.0
        count += one_hot.sum(axis=0)
        if len(w):
            one_hot *= w[chunk, None]
        weight += one_hot.sum(axis=0)
        total += one_hot.T @ rows
    return count, weight, total


def exact_hard_block(
    X: FloatArray, w: FloatArray, C: FloatArray, grid: Grid
) -> tuple[IntArray, IntArray, IntArray]:
    """`hard_block` in integers, split in two so that matrix products are exact."""
    count, weight = np.zeros(len(C), np.int64), np.zeros(len(C), np.int64)
    total = np.zeros(C.shape, np.int64)
    for chunk in chunks(len(X), len(C)):
        rows, v = X[chunk], w[chunk, None] if len(w) else 1.0
        one_hot = np.zeros((len(rows), len(C)))
        one_hot[np.arange(len(rows)), _exact_labels(rows, C)] = 1.0
        count += one_hot.sum(axis=0).astype(np.int64)
        mass = np.broadcast_to(np.rint(v * grid.mass), (len(rows), 1))
        steps = np.hstack([mass, np.rint(v * ((rows - grid.offset) * grid.unit))])
        high = np.floor(steps / _LIMB)
        sums = (one_hot.T @ high).astype(np.int64) * _LIMB
        sums += (one_hot.T @ (steps - high * _LIMB)).astype(np.int64)
        weight += sums[:, 0]
        total += sums[:, 1:]
    return count, weight, total


def _exact_labels(X: FloatArray, C: FloatArray) -> IntArray:
    """Nearest centres, by differences where products cannot tell the two best apart."""
    D = sq_distances(X, C)
    labels: IntArray = D.argmin(axis=1)
    if X.shape[1] > DIRECT_FEATURES and len(C) > 1:
        best, second = np.partition(D, 1, axis=1)[:, :2].T
        close = np.flatnonzero(second - best <= 1e-12 * (best + (C**2).sum(axis=1).max()))
        for row in close.tolist():
            labels[row] = ((X[row] - C) ** 2).sum(axis=1).argmin()
    return labels


def nearest_block(X: FloatArray, C: FloatArray) -> tuple[IntArray, FloatArray]:
    """Nearest centre of each row (ties to the lowest index) and its squared distance."""
    labels, d2 = np.empty(len(X), np.int32), np.empty(len(X))
    for chunk in chunks(len(X), len(C)):
        D = sq_distances(X[chunk], C)
        labels[chunk] = D.argmin(axis=1)
        d2[chunk] = D.min(axis=1)
    return labels, d2


def rivals_block(
    X: FloatArray, w: FloatArray, solutions: FloatArray, step: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Inertia of solutions (R, C, F) and, with `step`, the weight and sum of all their clusters."""
    (R, C, F), n = solutions.shape, len(X)
    rows = X.astype(np.float64, copy=False)
    D = add_differences(rows, solutions.reshape(R * C, F)).reshape(n, R, C)
    d2 = D.min(axis=2)
    values = w @ d2 if len(w) else d2.sum(axis=0)
    if not step:
        return values, np.empty(0), np.empty((0, F))
    cell = (D.argmin(axis=2) + np.arange(R) * C).ravel()
    masses = np.bincount(cell, np.repeat(w, R) if len(w) else None, R * C).astype(np.float64)
    weighted = rows * w[:, None] if len(w) else rows
    totals = [np.bincount(cell, np.repeat(column, R), R * C) for column in weighted.T]
    return values, masses, np.stack(totals, axis=1)


def fuzzy_block(
    X: FloatArray, w: FloatArray, C: FloatArray, fuzzifier: float
) -> tuple[FloatArray, FloatArray]:
    """Sum of u^m and of u^m x, per centre."""
    weight, total = np.zeros(len(C)), np.zeros(C.shape)
    for chunk in chunks(len(X), len(C)):
        U = _raise_power(memberships_of(sq_distances(X[chunk], C), fuzzifier), fuzzifier)
        if len(w):
            U *= w[chunk, None]
        weight += U.sum(axis=0)
        total += U.T @ X[chunk]
    return weight, total


def exact_fuzzy_block(
    X: FloatArray, w: FloatArray, C: FloatArray, fuzzifier: float, grid: Grid
) -> tuple[IntArray, IntArray]:
    """`fuzzy_block` in integers."""
    weight, total = np.zeros(len(C), np.int64), np.zeros(C.shape, np.int64)
    for chunk in chunks(len(X), len(C)):
        U = _raise_power(memberships_of(add_differences(X[chunk], C), fuzzifier), fuzzifier)
        if len(w):
            U *= w[chunk, None]
        weight += np.rint(U * grid.mass).astype(np.int64).sum(axis=0)
        steps = (X[chunk] - grid.offset) * grid.unit
        for c in range(len(C)):
            total[c] += np.rint(U[:, c, None] * steps).astype(np.int64).sum(axis=0)
    return weight, total


def _raise_power(U: FloatArray, fuzzifier: float) -> FloatArray:
    return U * U if fuzzifier == 2.0 else U * np.sqrt(U) if fuzzifier == 1.5 else U**fuzzifier


def memberships_block(X: FloatArray, C: FloatArray, fuzzifier: float) -> FloatArray:
    """Memberships (n, C)."""
    U = np.empty((len(X), len(C)))
    for chunk in chunks(len(X), len(C)):
        U[chunk] = memberships_of(sq_distances(X[chunk], C), fuzzifier)
    return U
