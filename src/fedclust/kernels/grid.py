"""Fixed point: the grid on which each record's contribution is rounded, once, to whole numbers.

Whole numbers add up to the same sum in any order and any split, and under masks; floating-point
numbers do not. A record adds round(weight x mass) and round(weight x (value - offset) x unit).
"""

import math
from typing import NamedTuple

import numpy as np

from ..typing import FloatArray

# Loops add up to 256 contributions in float64 before they go on in int64: 45 + 8 bits are exact.
MOST_BITS = 45
# Two bits of int64 beside the sign stay free, so that sums that are too large can be told.
SUM_BITS = 61


class Grid(NamedTuple):
    """How values become whole numbers. All factors are powers of two: scaling rounds nothing."""

    bits: int  # no contribution of a record exceeds 2^bits
    mass: float  # steps per unit of weight
    offset: FloatArray  # (F,) the middle of the public bounds
    unit: FloatArray  # (F,) steps per unit of weight times each column's unit
    plain: float  # steps per unit of any other sum over records, of up to a squared distance each
    square: float  # steps per unit of squared distance, of which each client has one


def grid_over(low: FloatArray, high: FloatArray, max_records: int, max_weight: float = 1.0) -> Grid:
    """The finest grid on which so many records within these bounds cannot overflow."""
    bits = min(MOST_BITS, SUM_BITS - math.ceil(math.log2(max_records)))
    heavy = _ceil_log2(max_weight)
    offset = low + (high - low) / 2.0
    reach = np.maximum(high - offset, offset - low)
    exponents = np.array([_ceil_log2(r) for r in reach.tolist()])
    diameter = _ceil_log2(float((4.0 * reach**2).sum()))
    return Grid(
        bits,
        2.0 ** (bits - heavy),
        offset,
        2.0 ** (bits - heavy - exponents),
        2.0 ** (bits - heavy - max(0, diameter)),
        2.0 ** (52 - diameter),
    )


def _ceil_log2(value: float) -> int:
    """The smallest e with value <= 2^e, without the rounding of a logarithm."""
    fraction, exponent = math.frexp(value)
    return exponent - 1 if fraction == 0.5 else exponent
