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


@fast
def _squares(rows, square):
    for t in range(rows.shape[0]):
        total = 0.0
        for f in range(rows.shape[1]):
            total += rows[t, f] * rows[t, f]
        square[t] = total


@exact
def _distances_chunk(both, C, product, norms, square, D, low):
    """Write the squared distances over observed cells into D, from products of the chunk.

    The product is that of values and ones with -2c and c^2. It is doubted by the norm of the whole
    centre, which is at least that over observed cells.
    """
    F = C.shape[1]
    for t in range(D.shape[1]):
        low[t] = np.inf
        for c in range(D.shape[0]):
            d = square[t] + product[t, c]
            if d <= CANCELLED * (square[t] + norms[c]):
                d = _difference(both[t, :F], both[t, F:], C[c])
            D[c, t] = d
            low[t] = d if d < low[t] else low[t]


@exact
def _prepare_product(Ct):
    """What values and ones are multiplied with."""
    F, k = Ct.shape
    factors = np.empty((2 * F, k))
    for f in range(F):
        for c in range(k):
            factors[f, c] = -2.0 * Ct[f, c]
            factors[F + f, c] = Ct[f, c] * Ct[f, c]
    return factors


@fast
def fuzzy_product(X, w, C, Ct, norms, shift, fuzzifier, weight, total):
    """`fuzzy_direct` by two matrix products per chunk, over values and ones side by side."""
    k, F = C.shape
    factors = _prepare_product(Ct)
    both = np.zeros((CHUNK, 2 * F))
    rows, seen = both[:, :F], both[:, F:]
    product, square = np.empty((CHUNK, k)), np.empty(CHUNK)
    low, inverse = np.empty(CHUNK), np.empty(CHUNK)
    sums = np.empty((k, 2 * F))
    for s in range(0, len(X), CHUNK):
        size = min(CHUNK, len(X) - s)
        _load_chunk(X, s, size, shift, rows, seen)
        np.dot(both, factors, product)
        _squares(rows, square)
        D = np.empty((k, size))
        _distances_chunk(both, C, product, norms, square, D, low)
        _ratios(D, low, size, fuzzifier, inverse)
        _weights(D, inverse, w, s, size, fuzzifier)
        np.dot(D, both[:size], sums)
        for c in range(k):
            for f in range(F):
                cells = sums[c, F + f]
                weight[c, f] += cells
                moved = cells * shift[f] if len(shift) else 0.0
                total[c, f] += sums[c, f] + moved


@fast
def rounded_fuzzy_product(X, w, C, Ct, norms, shift, fuzzifier, mass, offset, unit, weight, total):
    """`fuzzy_product` in integers; only the distances come from matrix products."""
    k, F = C.shape
    factors = _prepare_product(Ct)
    both = np.zeros((CHUNK, 2 * F))
    rows, seen = both[:, :F], both[:, F:]
    product, square = np.empty((CHUNK, k)), np.empty(CHUNK)
    low, inverse, D = np.empty(CHUNK), np.empty(CHUNK), np.empty((k, CHUNK))
    steps, part, cells = np.zeros((CHUNK, F)), np.empty(F), np.empty(F)
    for s in range(0, len(X), CHUNK):
        size = min(CHUNK, len(X) - s)
        _load_chunk(X, s, size, shift, rows, seen)
        np.dot(both, factors, product)
        _squares(rows, square)
        _distances_chunk(both, C, product, norms, square, D, low)
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


@exact
def _distances_of_tile(xt, mt, C, D, low):
    """`_distances_tile` for any number of columns, a few of which at a time stay in the cache."""
    F, k = xt.shape[0], C.shape[0]
    D[:] = 0.0
    for f in range(0, F - F % 4, 4):  # four at a time: D is loaded and stored less often
        for c in range(k):
            m0, m1, m2, m3 = C[c, f], C[c, f + 1], C[c, f + 2], C[c, f + 3]
            for t in range(TILE):
                a, b = (xt[f, t] - m0) * mt[f, t], (xt[f + 1, t] - m1) * mt[f + 1, t]
                d, e = (xt[f + 2, t] - m2) * mt[f + 2, t], (xt[f + 3, t] - m3) * mt[f + 3, t]
                D[c, t] += (a * a + b * b) + (d * d + e * e)
    for f in range(F - F % 4, F):
        for c in range(k):
            m = C[c, f]
            for t in range(TILE):
                e = (xt[f, t] - m) * mt[f, t]
                D[c, t] += e * e
    low[:] = np.inf
    for c in range(k):
        for t in range(TILE):
            low[t] = D[c, t] if D[c, t] < low[t] else low[t]


@exact
def _load_columns(X, s, size, xt, mt):
    """`_load_tile` for any number of columns."""
    for f in range(X.shape[1]):
        for t in range(size):
            x = X[s + t, f]
            there = x == x
            xt[f, t] = x if there else 0.0
            mt[f, t] = 1.0 if there else 0.0


@fast
def _add_tile(xt, mt, D, weight, total):
    for f in range(xt.shape[0]):
        for c in range(D.shape[0]):
            a = 0.0
            b = 0.0
            for t in range(TILE):
                a += D[c, t] * mt[f, t]
                b += D[c, t] * xt[f, t]
            weight[c, f] += a
            total[c, f] += b


@fast
def fuzzy_tiles(X, w, C, fuzzifier, weight, total):
    """`fuzzy_direct` for more columns, as long as a tile of them fits into a cache."""
    k, F = C.shape
    xt, mt = np.zeros((F, TILE + PAD)), np.zeros((F, TILE + PAD))
    D = np.empty((k, TILE + PAD))
    low, inverse = np.empty(TILE), np.empty(TILE)
    for s in range(0, len(X), TILE):
        size = min(TILE, len(X) - s)
        _load_columns(X, s, size, xt, mt)
        _distances_of_tile(xt, mt, C, D, low)
        _ratios(D, low, TILE, fuzzifier, inverse)
        _weights(D, inverse, w, s, size if len(w) else TILE, fuzzifier)
        for c in range(k):
            for t in range(size, TILE):
                D[c, t] = 0.0
        _add_tile(xt, mt, D, weight, total)
