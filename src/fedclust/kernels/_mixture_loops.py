"""Compiled sums of a mixture: tiles of rows, transposed, one instruction for several rows.

All tiles are full, including the last, so that a row's contribution does not depend on its place.
"""

import numpy as np

from ._power_loops import _LOW, _exponential, _logarithm
from ._tiles import PAD, TILE, exact, fast


@exact
def _load(X, start, size, xt):
    """The values of a tile; returns whether any is missing."""
    missing = 0
    for f in range(X.shape[1]):
        for t in range(size):
            x = X[start + t, f]
            xt[f, t] = x
            missing += x != x
    return missing > 0


@exact
def _observe(xt, mt):
    """Write ones where there is a value, and zeros where there is none, there also as values."""
    for f in range(xt.shape[0]):
        for t in range(TILE):
            seen = xt[f, t] == xt[f, t]
            mt[f, t] = 1.0 if seen else 0.0
            xt[f, t] = xt[f, t] if seen else 0.0


@exact
def _deviances(xt, base, middle, weight, D):
    F = xt.shape[0]
    rest = F % 4
    for c in range(D.shape[0]):
        if rest == 2:
            m0, m1, h0, h1 = middle[c, 0], middle[c, 1], weight[c, 0], weight[c, 1]
            for t in range(TILE):
                a, b = xt[0, t] - m0, xt[1, t] - m1
                D[c, t] = base[c] + (h0 * (a * a) + h1 * (b * b))
        else:
            for t in range(TILE):
                D[c, t] = base[c]
            for f in range(rest):
                m, h = middle[c, f], weight[c, f]
                for t in range(TILE):
                    e = xt[f, t] - m
                    D[c, t] += h * (e * e)
        for f in range(rest, F, 4):  # four at a time: D is loaded and stored less often
            m0, m1, m2, m3 = middle[c, f], middle[c, f + 1], middle[c, f + 2], middle[c, f + 3]
            h0, h1, h2, h3 = weight[c, f], weight[c, f + 1], weight[c, f + 2], weight[c, f + 3]
            for t in range(TILE):
                a, b = xt[f, t] - m0, xt[f + 1, t] - m1
                d, e = xt[f + 2, t] - m2, xt[f + 3, t] - m3
                D[c, t] += (h0 * (a * a) + h1 * (b * b)) + (h2 * (d * d) + h3 * (e * e))


@exact
def _cell_deviances(xt, mt, base, middle, weight, cost, D):
    for c in range(D.shape[0]):
        for t in range(TILE):
            D[c, t] = base[c]
    for f in range(xt.shape[0]):  # a column of a tile stays in the cache for all clusters
        for c in range(D.shape[0]):
            m, h, g = middle[c, f], weight[c, f], cost[c, f]
            for t in range(TILE):
                e = xt[f, t] - m
                D[c, t] += (h * (e * e) + g) * mt[f, t]


@exact
def _posteriors(D, v, hard, low, total, logs):
    """Deviances to row weight times posterior, in place, and the log-likelihood of each row."""
    k = D.shape[0]
    for t in range(TILE):
        low[t] = np.inf
        total[t] = 0.0
    for c in range(k):
        for t in range(TILE):
            low[t] = D[c, t] if D[c, t] < low[t] else low[t]
    if hard:
        for c in range(k):
            for t in range(TILE):
                first = D[c, t] == low[t] and total[t] == 0.0
                total[t] += 1.0 if first else 0.0
                D[c, t] = v[t] if first else 0.0
        for t in range(TILE):
            logs[t] = 0.0  # distances have no likelihood, and their sum could overflow
        return
    for c in range(k):
        for t in range(TILE):
            y = 0.5 * (low[t] - D[c, t])
            raised = _exponential(y if y > _LOW else _LOW)
            a = raised if y > _LOW else 0.0
            total[t] += a
            D[c, t] = a
    for t in range(TILE):
        logs[t] = (_logarithm(total[t]) - 0.5 * low[t]) * v[t]
        total[t] = v[t] / total[t]
    for c in range(k):
        for t in range(TILE):
            D[c, t] *= total[t]


