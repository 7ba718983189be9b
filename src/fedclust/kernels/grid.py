"""Fixed-point grid: each record's contribution is rounded once, to integers.

Integers add up to the same sum in any order and any split, and also under masks. Floating-point
numbers do not. A record adds round(weight x mass) and round(weight x (value - offset) x unit).
"""

import math
from typing import NamedTuple

import numpy as np

from ..typing import FloatArray

# Loops add up to 256 contributions in float64 before converting to int64: 45 + 8 bits are exact.
MAX_BITS = 45
# Two bits of int64 besides the sign stay free, so that sums that are too large can be detected.
SUM_BITS = 61


class Grid(NamedTuple):
    """How values become integers. All factors are powers of two, so scaling never rounds."""

    bits: int  # no contribution of a record exceeds 2^bits
    mass: float  # steps per unit of weight
    offset: FloatArray  # (F,) midpoint of the public bounds
    unit: FloatArray  # (F,) steps per unit of weight times each column's unit
    plain: float  # steps per unit of any other sum over records, each at most a squared distance
    square: float  # steps per unit of squared distance, summed once per client


def make_grid(
    low: FloatArray,
    high: FloatArray,
    max_records: int,
    max_weight: float = 1.0,
    *,
    missing: bool = False,
) -> Grid:
    """Return the finest grid on which `max_records` records within the bounds cannot overflow.

    With `missing`, distances over observed cells are multiplied by up to F.
    """
    bits = min(MAX_BITS, SUM_BITS - math.ceil(math.log2(max_records)))
    weight_bits = _ceil_log2(max_weight)
    offset = low + (high - low) / 2.0
    reach = np.maximum(high - offset, offset - low)
    exponents = np.array([_ceil_log2(r) for r in reach.tolist()])
    squares = 4.0 * reach**2
    diameter = _ceil_log2(float(len(squares) * squares.max() if missing else squares.sum()))
    return Grid(
        bits,
        2.0 ** (bits - weight_bits),
        offset,
        2.0 ** (bits - weight_bits - exponents),
        2.0 ** (bits - weight_bits - max(0, diameter)),
        2.0 ** (52 - diameter),
    )


def square_steps(grid: Grid) -> FloatArray:
    """Steps per unit of weight times each column's squared difference of two values."""
    # Two values within the bounds differ by at most twice the reach, whose steps the unit counts.
    steps: FloatArray = grid.unit**2 / (4.0 * grid.mass)
    return steps


def _ceil_log2(value: float) -> int:
    """Smallest e with value <= 2^e, free of the rounding error of a logarithm."""
    fraction, exponent = math.frexp(value)
    return exponent - 1 if fraction == 0.5 else exponent
