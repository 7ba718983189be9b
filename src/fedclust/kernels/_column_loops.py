"""Compiled steps over split columns: sums by label, distances, memberships.

Every function takes one block of records and writes into the arrays it receives; `_column_plain.py`
has the same functions in NumPy.
"""

import numpy as np

from ._power_loops import raise_to
from ._tiles import exact, fast


@exact
def labelled_sums(X, labels, mass, total):
    """Count and sum of the rows of each label; rows with a negative label are skipped."""
    for j in range(len(X)):
        c = labels[j]
        if c >= 0:
            mass[c] += 1.0
            for f in range(X.shape[1]):
                total[c, f] += X[j, f]


@fast
def weighted_sums(X, W, mass, total):
    """Sum of each column of weights, and of the rows weighted by it."""
    transposed = np.zeros((X.shape[1], W.shape[1]))
    for j in range(len(X)):
        for c in range(W.shape[1]):
            mass[c] += W[j, c]
        for f in range(X.shape[1]):
            x = X[j, f]
            for c in range(W.shape[1]):
                transposed[f, c] += x * W[j, c]
    total += transposed.T


@exact
def add_sq_distances(X, Vt, out):
    """Add the squared distances of rows to centres; the centres are transposed (F, C)."""
    row = np.empty(Vt.shape[1])
    for j in range(len(X)):
        row[:] = 0.0
        for f in range(X.shape[1]):
            x = X[j, f]
            for c in range(Vt.shape[1]):
                e = x - Vt[f, c]
                row[c] += e * e
        for c in range(Vt.shape[1]):
            out[j, c] += row[c]


@fast
def powered_memberships(D, fuzzifier, power, out):
    """Memberships from squared distances, raised to `power`, by ratios to the nearest centre's."""
    exponent = 1.0 / (fuzzifier - 1.0)
    k = D.shape[1]
    a = np.empty(k)
    for j in range(len(D)):
        low = D[j, 0]
        for c in range(1, k):
            low = min(low, D[j, c])
        for c in range(k):
            a[c] = 1.0 if D[j, c] == low else low / D[j, c]
        if fuzzifier == 1.5:
            for c in range(k):
                a[c] *= a[c]
        elif fuzzifier != 2.0:
            raise_to(a, exponent)
        inverse = 1.0 / a.sum()
        if power == 1.0:
            for c in range(k):
                out[j, c] = a[c] * inverse
        elif power == 2.0:
            for c in range(k):
                u = a[c] * inverse
                out[j, c] = u * u
        elif power == 1.5:
            for c in range(k):
                u = a[c] * inverse
                out[j, c] = u * np.sqrt(u)
        else:
            for c in range(k):
                out[j, c] = a[c] * inverse
            raise_to(out[j], power)


@fast
def distance_change(D, P):
    """Squared Frobenius norms of the change in distances, and of the distances."""
    moved, size = 0.0, 0.0
    for j in range(len(D)):
        for c in range(D.shape[1]):
            e = np.sqrt(D[j, c]) - np.sqrt(P[j, c])
            moved += e * e
            size += D[j, c]
    return moved, size


@exact
def nearest_of(D, labels):
    """Column of the smallest distance of each record; ties go to the lowest index."""
    for j in range(len(D)):
        best, low = 0, D[j, 0]
        for c in range(1, D.shape[1]):
            if D[j, c] < low:
                best, low = c, D[j, c]
        labels[j] = best
