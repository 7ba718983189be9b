"""Compiled membership loops: the full matrix, or only its sums."""

import numpy as np

from ._power_loops import raise_to
from ._tiles import (
    CHUNK,
    PAD,
    TILE,
    difference,
    exact,
    exact_inline,
    fast,
    fast_inline,
    load_tile,
    shift_rows,
)

CANCELLED = 1e-6  # below this share of |x|^2 + |c|^2 a difference of squares is unreliable


@fast_inline
def _ratios(D, low, size, fuzzifier, inverse):
    """Squared distances (C, size) to memberships times their sum, in place; `inverse` is 1 / sum.

    Ratios to the nearest centre's distance lie in [0, 1], so no power overflows and a point on
    a centre needs no special case: 0 == 0 gives 1, 0 / d gives 0.
    """
    for t in range(size):
        inverse[t] = 0.0
    for c in range(D.shape[0]):
        if fuzzifier == 2.0:
            for t in range(size):
                a = 1.0 if D[c, t] == low[t] else low[t] / D[c, t]
                D[c, t] = a
                inverse[t] += a
        elif fuzzifier == 1.5:
            for t in range(size):
                a = 1.0 if D[c, t] == low[t] else low[t] / D[c, t]
                a *= a
                D[c, t] = a
                inverse[t] += a
        else:
            for t in range(size):
                D[c, t] = 1.0 if D[c, t] == low[t] else low[t] / D[c, t]
            raise_to(D[c, :size], 1.0 / (fuzzifier - 1.0))
            for t in range(size):
                inverse[t] += D[c, t]
    for t in range(size):
        inverse[t] = 1.0 / inverse[t]


@fast_inline
def _weights(D, inverse, w, start, size, fuzzifier):
    """From `_ratios` to row weight times u^m, in place; no pow where the fuzzifier is 2 or 1.5."""
    for c in range(D.shape[0]):
        if fuzzifier == 2.0:
            for t in range(size):
                u = D[c, t] * inverse[t]
                D[c, t] = u * u
        elif fuzzifier == 1.5:
            for t in range(size):
                u = D[c, t] * inverse[t]
                D[c, t] = u * np.sqrt(u)
        else:
            for t in range(size):
                D[c, t] *= inverse[t]
            raise_to(D[c, :size], fuzzifier)
        if len(w):
            for t in range(size):
                D[c, t] *= w[start + t]


@exact_inline
def _distances_tile(xt, C, D, low, dims):
    for t in range(TILE):
        low[t] = np.inf
    for c in range(C.shape[0]):
        for t in range(TILE):
            d = 0.0
            for f in range(len(dims)):
                e = xt[f, t] - C[c, f]
                d += e * e
            D[c, t] = d
            low[t] = d if d < low[t] else low[t]


@fast
def _square(row):
    total = 0.0
    for f in range(len(row)):
        total += row[f] * row[f]
    return total


@exact
def _distances_chunk(rows, C, Ct, norms, product, D, low):
    """Write |x|^2 - 2xc + |c|^2 into D (C, size), or differences where that cancels."""
    scores = product[: len(rows)]
    np.dot(rows, Ct, scores)
    for t in range(len(rows)):
        square = _square(rows[t])
        low[t] = np.inf
        for c in range(len(norms)):
            sum_of_squares = square + norms[c]
            d = sum_of_squares - 2.0 * scores[t, c]
            if d <= CANCELLED * sum_of_squares:
                d = difference(rows[t], C[c])
            D[c, t] = d
            low[t] = d if d < low[t] else low[t]


@fast
def fuzzy_direct(X, w, C, fuzzifier, dims, weight, total):
    """Add each row's u^m, and u^m times the row, to every centre."""
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
        for c in range(k):
            for t in range(size, TILE):
                D[c, t] = 0.0
            a = 0.0
            for t in range(TILE):
                a += D[c, t]
            weight[c] += a
            for f in range(len(dims)):
                a = 0.0
                for t in range(TILE):
                    a += D[c, t] * xt[f, t]
                total[c, f] += a


@fast
def fuzzy_product(X, w, C, Ct, norms, shift, fuzzifier, weight, total):
    """`fuzzy_direct` by two matrix products per chunk."""
    k, F = C.shape
    product = np.empty((CHUNK, k), X.dtype)
    buffer = np.empty((CHUNK if len(shift) else 0, F), X.dtype)
    low, inverse = np.empty(CHUNK), np.empty(CHUNK)
    part = np.empty((k, F))
    for s in range(0, len(X), CHUNK):
        size = min(CHUNK, len(X) - s)
        rows = shift_rows(X, shift, s, size, buffer)
        D = np.empty((k, size))
        _distances_chunk(rows, C, Ct, norms, product, D, low)
        _ratios(D, low, size, fuzzifier, inverse)
        _weights(D, inverse, w, s, size, fuzzifier)
        for c in range(k):
            a = 0.0
            for t in range(size):
                a += D[c, t]
            weight[c] += a
        np.dot(D, X[s : s + size], part)
        for c in range(k):
            for f in range(F):
                total[c, f] += part[c, f]


@fast
def memberships_direct(X, C, fuzzifier, dims, U):
    """Write each row's memberships (n, C)."""
    xt = np.zeros((len(dims), TILE + PAD))
    D = np.empty((C.shape[0], TILE + PAD))
    low, inverse = np.empty(TILE), np.empty(TILE)
    for s in range(0, len(X), TILE):
        size = min(TILE, len(X) - s)
        load_tile(X, s, size, xt, dims)
        _distances_tile(xt, C, D, low, dims)
        _ratios(D, low, TILE, fuzzifier, inverse)
        for t in range(size):
            for c in range(C.shape[0]):
                U[s + t, c] = D[c, t] * inverse[t]


@fast
def memberships_product(X, C, Ct, norms, shift, fuzzifier, U):
    """`memberships_direct` by matrix products."""
    k, F = C.shape
    product = np.empty((CHUNK, k), X.dtype)
    buffer = np.empty((CHUNK if len(shift) else 0, F), X.dtype)
    low, inverse = np.empty(CHUNK), np.empty(CHUNK)
    D = np.empty((k, CHUNK))
    for s in range(0, len(X), CHUNK):
        size = min(CHUNK, len(X) - s)
        rows = shift_rows(X, shift, s, size, buffer)
        _distances_chunk(rows, C, Ct, norms, product, D, low)
        _ratios(D, low, size, fuzzifier, inverse)
        for t in range(size):
            for c in range(k):
                U[s + t, c] = D[c, t] * inverse[t]
