"""Validators for configuration; each error names the field and the invalid value."""

import math
from numbers import Integral, Real
from typing import Any

import numpy as np

from ..kernels.threads import map_blocks
from ..typing import FloatArray
from .errors import ConfigError

LARGEST = 1e150  # squared distances of larger values overflow


def integer(owner: Any, field: str, low: int = 1) -> None:
    """The field is an integer of at least `low`."""
    value = getattr(owner, field)
    if type(value) is bool or not isinstance(value, Integral) or value < low:
        raise _invalid(owner, field, value, f"an integer of at least {low}")


def number(
    owner: Any, field: str, low: float = 0.0, high: float = math.inf, *, above: bool = False
) -> None:
    """The field is a finite number in [low, high], or in (low, high] with `above`."""
    value = getattr(owner, field)
    fits = type(value) is not bool and isinstance(value, Real) and math.isfinite(value)
    if not fits or value > high or value < low or (above and value <= low):
        start = f"above {low:g}" if above else f"of at least {low:g}"
        raise _invalid(owner, field, value, f"a number {start}" + _upper_bound(high))


def boolean(owner: Any, field: str) -> None:
    """The field is True or False."""
    value = getattr(owner, field)
    if not isinstance(value, bool):
        raise _invalid(owner, field, value, "True or False")


def fuzzifier(owner: Any) -> None:
    """The fuzzifier is above 1, and small enough that u^m does not underflow to zero."""
    number(owner, "fuzzifier", 1.0, above=True)
    k, m = owner.n_clusters, owner.fuzzifier
    if m * math.log10(max(k, 2)) > 250:
        raise _invalid(
            owner, "fuzzifier", m, f"small enough that (1/{k})^fuzzifier does not underflow"
        )


def centers(owner: Any, field: str = "init", *, several: bool = False) -> None:
    """The field is None or a finite (n_clusters, F) array of centres, or `several` of them."""
    value = getattr(owner, field)
    if value is None:
        return
    k = owner.n_clusters
    fits = isinstance(value, np.ndarray) and value.ndim == 2 and len(value) > 0
    if not fits or (len(value) % k if several else len(value) != k):
        shape = getattr(value, "shape", type(value).__name__)
        raise ConfigError(f"{_name(owner)}: {field} must be an array of {k} centres, got {shape}")
    if value.dtype.kind not in "fiub" or not (np.abs(value) <= LARGEST).all():
        raise ConfigError(
            f"{_name(owner)}: {field} holds values that are not numbers up to {LARGEST:g}"
        )


def _upper_bound(high: float) -> str:
    return "" if high == math.inf else f" and at most {high:g}"


def _name(owner: Any) -> str:
    return str(getattr(owner, "key", type(owner).__name__))


def _invalid(owner: Any, field: str, value: Any, wanted: str) -> ConfigError:
    return ConfigError(f"{_name(owner)}: {field} must be {wanted}, got {value!r}")


def largest_by_column(rows: FloatArray, *, missing: bool) -> FloatArray:
    """The largest absolute value of each column; without `missing`, NaN if a cell is missing."""
    highest = np.fmax if missing else np.maximum  # the first one passes over NaN

    def largest_of(block: slice) -> FloatArray:
        return highest.reduce(np.abs(rows[block]), axis=0, initial=0.0)  # type: ignore[no-any-return]

    largest: FloatArray = highest.reduce(
        map_blocks(largest_of, *rows.shape, products=False), axis=0
    )
    return largest
