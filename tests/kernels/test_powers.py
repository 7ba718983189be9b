"""Compiled powers: as accurate as promised, and the same for a number wherever it stands."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedclust.typing import FloatArray

pytest.importorskip("numba")
from fedclust.kernels._power_loops import raise_to

POWERS = (0.05, 0.5, 1.0 / 0.7, 1.7, 2.5, 20.0, 100.0)


def powers(values: FloatArray, power: float) -> FloatArray:
    raised = values.copy()
    raise_to(raised, power)
    return raised


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 60, reason="needs numbers beyond float64")
@pytest.mark.parametrize("power", POWERS)
def test_powers_are_accurate(power: float) -> None:
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.random(20_000), 10 ** rng.uniform(-300, 0, 20_000)])
    edges = np.sqrt(0.5) * np.array([1.0, 1 - 2e-16, 1 + 2e-16])
    values = np.concatenate([values, edges, [1.0, 0.5, 1 - 1e-16, 2.0**-1022]])
    expected = values.astype(np.longdouble) ** np.longdouble(power)
    error = np.abs(powers(values, power) - expected)
    assert np.all(error <= np.where(expected > 1e-10, 1e-14 * expected, 1e-23))


@pytest.mark.parametrize("power", POWERS)
def test_the_ends_are_exact(power: float) -> None:
    assert list(powers(np.array([0.0, 1.0, 5e-324]), power)) == [0.0, 1.0, 0.0]


@given(st.integers(1, 300), st.integers(0, 40), st.floats(0.05, 20.0))
def test_a_power_does_not_depend_on_the_position(size: int, shift: int, power: float) -> None:
    values = np.random.default_rng(size).random(size + shift)
    whole = powers(values, power)
    assert np.array_equal(powers(values[shift:], power), whole[shift:])
