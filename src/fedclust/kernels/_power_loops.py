"""Powers of numbers from 0 to 1, written so that the compiler vectorises them.

The library's logarithm and exponential handle one number per call. Here both are polynomials over
plain arithmetic and bits, without branches, so that one instruction handles several numbers.
Results above 1e-10 have a relative error below 1e-14, and smaller ones an absolute one below 1e-23.
"""

import numpy as np

from ._tiles import exact, exact_inline

_ONE = 0x3FF0000000000000  # the bits of 1.0
_SQRT_HALF = 0x3FE6A09E667F3BCD  # the bits of sqrt(1/2), where the range of the mantissa begins
_INTEGER = 0x4330000000000000  # the bits of 2^52; combined with those of an integer i: 2^52 + i
_ROUND = 1.5 * 2.0**52  # added to a number, it leaves the nearest integer in the last bits
_TINY = 2.0**-1022  # smaller numbers have other bits, and count as zero
_LOW = -700.0  # the exponential of a smaller number counts as zero
_PER_LOG_2 = 1.4426950408889634  # 1 / log(2)
# log(2) in two parts. The first has so few bits that its products with exponents are not rounded.
_LOG_2 = 0.6931471804855391
_LOG_2_REST = 7.440617110012397e-11


@exact_inline
def _logarithm(x):
    """The logarithm of a number that is not tiny."""
    bits = np.float64(x).view(np.int64)
    # x = 2^exponent * (1 + f), with 1 + f between sqrt(1/2) and sqrt(2)
    biased = (bits + (_ONE - _SQRT_HALF)) >> 52
    f = np.int64(bits - (biased << 52) + _ONE).view(np.float64) - 1.0
    exponent = np.int64(biased | _INTEGER).view(np.float64) - (2.0**52 + 1023.0)
    # log(1 + f) = 2 artanh(s), by its series in s^2 < 0.0295
    s = f / (2.0 + f)
    z = s * s
    series = 1.0 / 21.0
    series = series * z + 1.0 / 19.0
    series = series * z + 1.0 / 17.0
    series = series * z + 1.0 / 15.0
    series = series * z + 1.0 / 13.0
    series = series * z + 1.0 / 11.0
    series = series * z + 1.0 / 9.0
    series = series * z + 1.0 / 7.0
    series = series * z + 1.0 / 5.0
    series = series * z + 1.0 / 3.0
    return exponent * _LOG_2 + (2.0 * s + (2.0 * s * z * series + exponent * _LOG_2_REST))


@exact_inline
def _exponential(y):
    """The exponential of a number from `_LOW` to zero."""
    # exp(y) = 2^n * exp(r), with |r| <= log(2) / 2, by its series
    rounded = y * _PER_LOG_2 + _ROUND
    n = rounded - _ROUND
    r = (y - n * _LOG_2) - n * _LOG_2_REST
    e = 1.0 / 6227020800.0
    e = e * r + 1.0 / 479001600.0
    e = e * r + 1.0 / 39916800.0
    e = e * r + 1.0 / 3628800.0
    e = e * r + 1.0 / 362880.0
    e = e * r + 1.0 / 40320.0
    e = e * r + 1.0 / 5040.0
    e = e * r + 1.0 / 720.0
    e = e * r + 1.0 / 120.0
    e = e * r + 1.0 / 24.0
    e = e * r + 1.0 / 6.0
    e = e * r + 0.5
    e = e * r + 1.0
    e = e * r + 1.0
    bits = np.float64(e).view(np.int64) + (np.float64(rounded).view(np.int64) << 52)
    return np.int64(bits).view(np.float64)


@exact
def raise_to(values, power):
    """Raise numbers from 0 to 1 to a positive power, in place."""
    for t in range(len(values)):
        x = values[t]
        y = power * _logarithm(x)
        raised = _exponential(y if y > _LOW else _LOW)
        values[t] = raised if x >= _TINY and y > _LOW else 0.0
