"""Compiled local steps over observed cells: a missing cell is NaN and adds nothing.

The factor F / observed of a row is the same for all centres, so neither labels nor memberships
depend on it. The loops leave it out.
"""

import numpy as np

from ._hard_loops import _best_two
from ._tiles import CHUNK, PAD, TILE, exact, exact_inline


@exact
def is_complete(X, complete):
    """Write which rows have no missing cell."""
    for i in range(X.shape[0]):
        observed = 0
        for f in range(X.shape[1]):
            observed += X[i, f] == X[i, f]
        complete[i] = observed == X.shape[1]


@exact_inline
def _load_tile(X, start, size, xt, mt, dims):
    """A transposed tile of values, zero where one is missing, and of ones where it is not."""
    for t in range(size):
        for f in range(len(dims)):
            x = X[start + t, f]
            seen = x == x
            xt[f, t] = x if seen else 0.0
            mt[f, t] = 1.0 if seen else 0.0


@exact_inline
def _nearest_tile(xt, mt, C, best, label, dims):
    """Nearest centre over the observed cells; the lowest index wins a tie."""
    k, zero = C.shape[0], xt.dtype.type(0)
    for t in range(TILE):
        best[t] = np.inf
        label[t] = 0
    for c in range(0, k - 1, 2):
        for t in range(TILE):
            d0 = zero
            d1 = zero
            for f in range(len(dims)):
                x = xt[f, t]
                m = mt[f, t]
                e0 = (x - C[c, f]) * m
                d0 += e0 * e0
                e1 = (x - C[c + 1, f]) * m
                d1 += e1 * e1
            low = d0 < best[t]
            b = d0 if low else best[t]
            j = c if low else label[t]
            low = d1 < b
            best[t] = d1 if low else b
            label[t] = c + 1 if low else j
    if k % 2:
        c = k - 1
        for t in range(TILE):
            d0 = zero
            for f in range(len(dims)):
                e0 = (xt[f, t] - C[c, f]) * mt[f, t]
                d0 += e0 * e0
            low = d0 < best[t]
            best[t] = d0 if low else best[t]
            label[t] = c if low else label[t]


@exact_inline
def _add_tile(X, w, start, size, label, dims, records, weight, total):
    """Add every observed cell to those of its cluster, for few features, unrolled."""
    if len(w) == 0:
        for t in range(size):
            j = label[t]
            for f in range(len(dims)):
                x = X[start + t, f]
                seen = x == x
                records[j, f] += 1.0 if seen else 0.0
                total[j, f] += x if seen else 0.0
    else:
        for t in range(size):
            j = label[t]
            v = w[start + t]
            for f in range(len(dims)):
                x = X[start + t, f]
                seen = x == x
                records[j, f] += 1.0 if seen else 0.0
                weight[j, f] += v if seen else 0.0
                total[j, f] += v * x if seen else 0.0


@exact
def hard_direct(X, w, C, dims, records, weight, total):
    """Add the observed cells of the rows nearest to each centre, for few features."""
    xt = np.zeros((len(dims), TILE + PAD), X.dtype)
    mt = np.zeros((len(dims), TILE + PAD), X.dtype)
    best = np.empty(TILE, X.dtype)
    label = np.empty(TILE, np.int32)
    for s in range(0, len(X), TILE):
        size = min(TILE, len(X) - s)
        _load_tile(X, s, size, xt, mt, dims)
        _nearest_tile(xt, mt, C, best, label, dims)
        _add_tile(X, w, s, size, label, dims, records, weight, total)


@exact_inline
def _add_rounded_tile(X, w, start, size, label, dims, mass, offset, unit, records, weight, total):
    for t in range(size):
        j = label[t]
        v = w[start + t] if len(w) else 1.0
        m = np.int64(np.rint(v * mass))
        for f in range(len(dims)):
            x = X[start + t, f]
            seen = x == x
            step = v * ((x - offset[f]) * unit[f]) if seen else 0.0
            records[j, f] += 1 if seen else 0
            weight[j, f] += m if seen else 0
            total[j, f] += np.int64(np.rint(step))


@exact
def rounded_hard_direct(X, w, C, dims, mass, offset, unit, records, weight, total):
    """`hard_direct` in integers."""
    xt = np.zeros((len(dims), TILE + PAD), X.dtype)
    mt = np.zeros((len(dims), TILE + PAD), X.dtype)
    best = np.empty(TILE, X.dtype)
    label = np.empty(TILE, np.int32)
    for s in range(0, len(X), TILE):
        size = min(TILE, len(X) - s)
        _load_tile(X, s, size, xt, mt, dims)
        _nearest_tile(xt, mt, C, best, label, dims)
        _add_rounded_tile(X, w, s, size, label, dims, mass, offset, unit, records, weight, total)


@exact
def _difference(x, seen, c):
    d = 0.0
    for f in range(len(x)):
        e = (np.float64(x[f]) - np.float64(c[f])) * seen[f]
        d += e * e
    return d


@exact
def _nearest_by_differences(x, seen, C):
    best, label = np.inf, 0
    for c in range(C.shape[0]):
        d = _difference(x, seen, C[c])
        if d < best:
            best, label = d, c
    return label


