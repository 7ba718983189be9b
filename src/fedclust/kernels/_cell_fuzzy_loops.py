"""Compiled membership sums over observed cells: a missing cell is NaN and adds nothing."""

import numpy as np

from ._cell_loops import _difference, _load_chunk, _load_tile
from ._fuzzy_loops import CANCELLED, _ratios, _weights
from ._tiles import CHUNK, PAD, TILE, exact, exact_inline, fast


@exact_inline
def _distances_tile(xt, mt, C, D, low, dims):
    for t in range(TILE):
        low[t] = np.inf
    for c in range(C.shape[0]):
        for t in range(TILE):
            d = 0.0
            for f in range(len(dims)):
                e = (xt[f, t] - C[c, f]) * mt[f, t]
                d += e * e
            D[c, t] = d
            low[t] = d if d < low[t] else low[t]


@fast
def fuzzy_direct(X, w, C, fuzzifier, dims, weight, total):
    """Add each row's u^m to the observed cells of every centre, and u^m times their values."""
    k = C.shape[0]
    xt, mt = np.zeros((len(dims), TILE + PAD)), np.zeros((len(dims), TILE + PAD))
    D = np.empty((k, TILE + PAD))
    low, inverse = np.empty(TILE), np.empty(TILE)
    for s in range(0, len(X), TILE):
        size = min(TILE, len(X) - s)
        _load_tile(X, s, size, xt, mt, dims)
        _distances_tile(xt, mt, C, D, low, dims)
        _ratios(D, low, TILE, fuzzifier, inverse)
        _weights(D, inverse, w, s, size if len(w) else TILE, fuzzifier)
        for c in range(k):
            for t in range(size, TILE):
                D[c, t] = 0.0
            for f in range(len(dims)):
                a = 0.0
                b = 0.0
                for t in range(TILE):
                    a += D[c, t] * mt[f, t]
                    b += D[c, t] * xt[f, t]
                weight[c, f] += a
                total[c, f] += b


@fast
def rounded_fuzzy_direct(X, w, C, fuzzifier, dims, mass, offset, unit, weight, total):
    """`fuzzy_direct` in integers."""
    k = C.shape[0]
    xt, mt = np.zeros((len(dims), TILE + PAD)), np.zeros((len(dims), TILE + PAD))
    D = np.empty((k, TILE + PAD))
    low, inverse, m = np.empty(TILE), np.empty(TILE), np.empty(TILE)
    for s in range(0, len(X), TILE):
        size = min(TILE, len(X) - s)
        _load_tile(X, s, size, xt, mt, dims)
        _distances_tile(xt, mt, C, D, low, dims)
        _ratios(D, low, TILE, fuzzifier, inverse)
        _weights(D, inverse, w, s, size if len(w) else TILE, fuzzifier)
        for f in range(len(dims)):
            for t in range(TILE):
                xt[f, t] = (xt[f, t] - offset[f]) * unit[f] * mt[f, t]
        for c in range(k):
            for t in range(size, TILE):
                D[c, t] = 0.0
            for t in range(TILE):
                m[t] = np.rint(D[c, t] * mass)
            for f in range(len(dims)):
                a = 0.0
                b = 0.0
                for t in range(TILE):
                    a += m[t] * mt[f, t]
                    b += np.rint(D[c, t] * xt[f, t])
                weight[c, f] += np.int64(a)
                total[c, f] += np.int64(b)


@exact
def _distances_chunk(rows, seen, C, product, around, D, low):
    """Write the squared distances over observed cells into D, from products of the chunk."""
    for t in range(D.shape[1]):
        square = 0.0
        for f in range(rows.shape[1]):
            square += rows[t, f] * rows[t, f]
        low[t] = np.inf
        for c in range(D.shape[0]):
            sum_of_squares = square + around[t, c]
            d = sum_of_squares - 2.0 * product[t, c]
            if d <= CANCELLED * sum_of_squares:
                d = _difference(rows[t], seen[t], C[c])
            D[c, t] = d
            low[t] = d if d < low[t] else low[t]


@fast
def fuzzy_product(X, w, C, Ct, norms, shift, fuzzifier, weight, total):
    """`fuzzy_direct` by four matrix products per chunk."""
    k, F = C.shape
    squares = Ct * Ct
    rows, seen = np.zeros((CHUNK, F)), np.zeros((CHUNK, F))
    product, around = np.empty((CHUNK, k)), np.empty((CHUNK, k))
    low, inverse = np.empty(CHUNK), np.empty(CHUNK)
    part, cells = np.empty((k, F)), np.empty((k, F))
    for s in range(0, len(X), CHUNK):
        size = min(CHUNK, len(X) - s)
        _load_chunk(X, s, size, shift, rows, seen)
        np.dot(rows, Ct, product)
        np.dot(seen, squares, around)
        D = np.empty((k, size))
        _distances_chunk(rows, seen, C, product, around, D, low)
        _ratios(D, low, size, fuzzifier, inverse)
        _weights(D, inverse, w, s, size, fuzzifier)
        np.dot(D, rows[:size], part)
        np.dot(D, seen[:size], cells)
        for c in range(k):
            for f in range(F):
                weight[c, f] += cells[c, f]
                moved = cells[c, f] * shift[f] if len(shift) else 0.0
                total[c, f] += part[c, f] + moved


@fast
def rounded_fuzzy_product(X, w, C, Ct, norms, shift, fuzzifier, mass, offset, unit, weight, total):
    """`fuzzy_product` in integers; only the distances come from matrix products."""
    k, F = C.shape
    squares = Ct * Ct
    rows, seen = np.zeros((CHUNK, F)), np.zeros((CHUNK, F))
    product, around = np.empty((CHUNK, k)), np.empty((CHUNK, k))
    low, inverse, D = np.empty(CHUNK), np.empty(CHUNK), np.empty((k, CHUNK))
    steps, part, cells = np.zeros((CHUNK, F)), np.empty(F), np.empty(F)
    for s in range(0, len(X), CHUNK):
        size = min(CHUNK, len(X) - s)
        _load_chunk(X, s, size, shift, rows, seen)
        np.dot(rows, Ct, product)
        np.dot(seen, squares, around)
        _distances_chunk(rows, seen, C, product, around, D, low)
        _ratios(D, low, CHUNK, fuzzifier, inverse)
        _weights(D, inverse, w, s, size if len(w) else CHUNK, fuzzifier)
        for t in range(size):
            for f in range(F):
                there = seen[t, f] > 0.0
                steps[t, f] = (X[s + t, f] - offset[f]) * unit[f] if there else 0.0
        for c in range(k):
            part[:] = 0.0
            cells[:] = 0.0
            for t in range(size):
                d = D[c, t]
                m = np.rint(d * mass)
                for f in range(F):
                    part[f] += np.rint(d * steps[t, f])
                    cells[f] += m * seen[t, f]
            for f in range(F):
                weight[c, f] += np.int64(cells[f])
                total[c, f] += np.int64(part[f])
