"""Limits on parameters, and types from the header of a class."""

from typing import Any

import numpy as np
import pytest

from fedclust.core import ConfigError
from fedclust.core.algorithm import header_types
from fedclust.core.traits import Parameter, Role


@pytest.mark.parametrize(
    ("is_integer", "value", "size"),
    [(True, np.int64(7), 7), (False, "one", 1), (False, (1, 2, 3), 3), (False, np.ones((4, 2)), 4)],
)
def test_a_limit_is_held_against_a_value_or_a_length(
    is_integer: bool, value: Any, size: int
) -> None:
    assert Parameter("p", Role.CLUSTERS, is_integer).size(value) == size


@pytest.mark.parametrize(
    ("is_integer", "value"), [(True, True), (True, "7"), (False, 7), (False, np.array(7))]
)
def test_a_value_of_another_kind_cannot_escape_a_limit(is_integer: bool, value: Any) -> None:
    wanted = "an integer" if is_integer else "an array"
    with pytest.raises(ConfigError, match=f"p must be {wanted}"):
        Parameter("p", Role.CLUSTERS, is_integer).size(value)


def test_only_algorithms_have_types_in_their_header() -> None:
    with pytest.raises(TypeError, match="int is not an Algorithm"):
        header_types(int)