@exact
def _load_chunk(X, s, size, shift, rows, seen):
    """A chunk of shifted values, zero where one is missing, and of ones where it is not."""
    for t in range(size):
        for f in range(X.shape[1]):
            x = X[s + t, f]
            moved = x - shift[f] if len(shift) else x
            there = x == x
            rows[t, f] = moved if there else 0.0
            seen[t, f] = 1.0 if there else 0.0


@exact
def _label_chunk(rows, seen, size, C, Ct, squares, norms, doubt, product, around, labels):
    """Nearest centres by two matrix products; near ties are resolved by differences."""
    k = len(norms)
    tile = np.zeros((k, TILE + PAD), rows.dtype)
    nothing = np.zeros(k, rows.dtype)
    best, second = np.empty(TILE, rows.dtype), np.empty(TILE, rows.dtype)
    label = np.empty(TILE, np.int32)
    half, ceiling = rows.dtype.type(0.5), norms.max()
    np.dot(rows, Ct, product)
    np.dot(seen, squares, around)
    for first in range(0, size, TILE):
        n = min(TILE, size - first)
        for t in range(n):
            for c in range(k):  # minus a half of |c|^2 - 2xc over the observed cells
                tile[c, t] = product[first + t, c] - half * around[first + t, c]
        _best_two(tile, nothing, best, second, label)
        for t in range(n):
            i = first + t
            labels[i] = label[t]
            if second[t] - best[t] <= doubt * (abs(best[t]) + ceiling):
                labels[i] = _nearest_by_differences(rows[i], seen[i], C)


@exact
def _add_by_cluster(X, w, start, size, label, order, ends, records, weight, total):
    """Add observed cells by cluster, which keeps one long row of sums in the fastest cache."""
    k, F = total.shape
    ends[:] = 0
    for t in range(size):
        ends[label[t]] += 1
    for c in range(1, k):
        ends[c] += ends[c - 1]
    for t in range(size - 1, -1, -1):
        ends[label[t]] -= 1
        order[ends[label[t]]] = start + t
    for c in range(k):
        i, last = ends[c], ends[c + 1] if c + 1 < k else size
        while i < last:
            a = order[i]
            b = order[i + 1] if i + 1 < last else -1  # two rows at a time
            if len(w) == 0 and b >= 0:
                for f in range(F):
                    x, y = X[a, f], X[b, f]
                    p, q = x == x, y == y
                    records[c, f] += (1.0 if p else 0.0) + (1.0 if q else 0.0)
                    total[c, f] += np.float64(x if p else 0.0) + np.float64(y if q else 0.0)
                i += 2
                continue
            v = w[a] if len(w) else 1.0
            for f in range(F):
                x = X[a, f]
                p = x == x
                records[c, f] += 1.0 if p else 0.0
                weight[c, f] += v if p else 0.0
                total[c, f] += v * x if p else 0.0
            i += 1


@exact
def hard_product(X, w, C, Ct, norms, shift, doubt, records, weight, total):
    """`hard_direct` by matrix products; C, Ct and norms are already shifted."""
    k, F = C.shape
    squares = Ct * Ct
    rows, seen = np.zeros((CHUNK, F), X.dtype), np.zeros((CHUNK, F), X.dtype)
    product, around = np.empty((CHUNK, k), X.dtype), np.empty((CHUNK, k), X.dtype)
    labels = np.empty(CHUNK, np.int32)
    order, ends = np.empty(CHUNK, np.int64), np.empty(k, np.int64)
    for s in range(0, len(X), CHUNK):
        size = min(CHUNK, len(X) - s)
        _load_chunk(X, s, size, shift, rows, seen)
        _label_chunk(rows, seen, size, C, Ct, squares, norms, doubt, product, around, labels)
        _add_by_cluster(X, w, s, size, labels, order, ends, records, weight, total)


@exact
def _add_rounded(X, w, start, size, labels, mass, offset, unit, records, weight, total):
    for t in range(size):
        j = labels[t]
        v = w[start + t] if len(w) else 1.0
        m = np.int64(np.rint(v * mass))
        for f in range(X.shape[1]):
            x = X[start + t, f]
            seen = x == x
            step = v * ((x - offset[f]) * unit[f]) if seen else 0.0
            records[j, f] += 1 if seen else 0
            weight[j, f] += m if seen else 0
            total[j, f] += np.int64(np.rint(step))


@exact
def rounded_hard_product(
    X, w, C, Ct, norms, shift, doubt, mass, offset, unit, records, weight, total
):
    """`hard_product` in integers."""
    k, F = C.shape
    squares = Ct * Ct
    rows, seen = np.zeros((CHUNK, F), X.dtype), np.zeros((CHUNK, F), X.dtype)
    product, around = np.empty((CHUNK, k), X.dtype), np.empty((CHUNK, k), X.dtype)
    labels = np.empty(CHUNK, np.int32)
    for s in range(0, len(X), CHUNK):
        size = min(CHUNK, len(X) - s)
        _load_chunk(X, s, size, shift, rows, seen)
        _label_chunk(rows, seen, size, C, Ct, squares, norms, doubt, product, around, labels)
        _add_rounded(X, w, s, size, labels, mass, offset, unit, records, weight, total)
