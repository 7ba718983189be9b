"""Compiled local steps on a grid: every record's contribution is rounded, then summed.

Sums of integers are exact, so the compiler may reorder them. The rounded values must not depend on
the position of a row in its block, so all tiles and chunks are full, including the last.
"""

import numpy as np

from ._fuzzy_loops import _distances_chunk, _distances_tile, _ratios, _weights
from ._hard_loops import _label_chunk, _nearest_tile
from ._tiles import CHUNK, PAD, TILE, exact, exact_inline, fast, load_tile, shift_rows


@exact_inline
def _add_rounded(X, w, start, size, label, dims, mass, offset, unit, count, weight, total):
    for t in range(size):
        j = label[t]
        count[j] += 1
        if len(w) == 0:
            for f in range(len(dims)):
                total[j, f] += np.int64(np.rint((X[start + t, f] - offset[f]) * unit[f]))
        else:
            v = w[start + t]
            weight[j] += np.int64(np.rint(v * mass))
            for f in range(len(dims)):
                total[j, f] += np.int64(np.rint(v * ((X[start + t, f] - offset[f]) * unit[f])))


@exact
def _add_rounded_rows(X, w, start, size, label, mass, offset, unit, count, weight, total):
    """`_add_rounded` for many features."""
    F = total.shape[1]
    for t in range(size):
        j = label[t]
        count[j] += 1
        if len(w) == 0:
            for f in range(F):
                total[j, f] += np.int64(np.rint((X[start + t, f] - offset[f]) * unit[f]))
        else:
            v = w[start + t]
            weight[j] += np.int64(np.rint(v * mass))
            for f in range(F):
                total[j, f] += np.int64(np.rint(v * ((X[start + t, f] - offset[f]) * unit[f])))


@exact
def hard_direct(X, w, C, dims, mass, offset, unit, count, weight, total):
    """Add to each nearest centre's count, weight and weighted sum of rows."""
    xt = np.zeros((len(dims), TILE + PAD), X.dtype)
    best = np.empty(TILE, X.dtype)
    label = np.empty(TILE, np.int32)
    for s in range(0, len(X), TILE):
        size = min(TILE, len(X) - s)
        load_tile(X, s, size, xt, dims)
        _nearest_tile(xt, C, best, label, dims)
        _add_rounded(X, w, s, size, label, dims, mass, offset, unit, count, weight, total)


@exact
def hard_product(X, w, C, Ct, norms, shift, doubt, mass, offset, unit, count, weight, total):
    """`hard_direct` by matrix products; near ties are resolved by differences."""
    k, F = C.shape
    product = np.empty((CHUNK, k), X.dtype)
    buffer = np.empty((CHUNK if len(shift) else 0, F), X.dtype)
    labels = np.empty(CHUNK, np.int32)
    for s in range(0, len(X), CHUNK):
        size = min(CHUNK, len(X) - s)
        rows = shift_rows(X, shift, s, size, buffer)
        _label_chunk(rows, C, Ct, norms, doubt, product, labels)
        _add_rounded_rows(X, w, s, size, labels, mass, offset, unit, count, weight, total)


@fast
def fuzzy_direct(X, w, C, fuzzifier, dims, mass, offset, unit, weight, total):
    """Add each row's rounded u^m, and u^m times the row, to every centre."""
    k = C.shape[0]
    xt = np.zeros((len(dims), TILE + PAD))
    D = np.empty((k, TILE + PAD))
    low, inverse = np.empty(TILE), np.empty(TILE)
    for s in range(0, len(X), TILE):
        size = min(TILE, len(X) - s)
        load_tile(X, s, size, xt, dims)
        _distances_tile(xt, C, D, low, dims)
        _ratios(D, low, TILE, fuzzifier, inverse)
        _weights(D, inverse, w, s, size if len(w) else TILE, fuzzifier)
        for f in range(len(dims)):
            for t in range(TILE):
                xt[f, t] = (xt[f, t] - offset[f]) * unit[f]
        for c in range(k):
            for t in range(size, TILE):
                D[c, t] = 0.0
            a = 0.0
            for t in range(TILE):
                a += np.rint(D[c, t] * mass)
            weight[c] += np.int64(a)
            for f in range(len(dims)):
                a = 0.0
                for t in range(TILE):
                    a += np.rint(D[c, t] * xt[f, t])
                total[c, f] += np.int64(a)


@exact
def _load_chunk(X, s, size, shift, offset, unit, rows, steps):
    """Load a chunk of rows twice: shifted for distances, and in steps of the grid."""
    for t in range(size):
        for f in range(X.shape[1]):
            rows[t, f] = X[s + t, f] - shift[f] if len(shift) else X[s + t, f]
            steps[t, f] = (X[s + t, f] - offset[f]) * unit[f]


@fast
def fuzzy_product(X, w, C, Ct, norms, shift, fuzzifier, mass, offset, unit, weight, total):
    """`fuzzy_direct`, with distances by matrix products."""
    k, F = C.shape
    product, rows, steps = np.empty((CHUNK, k)), np.zeros((CHUNK, F)), np.zeros((CHUNK, F))
    low, inverse, D = np.empty(CHUNK), np.empty(CHUNK), np.empty((k, CHUNK))
    part = np.empty(F)
    for s in range(0, len(X), CHUNK):
        size = min(CHUNK, len(X) - s)
        _load_chunk(X, s, size, shift, offset, unit, rows, steps)
        _distances_chunk(rows, C, Ct, norms, product, D, low)
        _ratios(D, low, CHUNK, fuzzifier, inverse)
        _weights(D, inverse, w, s, size if len(w) else CHUNK, fuzzifier)
        for c in range(k):
            for t in range(size, CHUNK):
                D[c, t] = 0.0
            a = 0.0
            for t in range(CHUNK):
                a += np.rint(D[c, t] * mass)
            weight[c] += np.int64(a)
            part[:] = 0.0
            for t in range(0, size, 4):  # four rows for each pass over the sums
                d0, d1, d2, d3 = D[c, t], D[c, t + 1], D[c, t + 2], D[c, t + 3]
                for f in range(F):
                    part[f] += (
                        np.rint(d0 * steps[t, f])
                        + np.rint(d1 * steps[t + 1, f])
                        + np.rint(d2 * steps[t + 2, f])
                        + np.rint(d3 * steps[t + 3, f])
                    )
            for f in range(F):
                total[c, f] += np.int64(part[f])
