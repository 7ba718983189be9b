"""Shared parts of the compiled loops: tiles of points, and accurate distances.

Squared distances are computed in one of two ways, chosen by the caller:

* ``direct``: tiles of 128 points, transposed, so that one instruction handles several points.
  This is fastest for few features and free of cancellation. The compiler must know the number of
  features to unroll the inner loop, so it is passed as the *length* of a tuple.
* ``product``: one matrix product per 256 rows, for many features. ``|x|^2 - 2xc + |c|^2`` cancels
  when a point is close to a centre and both are far from the origin, so any value below
  the reliable range is computed again from differences.

Every function releases the GIL and writes into the arrays it receives; sums are kept in float64.
"""

import numpy as np
from numba import njit

TILE = 128
PAD = 8  # row stride must not be a power of two, or all rows of a tile share a few cache sets
CHUNK = 256


def _can_cache() -> bool:
    """Whether numba can cache machine code: a service account may have no writable folder."""
    try:
        njit(cache=True)(_can_cache)
    except RuntimeError:
        return False
    return True


# The error model of NumPy omits the check for zero before each division.
_OPTIONS = {"cache": _can_cache(), "nogil": True, "error_model": "numpy"}
# Sums may be reordered and fused. NaN and infinity are handled correctly.
_FAST = {"contract", "nsz", "reassoc", "arcp"}
# Comparisons decide labels, which must not depend on the position of a point in its block.
_EXACT = {"contract", "nsz"}

fast = njit(**_OPTIONS, fastmath=_FAST)
exact = njit(**_OPTIONS, fastmath=_EXACT)
# To vectorise, the compiler must know that the arrays of a tile do not overlap.
fast_inline = njit(**_OPTIONS, fastmath=_FAST, inline="always")
exact_inline = njit(**_OPTIONS, fastmath=_EXACT, inline="always")


@exact_inline
def load_tile(X, start, size, xt, dims):
    for t in range(size):
        for f in range(len(dims)):
            xt[f, t] = X[start + t, f]


@exact
def difference(x, v):
    d = 0.0
    for f in range(len(x)):
        e = np.float64(x[f]) - np.float64(v[f])
        d += e * e
    return d


@exact
def shift_rows(X, shift, start, size, buffer):
    """Rows of the chunk, minus `shift` unless it is empty."""
    if len(shift) == 0:
        return X[start : start + size]
    rows = buffer[:size]
    for t in range(size):
        for f in range(X.shape[1]):
            rows[t, f] = X[start + t, f] - shift[f]
    return rows
