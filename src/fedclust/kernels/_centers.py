"""Centres in the layout of the compiled loops, and of those for a GPU."""

from typing import Any, NamedTuple

import numpy as np

from ..typing import FloatArray
from ._plain import DIRECT_FEATURES

# Rounding may have swapped two scores that differ by less than this share of their size.
DOUBT = {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 1e-5}


class _ShiftedCenters(NamedTuple):
    """Centres in the layout of the matrix-product loops, all moved by `shift`."""

    C: FloatArray
    Ct: FloatArray
    norms: FloatArray
    shift: FloatArray  # empty if nothing was moved


def _shift_centers(C: FloatArray) -> _ShiftedCenters:
    # Far from the origin, |x|^2 - 2xc + |c|^2 loses significant digits. Then move the origin to
    # the mean of the centres; otherwise do not, because the rows have to be copied.
    shift = C.mean(axis=0)
    moved = C - shift
    if np.abs(shift).max() <= 8.0 * np.abs(moved).max():
        moved, shift = C, shift[:0]
    return _ShiftedCenters(moved, np.ascontiguousarray(moved.T), (moved * moved).sum(axis=1), shift)


class PreparedCenters(NamedTuple):
    """Centres prepared once per step, for all its blocks."""

    C: FloatArray
    dims: tuple[int, ...]  # one entry per feature if the loops unroll, else empty
    moved: Any


_last: tuple[FloatArray, PreparedCenters] | None = None


def prepare(centers: FloatArray, dtype: Any) -> PreparedCenters:
    """Centres in the precision of the rows and the layout for their number of features."""
    global _last
    if centers.shape[1] <= DIRECT_FEATURES:
        return PreparedCenters(np.ascontiguousarray(centers, dtype), (0,) * centers.shape[1], None)
    # All clients of a process get the same centres in a round, so the last ones are kept.
    known = _last
    if known is not None and known[1].C.dtype == dtype and np.array_equal(known[0], centers):
        return known[1]
    C = np.array(centers, dtype, order="C")
    ready = PreparedCenters(C, (), _shift_centers(C))
    _last = centers.copy(), ready
    return ready
