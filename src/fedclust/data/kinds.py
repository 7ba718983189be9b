"""What a column holds: numbers, mostly numbers, dates or text."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any

from ..typing import Array
from .dates import is_date, parse_date
from .numbers import Evidence, Notation, NotationRules, parse_number
from .values import is_missing

_SAMPLE = 10_000  # values of a column of text, evenly spread, by which its kind is judged
_SHOWN, _LONGEST = 3, 30  # words in a message, and characters of a word


class Kind(StrEnum):
    """What a column holds."""

    NUMBERS = "numbers"
    MIXED = "mostly numbers"  # some values are not numbers
    AMBIGUOUS = "ambiguous numbers"  # 1,234 may be 1234 or 1.234
    CONTRADICTED = "numbers in another notation"  # than the settings say
    DATES = "dates"
    TEXT = "text"

    @property
    def numeric(self) -> bool:
        """Whether the column is meant to be numeric, with or without problems."""
        return self in (Kind.NUMBERS, Kind.MIXED) or self.unreadable

    @property
    def unreadable(self) -> bool:
        """Whether the column has numbers that must not be read, because they may mean others."""
        return self in (Kind.AMBIGUOUS, Kind.CONTRADICTED)


@dataclass(frozen=True)
class Strays:
    """Values of a column that are not what the column should hold, beside those that are."""

    fitting: int
    words: Counter[str]
    first: int | None = None  # row of the first such value
    kind: Kind = Kind.NUMBERS

    @property
    def present(self) -> int:
        """How many values are not missing."""
        return self.fitting + self.words.total()

    @property
    def few(self) -> bool:
        """Whether more than half of the values are what they should be."""
        return 2 * self.fitting > self.present

    @property
    def mostly_dates(self) -> bool:
        """Whether more than half of the values are dates."""
        return 2 * sum(n for word, n in self.words.items() if is_date(word)) > self.present

    def __str__(self) -> str:
        """Counts and the most frequent words; for the owner of the data alone."""
        frequent = self.words.most_common(_SHOWN)
        shown = [f"{n:,} x {word[:_LONGEST]!r}" for word, n in frequent]
        left = self.words.total() - sum(n for _, n in frequent)
        more = f" and {left:,} more" if left else ""
        counts = f"{self.fitting:,} of {self.present:,} values are {self.kind}"
        if self.words.total() == 1:
            return f"{counts}; the other is {frequent[0][0][:_LONGEST]!r}"
        return f"{counts}; the others: {', '.join(shown)}{more}"


def find_strays(
    values: Iterable[Any], kind: Kind = Kind.NUMBERS, order: str | None = None
) -> Strays:
    """Count values that are numbers, or dates in an order of day and month, and others."""
    fits = _is_number if kind is Kind.NUMBERS else partial(_is_date, order=order)
    fitting, words, first = 0, Counter[str](), None
    for row, value in enumerate(values):
        if is_missing(value):
            continue
        if fits(value):
            fitting += 1
        else:
            words[str(value)] += 1
            first = row if first is None else first
    return Strays(fitting, words, first, kind)


def _is_date(value: Any, order: str | None) -> bool:
    try:
        return hasattr(value, "isoformat") or bool(parse_date(str(value), order))
    except ValueError:
        return False


def _is_number(value: Any) -> bool:
    try:
        parse_number(value) if isinstance(value, str) else float(value)
    except (TypeError, ValueError):
        return False
    return not isinstance(value, bool)


def unreadable_kind(
    rules: NotationRules, found: Evidence | None, notation: Notation | None
) -> Kind | None:
    """Why the numbers of a column must not be read; None if they can be, or are not numbers."""
    if found is None:
        return None
    if rules.contradicts(found):
        return Kind.CONTRADICTED
    return Kind.AMBIGUOUS if notation is None else None


def text_kind(kind: Kind) -> Kind:
    """What text holds that is meant to be text: dates or words, and no numbers."""
    return kind if kind is Kind.DATES else Kind.TEXT


def kind_of(values: Array) -> Kind:
    """What a column holds; text is judged by a sample of its values."""
    if values.dtype.kind in "fiu":
        return Kind.NUMBERS
    if values.dtype.kind == "M":
        return Kind.DATES
    if values.dtype.kind != "O" and values.dtype.kind not in "UT":
        return Kind.TEXT
    strays = find_strays(values[:: max(1, len(values) // _SAMPLE)].tolist())
    if strays.few:
        return Kind.MIXED if strays.words else Kind.NUMBERS
    return Kind.DATES if strays.mostly_dates else Kind.TEXT
