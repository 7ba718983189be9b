"""Compiled local Lloyd steps of a client that remembers distances from round to round."""

import numpy as np
from numba import njit

_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}
_FAST = {"contract", "nsz", "reassoc", "arcp"}
_INFLATE, _ROUNDING = 1.0001, 2e-6  # drifts are in single precision, and bounds must stay bounds


@njit(**_OPTIONS, fastmath=_FAST)
def _distance(x, c):
    d = 0.0
    for f in range(len(x)):
        e = np.float64(x[f]) - np.float64(c[f])
        d += e * e
    return np.sqrt(d)


@njit(**_OPTIONS, fastmath=_FAST)
def _replace(old, new):
    """Write new coordinates; an upper bound of the distance between old and new."""
    d = np.float32(0)
    for f in range(len(old)):
        v = np.float32(new[f])
        e = v - old[f]
        d += e * e
        old[f] = v
    return np.sqrt(d) * _INFLATE + _ROUNDING


@njit(**_OPTIONS)
def _mean(total, count, out):
    for f in range(len(out)):
        out[f] = total[f] / count


@njit(**_OPTIONS)
def _bring(X, received, s, origin, version, source, count, total, centers, drift, mean):
    """Bring the centres of step s up to date; whether one of them is another."""
    any_moved = False
    for c in range(len(received)):
        drift[c] = 0.0
        j = origin[c]
        if j < 0:
            drift[c] = _replace(centers[s, c], received[c])
            source[s, c, 0] = -1
            any_moved = True
        elif source[s, c, 0] != j or source[s, c, 1] != version[j, c]:
            _mean(total[j, c], count[j, c], mean)
            drift[c] = _replace(centers[s, c], mean)
            source[s, c, 0], source[s, c, 1] = j, version[j, c]
            any_moved = True
    return any_moved


@njit(**_OPTIONS)
def _move_row(x, a, b, version, count, total):
    """Move a row to another cluster. Sums of pixels are exact, so their order does not matter."""
    if a >= 0:
        count[a] -= 1.0
        version[a] += 1
    count[b] += 1.0
    version[b] += 1
    for f in range(len(x)):
        v = np.float64(x[f])
        total[b, f] += v
        if a >= 0:
            total[a, f] -= v


@njit(**_OPTIONS)
def _look(X, centers, labels, upper, lower, version, count, total):
    """The first assignment of all rows."""
    for i in range(len(X)):
        best, label = np.inf, 0
        for c in range(len(centers)):
            d = _distance(X[i], centers[c])
            lower[i, c] = d
            if d < best:
                best, label = d, c
        labels[i], upper[i] = label, best
        _move_row(X[i], -1, label, version, count, total)


@njit(**_OPTIONS)
def _look_again(X, centers, drift, margin, labels, upper, lower, version, count, total):
    """Assign the rows whose bounds no longer separate their centre from the others."""
    k = len(centers)
    for i in range(len(X)):
        a, tight = labels[i], False
        upper[i] += drift[a]
        closest = np.float32(np.inf)
        for c in range(k):
            lower[i, c] -= drift[c]
            if c != a:
                closest = min(closest, lower[i, c])
        if closest > upper[i] + margin:
            continue
        for c in range(k):
            if c == a or lower[i, c] > upper[i] + margin:
                continue
            if not tight:
                upper[i], tight = _distance(X[i], centers[a]), True
                lower[i, a] = upper[i]
                if lower[i, c] > upper[i] + margin:
                    continue
            d = _distance(X[i], centers[c])
            lower[i, c] = d
            if d < upper[i] or (d == upper[i] and c < a):
                a, upper[i] = c, d
        if a != labels[i]:
            _move_row(X[i], labels[i], a, version, count, total)
            labels[i] = a


@njit(**_OPTIONS)
def train(
    X, received, margin, known, centers, labels, upper, lower,
    source, version, count, total, trained, origin, weighted, tiny,
):  # fmt: skip
    """All local steps; returns how many steps are known by now."""
    steps, k = count.shape
    drift, mean = np.empty(k), np.empty(X.shape[1])
    origin[:] = -1  # the step whose means the centres are; -1: as received
    for s in range(steps):
        moved = _bring(X, received, s, origin, version, source, count, total, centers, drift, mean)
        if s >= known:
            _look(X, centers[s], labels[s], upper[s], lower[s], version[s], count[s], total[s])
            known = s + 1
        elif moved:
            _look_again(
                X, centers[s], drift, margin, labels[s], upper[s], lower[s],
                version[s], count[s], total[s],
            )  # fmt: skip
        for c in range(k):
            if count[s, c] > 0:
                origin[c] = s
        if s and (labels[s] == labels[s - 1]).all():
            break
    for c in range(k):
        j, w = origin[c], count[0, c]
        if w == 0:
            w = tiny
        if j < 0:
            trained[c] = received[c]
            source[steps, c, 0] = -1
        elif source[steps, c, 0] != j or source[steps, c, 1] != version[j, c]:
            _mean(total[j, c], count[j, c], trained[c])
            source[steps, c, 0], source[steps, c, 1] = j, version[j, c]
        elif weighted[c, 0] == w:
            continue
        weighted[c, 0] = w
        for f in range(X.shape[1]):
            weighted[c, f + 1] = w * trained[c, f]
    return known
