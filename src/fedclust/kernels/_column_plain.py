"""The functions of `_column_loops.py` in NumPy: where numba is not installed, and for the tests."""

import numpy as np

from ..typing import FloatArray, IntArray
from ._plain import memberships_of


def labelled_sums(X: FloatArray, labels: IntArray, mass: FloatArray, total: FloatArray) -> None:
    """Count and sum of the rows of each label; rows with a negative label belong to nobody."""
    there = labels >= 0
    rows, which = X[there], labels[there]
    mass += np.bincount(which, minlength=len(mass))
    for f in range(X.shape[1]):
        total[:, f] += np.bincount(which, rows[:, f], len(mass))


def weighted_sums(X: FloatArray, W: FloatArray, mass: FloatArray, total: FloatArray) -> None:
    """Sum of each column of weights, and of the rows weighted by it."""
    W = W.astype(np.float64, copy=False)
    mass += W.sum(axis=0)
    total += W.T @ X


def add_sq_distances(X: FloatArray, Vt: FloatArray, out: FloatArray) -> None:
    """Add the squared distances of rows to centres; the centres come transposed (F, C)."""
    row = np.zeros(out.shape)
    for f in range(X.shape[1]):
        row += (X[:, f, None] - Vt[f]) ** 2
    out += row


def powered_memberships(D: FloatArray, fuzzifier: float, power: float, out: FloatArray) -> None:
    """Memberships from squared distances, to the power given."""
    out[:] = memberships_of(D, fuzzifier) ** power


def change(D: FloatArray, P: FloatArray) -> tuple[float, float]:
    """Squares of the roots' change, and of the roots."""
    return float(((np.sqrt(D) - np.sqrt(P)) ** 2).sum()), float(D.sum())


def nearest_of(D: FloatArray, labels: IntArray) -> None:
    """Column of the smallest distance of each record, the lowest of equals."""
    labels[:] = D.argmin(axis=1)
