"""Ranges of columns from counts in bins: public edges, and ends that hide single extremes.

A range ends where at least `tail` values lie in the block of bins before its end, and none beyond;
or else where at least `tail` values lie beyond. So neither an end nor the sums of clipped values
depend on fewer values than that.
"""

from typing import NamedTuple

import numpy as np

from ..typing import FloatArray

TAIL = 5  # values, at least, by which an end is found
_SMALLEST, _LARGEST = -50, 62  # powers of two between which the first bins lie
WIDEST = 2.0**_LARGEST
_ZERO = 0.25  # of the far end: a near end that is closer to zero becomes zero
_BLOCKS = (1, 2, 4, 8, 16, 32)  # bins before an end
_FINEST = 2.0**-28  # width of a bin, as a share of the largest edge


class End(NamedTuple):
    """Where a range ends."""

    edge: int  # its index
    beyond: float  # values that are clipped


def log_edges() -> FloatArray:
    """Powers of two with both signs, ascending: the bins of the first round."""
    positive = np.exp2(np.arange(_SMALLEST, _LARGEST + 1, dtype=float))
    return np.concatenate([-positive[::-1], positive])


def linear_edges(low: float, high: float, bins: int) -> FloatArray:
    """At least that many equal bins that cover a range; edges are multiples of a power of two."""
    largest = max(abs(low), abs(high))
    width = max((high - low) / bins, _FINEST * largest, np.exp2(_SMALLEST))
    step = float(np.exp2(np.ceil(np.log2(width))))
    edges: FloatArray = (np.floor(low / step) + np.arange(bins + 2)) * step
    return edges


def find_coarse_range(counts: FloatArray, least: float = 0.0) -> tuple[float, float] | None:
    """The range of the bins of `log_edges` that hold all but a few values; None for too few.

    Bins of counts up to `least`, which noise may have made, count as empty.
    """
    held = np.where(counts > least, counts, 0.0)
    if held.sum() < 2 * TAIL:
        return None
    first = int(np.argmax(np.cumsum(held) >= TAIL))
    last = len(held) - 1 - int(np.argmax(np.cumsum(held[::-1]) >= TAIL))
    first -= bool(first > 0 and held[first - 1] > 0)  # the values are few, but not far away
    last += bool(last + 1 < len(held) and held[last + 1] > 0)
    edges = np.concatenate([[-WIDEST * 2], log_edges(), [WIDEST * 2]])
    low, high = float(edges[first]), float(edges[last + 1])
    if 0 < low <= _ZERO * high:
        low = 0.0
    if 0 > high >= _ZERO * low:
        high = 0.0
    return low, high


def find_end(counts: FloatArray, tail: int = TAIL, least: float = 0.0) -> End | None:
    """The upper end of a range by counts in bins, the last of which is open; None for too few.

    Counts up to `least`, which noise may have made, are taken for zero.
    """
    held = np.where(counts > least, counts, 0.0)
    inner, beyond = held[:-1], float(held[-1])
    if beyond == 0 and inner.any():
        last = int(np.flatnonzero(inner)[-1])
        for size in _BLOCKS:
            half = max(1, size // 2)
            for start in range(max(0, last - size + 1), last + 1):
                if start % half == 0 and inner[start : start + size].sum() >= tail:
                    return End(min(start + size, len(inner)), 0.0)
    return _clip_tail(inner, beyond, tail)


def _clip_tail(inner: FloatArray, beyond: float, tail: int) -> End | None:
    """Go inwards by groups of at least `TAIL` values, until so many lie beyond.

    Ends for different tails then differ by no group of fewer values.
    """
    group, edge = beyond, len(inner)
    beyond = 0.0
    while True:
        if group >= TAIL:
            beyond, group = beyond + group, 0.0
            if beyond >= tail:
                return End(edge, beyond) if edge > 0 else None
        if edge == 0:
            return None
        edge -= 1
        group += float(inner[edge])
