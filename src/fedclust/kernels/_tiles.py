"""What the compiled loops share: tiles of points, and distances that can be trusted.

Two ways to a squared distance, chosen by the caller:

* ``direct``: tiles of 128 points, transposed, so that one instruction serves several points; the
  fastest way for few features, and free of cancellation. The number of features must be known to
  the compiler to unroll the inner loop, so it travels as the *length* of a tuple.
* ``product``: one matrix product per 256 rows, for many features. ``|x|^2 - 2xc + |c|^2`` cancels
  when a point is close to a centre and both are far from the origin, so whatever falls below
  the trusted range is computed again from differences.

Every function releases the GIL and writes into arrays it is given; sums are kept in float64.
"""

import numpy as np
from numba import njit

TILE = 128
PAD = 8  # a row stride that is no power of two, or all rows of a tile share few cache sets
CHUNK = 256


def _can_keep() -> bool:
    """Whether there is a place for machine code: a service's user may have no home."""
    try:
        njit(cache=True)(_can_keep)
    except RuntimeError:
        return False
    return True


_HOW = {"cache": _can_keep(), "nogil": True, "error_model": "numpy"}  # no check before a division
# Sums may be reordered and fused; NaN and infinity keep their meaning.
_FAST = {"contract", "nsz", "reassoc", "arcp"}
# Comparisons decide labels: these must not depend on where in a block a point stands.
_EXACT = {"contract", "nsz"}

fast = njit(**_HOW, fastmath=_FAST)
exact = njit(**_HOW, fastmath=_EXACT)
# Where the compiler must know that the arrays of a tile are different arrays, to vectorise.
fast_inline = njit(**_HOW, fastmath=_FAST, inline="always")
exact_inline = njit(**_HOW, fastmath=_EXACT, inline="always")


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
def shifted(X, shift, start, size, buffer):
    """Rows of the chunk, moved to the centres' midst where the caller asks for it."""
    if len(shift) == 0:
        return X[start : start + size]
    rows = buffer[:size]
    for t in range(size):
        for f in range(X.shape[1]):
            rows[t, f] = X[start + t, f] - shift[f]
    return rows
