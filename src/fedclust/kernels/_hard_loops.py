"""Compiled assignment of rows to their nearest centres: labels, counts and sums."""

import numpy as np

from ._tiles import CHUNK, PAD, TILE, difference, exact, exact_inline, load_tile, shift_rows


@exact_inline
def _nearest_tile(xt, C, best, label, dims):
    """Nearest centre; the lowest index wins a tie. Two centres share each loaded coordinate."""
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
                e0 = x - C[c, f]
                d0 += e0 * e0
                e1 = x - C[c + 1, f]
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
                e0 = xt[f, t] - C[c, f]
                d0 += e0 * e0
            low = d0 < best[t]
            best[t] = d0 if low else best[t]
            label[t] = c if low else label[t]


@exact_inline
def _add_rows(X, w, start, size, label, dims, count, weight, total):
    """Add each row to its cluster, for few features, unrolled."""
    if len(w) == 0:
        for t in range(size):
            j = label[t]
            count[j] += 1.0
            for f in range(len(dims)):
                total[j, f] += X[start + t, f]
    else:
        for t in range(size):
            j = label[t]
            v = w[start + t]
            count[j] += 1.0
            weight[j] += v
            for f in range(len(dims)):
                total[j, f] += v * X[start + t, f]


@exact
def _add_rows_by_cluster(X, w, start, size, label, order, ends, count, weight, total):
    """Add each row to its cluster, for many features, by cluster and two rows at a time.

    This keeps one long row of sums in the fastest cache until it is complete.
    """
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
        first, last = ends[c], ends[c + 1] if c + 1 < k else size
        count[c] += last - first
        i = first
        if len(w) == 0:
            while i + 1 < last:
                a, b = order[i], order[i + 1]
                for f in range(F):
                    total[c, f] += np.float64(X[a, f]) + np.float64(X[b, f])
                i += 2
            if i < last:
                a = order[i]
                for f in range(F):
                    total[c, f] += X[a, f]
        else:
            while i < last:
                a = order[i]
                v = w[a]
                weight[c] += v
                for f in range(F):
                    total[c, f] += v * X[a, f]
                i += 1


@exact
def hard_direct(X, w, C, dims, count, weight, total):
    """Add to each nearest centre's count, weight and weighted sum of rows."""
    xt = np.zeros((len(dims), TILE + PAD), X.dtype)
    best = np.empty(TILE, X.dtype)
    label = np.empty(TILE, np.int32)
    for s in range(0, len(X), TILE):
        size = min(TILE, len(X) - s)
        load_tile(X, s, size, xt, dims)
        _nearest_tile(xt, C, best, label, dims)
        _add_rows(X, w, s, size, label, dims, count, weight, total)


@exact
def nearest_direct(X, C, dims, labels, d2):
    """Write each row's nearest centre and its squared distance."""
    xt = np.zeros((len(dims), TILE + PAD), X.dtype)
    best = np.empty(TILE, X.dtype)
    label = np.empty(TILE, np.int32)
    for s in range(0, len(X), TILE):
        size = min(TILE, len(X) - s)
        load_tile(X, s, size, xt, dims)
        _nearest_tile(xt, C, best, label, dims)
        for t in range(size):
            labels[s + t] = label[t]
            d2[s + t] = best[t]


@exact
def _nearest_by_differences(x, C):
    best, label = difference(x, C[0]), 0
    for c in range(1, C.shape[0]):
        d = difference(x, C[c])
        if d < best:
            best, label = d, c
    return label


@exact
def _best_two(tile, norms, best, second, label):
    """Lowest and second lowest |c|^2 - 2xc of each point of a transposed tile of products xc."""
    two = tile.dtype.type(2)
    for t in range(TILE):
        best[t] = np.inf
        second[t] = np.inf
        label[t] = 0
    for c in range(len(norms)):
        norm = norms[c]
        for t in range(TILE):
            v = norm - two * tile[c, t]
            low = v < best[t]
            other = best[t] if low else v
            second[t] = other if other < second[t] else second[t]
            best[t] = v if low else best[t]
            label[t] = c if low else label[t]


@exact
def _label_chunk(rows, C, Ct, norms, doubt, product, labels):
    """Labels by products; near ties between the two best are resolved by differences."""
    size, k = len(rows), len(norms)
    scores = product[:size]
    np.dot(rows, Ct, scores)
    tile = np.zeros((k, TILE + PAD), rows.dtype)
    best = np.empty(TILE, rows.dtype)
    second = np.empty(TILE, rows.dtype)
    label = np.empty(TILE, np.int32)
    ceiling = norms.max()
    for s in range(0, size, TILE):
        n = min(TILE, size - s)
        for t in range(n):
            for c in range(k):
                tile[c, t] = scores[s + t, c]
        _best_two(tile, norms, best, second, label)
        for t in range(n):
            labels[s + t] = label[t]
            if second[t] - best[t] <= doubt * (abs(best[t]) + ceiling):
                labels[s + t] = _nearest_by_differences(rows[s + t], C)


@exact
def hard_product(X, w, C, Ct, norms, shift, doubt, count, weight, total):
    """`hard_direct` by matrix products; C, Ct and norms are already shifted."""
    k, F = C.shape
    product = np.empty((CHUNK, k), X.dtype)
    buffer = np.empty((CHUNK if len(shift) else 0, F), X.dtype)
    labels = np.empty(CHUNK, np.int32)
    order, ends = np.empty(CHUNK, np.int64), np.empty(k, np.int64)
    for s in range(0, len(X), CHUNK):
        size = min(CHUNK, len(X) - s)
        rows = shift_rows(X, shift, s, size, buffer)
        _label_chunk(rows, C, Ct, norms, doubt, product, labels)
        _add_rows_by_cluster(X, w, s, size, labels, order, ends, count, weight, total)


@exact
def nearest_product(X, C, Ct, norms, shift, doubt, labels, d2):
    """`nearest_direct` by matrix products."""
    product = np.empty((CHUNK, C.shape[0]), X.dtype)
    buffer = np.empty((CHUNK if len(shift) else 0, C.shape[1]), X.dtype)
    for s in range(0, len(X), CHUNK):
        size = min(CHUNK, len(X) - s)
        rows = shift_rows(X, shift, s, size, buffer)
        _label_chunk(rows, C, Ct, norms, doubt, product, labels[s : s + size])
        for t in range(size):
            d2[s + t] = difference(rows[t], C[labels[s + t]])
