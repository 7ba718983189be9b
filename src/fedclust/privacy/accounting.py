"""Gaussian differential privacy: exact conversion between mu and (epsilon, delta).

A release of sensitivity D with Gaussian noise of standard deviation D / mu is mu-GDP; releases
compose by adding the squares of their mu, with no slack (Dong, Roth, Su 2022). The curve
delta(epsilon) is that of Balle and Wang (2018).
"""

import math
from collections.abc import Callable

from ..core import ConfigError


def delta_of(mu: float, epsilon: float) -> float:
    """The delta that goes with epsilon."""
    return _normal(mu / 2 - epsilon / mu) - math.exp(epsilon) * _normal(-mu / 2 - epsilon / mu)


def epsilon_of(mu: float, delta: float) -> float:
    """The epsilon that goes with delta."""
    return _solve(lambda epsilon: delta_of(mu, epsilon) <= delta, 0.0, 1.0)


def mu_for(epsilon: float, delta: float) -> float:
    """The most mu that (epsilon, delta) allows."""
    if not (0 < epsilon <= 100 and 0 < delta < 1):
        raise ConfigError(
            "epsilon must be above 0 and at most 100, delta between 0 and 1; "
            f"got {epsilon} and {delta}"
        )
    low = _solve(lambda mu: delta_of(max(mu, 1e-9), epsilon) > delta, 0.0, 1.0)
    return low * (1 - 1e-12)  # on the safe side of the last bit


def _solve(reached: Callable[[float], bool], low: float, high: float) -> float:
    """Where a condition becomes true, which stays true beyond."""
    while not reached(high):
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        if reached(middle):
            high = middle
        else:
            low = middle
    return low if low > 0 else high


def _normal(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2
