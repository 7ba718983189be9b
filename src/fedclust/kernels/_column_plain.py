"""The functions of `_column_loops.py` in NumPy, used without numba and as a test reference."""

import numpy as np

from ..typing import FloatArray, IntArray
from ._plain import memberships_of


def labelled_sums(X: FloatArray, labels: IntArray, mass: FloatArray, total: FloatArray) -> None:
    """Count and sum of the rows of each label; rows with a negative label are skipped."""
    labelled = labels >= 0
    rows, clusters = X[labelled], labels[labelled]
    mass += np.bincount(clusters, minlength=len(mass))
    for f in range(X.shape[1]):
        total[:, f] += np.bincount(clusters, rows[:, f], len(mass))


def weighted_sums(X: FloatArray, W: FloatArray, mass: FloatArray, total: FloatArray) -> None:
    """Sum of each column of weights, and of the rows weighted by it."""
    W = W.astype(np.float64, copy=False)
    mass += W.sum(axis=0)
    total += W.T @ X


def add_sq_distances(X: FloatArray, Vt: FloatArray, out: FloatArray) -> None:
    """Add the squared distances of rows to centres; the centres are transposed (F, C)."""
    row = np.zeros(out.shape)
    for f in range(X.shape[1]):
        row += (X[:, f, None] - Vt[f]) ** 2
    out += row


def powered_memberships(D: FloatArray, fuzzifier: float, power: float, out: FloatArray) -> None:
    """Memberships from squared distances, raised to `power`."""
    out[:] = memberships_of(D, fuzzifier) ** power


def distance_change(D: FloatArray, P: FloatArray) -> tuple[float, float]:
    """Squared Frobenius norms of the change in distances, and of the distances."""
    return float(((np.sqrt(D) - np.sqrt(P)) ** 2).sum()), float(D.sum())


def nearest_of(D: FloatArray, labels: IntArray) -> None:
    """Column of the smallest distance of each record; ties go to the lowest index."""
    labels[:] = D.argmin(axis=1)
