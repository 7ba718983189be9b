"""Declaration of a column, and its encoding as numbers."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core import ConfigError, DataError
from ...data.text import parse_number
from ...data.values import is_missing
from ...typing import Array, FloatArray

NOT_NUMERIC = "is not numeric"  # the error of a text column without declared categories
_FREQUENT = 5  # rows that must have a value before a message may quote it


@dataclass(frozen=True)
class Column:
    """Public knowledge about a column, before the first round."""

    name: str
    categories: tuple[str, ...] = ()  # empty: a numeric column
    low: float | None = None  # public bounds
    high: float | None = None
    log: bool = False
    unit: str = ""

    def __post_init__(self) -> None:
        if (self.low is None) != (self.high is None):
            raise ConfigError(f"column {self.name!r}: give both low and high, or neither")
        if self.low is not None and self.high is not None and not self.low < self.high:
            raise ConfigError(f"column {self.name!r}: low must be below high")
        if self.log and self.low is not None and self.low <= 0:
            raise ConfigError(f"column {self.name!r}: with log, bounds must be above zero")
        if self.categories and (self.log or self.low is not None):
            raise ConfigError(f"column {self.name!r}: categories cannot have bounds or log")
        if len(set(self.categories)) < len(self.categories):
            raise ConfigError(f"column {self.name!r}: a category is listed twice")

    def encode(self, values: Any, client: str) -> FloatArray:
        """Encode values as numbers: unchanged, as logarithms, or one column per category."""
        if self.categories:
            return self._one_hot(np.asarray(values, dtype=object), client)
        if np.asarray(values).dtype.kind in "mM":
            raise DataError(f"{client}: column {self.name!r} has dates or durations, not numbers")
        try:
            numbers = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            raise DataError(f"{client}: column {self.name!r} {NOT_NUMERIC}") from None
        if np.isinf(numbers).any():
            raise DataError(f"{client}: column {self.name!r} has infinite values")
        if self.log:
            if (numbers <= 0).any():
                raise DataError(
                    f"{client}: column {self.name!r} has values that are not above zero, so log is "
                    "not possible"
                )
            numbers = np.log(numbers)
        return numbers[:, None]

    def _one_hot(self, values: Array, client: str) -> FloatArray:
        missing = np.array([is_missing(v) for v in values], dtype=bool)
        normalised = {v: as_text(v) for v in {v for v in values if isinstance(v, str)}}
        text = np.array(
            [normalised[v] if isinstance(v, str) else as_text(v) for v in values], dtype=object
        )
        if undeclared := Counter(text[~missing]).keys() - set(self.categories):
            problem = _describe_undeclared(undeclared, text)
            raise DataError(f"{client}: column {self.name!r} {problem}")
        one_hot: FloatArray = (text[:, None] == np.array(self.categories, dtype=object)).astype(
            float
        )
        one_hot[missing] = np.nan
        return one_hot

    @property
    def box(self) -> FloatArray | None:
        """Lowest and highest value of each encoded column; None if there are no public bounds."""
        if self.categories:
            return np.tile([0.0, 1.0], (len(self.categories), 1))
        if self.low is None or self.high is None:
            return None
        bounds = np.array([[self.low, self.high]], dtype=np.float64)
        return np.log(bounds) if self.log else bounds

    @property
    def encoded_names(self) -> list[str]:
        """Names of the encoded columns."""
        return [f"{self.name}={c}" for c in self.categories] or [self.name]


def as_text(value: Any) -> str:
    """Normalise a category: 1, 1.0 and "1.0" become "1", True becomes "true".

    Numeric text is treated as a number, because whether a column is read as numbers depends on
    values that another client or batch may not have.
    """
    if isinstance(value, str):
        try:
            value = parse_number(value)
        except ValueError:
            return str(value).strip()
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _describe_undeclared(undeclared: Collection[str], text: Array) -> str:
    """Quote frequent values; only count rare ones, because they may identify a person."""
    counts = Counter(value for value in text if value in undeclared)
    frequent = sorted(v for v, n in counts.items() if n >= _FREQUENT)[:_FREQUENT]
    rare = sum(n for v, n in counts.items() if v not in frequent)
    named = f": {', '.join(frequent)}" if frequent else ""
    return f"has undeclared categories{named}" + (f" ({rare} rows)" if rare else "")
