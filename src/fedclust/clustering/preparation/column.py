"""Declaration of a column, and its encoding as numbers."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ...core import ConfigError, DataError
from ...data.dates import AmbiguousDate, parse_dates
from ...data.kinds import Kind, Strays, find_strays
from ...data.numbers import parse_number
from ...data.values import is_missing
from ...typing import Array, BoolArray, FloatArray

_FREQUENT = 5  # rows that must have a value before a message may quote it

# Why a column's values cannot be encoded, by code; no text depends on a value.
UNUSABLE: Mapping[str, str] = {
    "dates": 'has dates or durations, not numbers; derive a number, such as derive = "year"',
    "not-dates": "has values that are not dates, so no number can be derived from it",
    "ambiguous-dates": "has dates such as 03/04/2024; set dates under [data] to day-first or "
    "month-first",
    "ambiguous-numbers": "has numbers such as 1,234 that can be read in two ways; set decimal or "
    "thousands under [data]",
    "contradicted-numbers": "has numbers that are not written as decimal or thousands under "
    "[data] say",
    "not-numeric": "is not numeric",
    "stray-values": "has some values that are not numbers; correct them, or list them under "
    "na_values",
    "infinite": "has infinite values; correct them, or list their words under na_values",
    "not-positive": "has values that are not above zero, so it has no logarithm; correct them, or "
    "leave out log",
    "undeclared-category": "has undeclared categories",
}


UNREADABLE = {  # why numbers of a file must not be read
    Kind.AMBIGUOUS: "ambiguous-numbers",
    Kind.CONTRADICTED: "contradicted-numbers",
}


class ColumnError(DataError):
    """Values of a column that cannot be encoded: a code, and details for the client alone."""

    def __init__(
        self, client: str, column: str, problem: str, detail: str = "", row: int | None = None
    ) -> None:
        shown = f" ({detail})" if detail else ""
        super().__init__(f"{client}: column {column!r} {UNUSABLE[problem]}{shown}")
        self.problem, self.detail, self.row = problem, detail, row


class StrayValues(ColumnError):
    """Values of a numeric column that are not numbers."""

    def __init__(self, client: str, column: str, strays: Strays) -> None:
        super().__init__(client, column, code_of(strays), str(strays))
        self.strays = strays


def code_of(strays: Strays) -> str:
    """Why a column with such values is not numeric."""
    if strays.kind is Kind.DATES:
        return "not-dates"
    if strays.few:
        return "stray-values"
    return "dates" if strays.mostly_dates else "not-numeric"


def _since(dates: Array, unit: str, start: str) -> Array:
    """How many units passed since the start of the larger unit."""
    passed: Array = (dates.astype(f"M8[{unit}]") - dates.astype(f"M8[{start}]")).astype(np.int64)
    return passed


# Numbers that stand for a date; weeks start on Monday, and 1970-01-01 was a Thursday.
DERIVED: Mapping[str, Callable[[Array], Array]] = {
    "year": lambda dates: dates.astype("M8[Y]").astype(np.int64) + 1970,
    "month": lambda dates: _since(dates, "M", "Y") + 1,
    "day-of-year": lambda dates: _since(dates, "D", "Y") + 1,
    "weekday": lambda dates: (dates.astype("M8[D]").astype(np.int64) + 3) % 7 + 1,
    "hour": lambda dates: _since(dates, "h", "D"),
    "days": lambda dates: dates.astype("M8[D]").astype(np.int64),
}
_TRUTH = ("true", "false")
DERIVED_UNITS = {"hour": "hours", "days": "days since 1970-01-01"}


@dataclass(frozen=True)
class Column:
    """Public knowledge about a column, before the first round."""

    name: str
    categories: tuple[str, ...] = ()  # empty: a numeric column
    low: float | None = None  # public bounds
    high: float | None = None
    log: bool = False
    unit: str = ""
    derive: str = ""  # the number that stands for a date
    # Whether values beyond the bounds count as the nearest bound, because bounds are estimated.
    clip: bool = False

    def __post_init__(self) -> None:
        if self.derive and self.derive not in DERIVED:
            raise ConfigError(f"column {self.name!r}: derive must be one of {', '.join(DERIVED)}")
        if self.derive and self.categories:
            raise ConfigError(f"column {self.name!r}: give categories or derive, not both")
        self._check_bounds()
        if self.categories and (self.log or self.low is not None):
            raise ConfigError(f"column {self.name!r}: categories cannot have bounds or log")
        if len(set(self.categories)) < len(self.categories):
            raise ConfigError(f"column {self.name!r}: a category is listed twice")

    def _check_bounds(self) -> None:
        if (self.low is None) != (self.high is None):
            raise ConfigError(f"column {self.name!r}: give both low and high, or neither")
        if self.low is not None and self.high is not None and not self.low < self.high:
            raise ConfigError(f"column {self.name!r}: low must be below high")
        if self.log and self.low is not None and self.low <= 0:
            raise ConfigError(f"column {self.name!r}: with log, bounds must be above zero")
        if self.clip and self.low is None:
            raise ConfigError(f"column {self.name!r}: clip needs low and high")

    def encode(self, values: Any, client: str, dates: str | None = None) -> FloatArray:
        """Encode values as numbers: unchanged, as logarithms, or one column per category.

        `dates` is the order of day and month in dates such as 03/04/2024.
        """
        if self.categories:
            return self._one_hot(np.asarray(values, dtype=object), client)
        numbers = (
            self._derive(values, client, dates) if self.derive else self._numbers(values, client)
        )
        self._refuse(np.isinf(numbers), "infinite", client)
        if self.log:
            self._refuse(numbers <= 0, "not-positive", client)
            numbers = np.log(numbers)
        return numbers[:, None]

    def as_config(self) -> dict[str, Any]:
        """Plain values, for a request or a file."""
        config = asdict(self)
        if not self.clip:
            del config["clip"]
        return config

    def all_missing(self, n_rows: int) -> FloatArray:
        """The encoded column of a table that does not have it."""
        return np.full((n_rows, len(self.encoded_names)), np.nan)

    def _numbers(self, values: Any, client: str) -> FloatArray:
        given = np.asarray(values)
        if given.dtype.kind in "mM":
            raise ColumnError(client, self.name, "dates")
        try:
            numbers: FloatArray = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError):
            raise StrayValues(client, self.name, find_strays(given.tolist())) from None
        if given.dtype.kind in "OUT" and any("_" in v for v in given.tolist() if type(v) is str):
            raise StrayValues(client, self.name, find_strays(given.tolist()))
        return numbers

    def _derive(self, values: Any, client: str, order: str | None) -> FloatArray:
        try:
            dates = parse_dates(values, order)
        except AmbiguousDate:
            raise ColumnError(client, self.name, "ambiguous-dates") from None
        except ValueError:
            found = find_strays(np.asarray(values).tolist(), Kind.DATES, order)
            raise StrayValues(client, self.name, found) from None
        numbers: FloatArray = DERIVED[self.derive](dates).astype(np.float64)
        numbers[np.isnat(dates)] = np.nan
        return numbers

    def _refuse(self, bad: BoolArray, problem: str, client: str) -> None:
        """Stop if there are such values: how many, and the first of them."""
        if bad.any():
            raise ColumnError(client, self.name, problem, str(int(bad.sum())), int(bad.argmax()))

    def _one_hot(self, values: Array, client: str) -> FloatArray:
        missing = np.array([is_missing(v) for v in values], dtype=bool)
        listed = dict.fromkeys(self.categories)
        words = {v: as_listed(v, listed) for v in {v for v in values if isinstance(v, str)}}
        text = np.array(
            [words[v] if isinstance(v, str) else as_listed(v, listed) for v in values], dtype=object
        )
        if undeclared := Counter(text[~missing]).keys() - set(self.categories):
            detail = _describe_undeclared(undeclared, text)
            raise ColumnError(client, self.name, "undeclared-category", detail)
        hot: FloatArray = (text[:, None] == np.array(self.categories, dtype=object)).astype(float)
        hot[missing] = np.nan
        return hot

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
    def holds_words(self) -> bool:
        """Whether the values in a file are categories or dates, not numbers."""
        return bool(self.categories or self.derive)

    @property
    def encoded_names(self) -> list[str]:
        """Names of the encoded columns."""
        if self.derive:
            return [f"{self.name} ({self.derive})"]
        return [f"{self.name}={c}" for c in self.categories] or [self.name]


def clip_rows(columns: Collection[Column], rows: FloatArray) -> FloatArray:
    """Encoded rows with values beyond estimated bounds moved to the nearest bound."""
    if not any(column.clip for column in columns):
        return rows
    clipped, place = rows.copy(), 0
    for column in columns:
        box, width = column.box, len(column.encoded_names)
        if column.clip and box is not None:
            clipped[:, place] = np.clip(rows[:, place], *box[0])
        place += width
    return clipped


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


def as_listed(value: Any, listed: Collection[str]) -> str:
    """A value as one of the listed categories: true, TRUE and True are the same.

    Each kind of file writes truth values in its own way.
    """
    text = as_text(value)
    if text not in listed and text.casefold() in _TRUTH:
        same = (category for category in listed if category.casefold() == text.casefold())
        return next(same, text)
    return text


def _describe_undeclared(undeclared: Collection[str], text: Array) -> str:
    """Quote frequent values; only count rare ones, because they may identify a person."""
    counts = Counter(value for value in text if value in undeclared)
    frequent = sorted(v for v, n in counts.items() if n >= _FREQUENT)[:_FREQUENT]
    rare = sum(n for v, n in counts.items() if v not in frequent)
    counted = [f"{rare} rows"] if rare else []
    return "; ".join([", ".join(frequent), *counted] if frequent else counted)