@fast
def _add(xt, D, middle, mass, cells, moved, square):
    for c in range(D.shape[0]):
        r = 0.0
        for t in range(TILE):
            r += D[c, t]
        mass[c] += r
        for f in range(xt.shape[0]):
            a = 0.0
            b = 0.0
            m = middle[c, f]
            for t in range(TILE):
                e = xt[f, t] - m
                u = D[c, t] * e
                a += u
                b += u * e
            cells[c, f] += r
            moved[c, f] += a
            square[c, f] += b


@fast
def _add_cells(xt, mt, D, middle, mass, cells, moved, square):
    for c in range(D.shape[0]):
        r = 0.0
        for t in range(TILE):
            r += D[c, t]
        mass[c] += r
    for f in range(xt.shape[0]):
        for c in range(D.shape[0]):
            n = 0.0
            a = 0.0
            b = 0.0
            m = middle[c, f]
            for t in range(TILE):
                e = xt[f, t] - m
                s = D[c, t] * mt[f, t]
                u = s * e
                n += s
                a += u
                b += u * e
            cells[c, f] += n
            moved[c, f] += a
            square[c, f] += b


@exact
def _row_weights(w, start, size, v):
    for t in range(TILE):
        v[t] = 0.0 if t >= size else w[start + t] if len(w) else 1.0


@exact
def add_rows(X, w, base, middle, weight, cost, complete, hard, mass, cells, moved, square, loglik):
    """Add the sums of all rows; `complete` is the base where no cell of a tile is missing."""
    k, F = middle.shape
    xt, mt = np.zeros((F, TILE + PAD)), np.zeros((F, TILE + PAD))
    D, logs = np.empty((k, TILE + PAD)), np.empty(TILE)
    low, total, v = np.empty(TILE), np.empty(TILE), np.empty(TILE)
    for s in range(0, len(X), TILE):
        size = min(TILE, len(X) - s)
        missing = _load(X, s, size, xt)
        _row_weights(w, s, size, v)
        if missing:
            _observe(xt, mt)
            _cell_deviances(xt, mt, base, middle, weight, cost, D)
        else:
            _deviances(xt, complete, middle, weight, D)
        _posteriors(D, v, hard, low, total, logs)
        if missing:
            _add_cells(xt, mt, D, middle, mass, cells, moved, square)
        else:
            _add(xt, D, middle, mass, cells, moved, square)
        for t in range(size):
            loglik[0] += logs[t]


@exact
def add_rounded_rows(
    X,
    w,
    base,
    middle,
    weight,
    cost,
    hard,
    unit,
    to_one,
    log_steps,
    mass,
    cells,
    moved,
    square,
    loglik,
):
    """`add_rows` in integers."""
    k, F = middle.shape
    xt, mt = np.zeros((F, TILE + PAD)), np.zeros((F, TILE + PAD))
    D, logs = np.empty((k, TILE + PAD)), np.empty(TILE)
    low, total, v = np.empty(TILE), np.empty(TILE), np.empty(TILE)
    for s in range(0, len(X), TILE):
        size = min(TILE, len(X) - s)
        _load(X, s, size, xt)
        _observe(xt, mt)
        _row_weights(w, s, size, v)
        _cell_deviances(xt, mt, base, middle, weight, cost, D)
        _posteriors(D, v, hard, low, total, logs)
        for c in range(k):
            r = 0.0
            for t in range(TILE):
                D[c, t] *= unit
                r += np.rint(D[c, t])
            mass[c] += np.int64(r)
            for f in range(F):
                n = 0.0
                a = 0.0
                b = 0.0
                for t in range(TILE):
                    e = (xt[f, t] - middle[c, f]) * to_one[f] * mt[f, t]
                    n += np.rint(D[c, t] * mt[f, t])
                    a += np.rint(D[c, t] * e)
                    b += np.rint(D[c, t] * (e * e))
                cells[c, f] += np.int64(n)
                moved[c, f] += np.int64(a)
                square[c, f] += np.int64(b)
        for t in range(size):
            loglik[0] += np.int64(np.rint(logs[t] * log_steps))
