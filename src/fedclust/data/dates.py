"""Recognise dates in text, and convert them."""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import numpy as np

from ..typing import Array
from .settings import DAY_FIRST, MONTH_FIRST
from .values import is_missing

_TIME = r"(?:[T ](\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)?\s*(?:Z|[+-]\d{2}:?\d{2})?)?"
_YEAR_FIRST = re.compile(rf"(\d{{4}})([-/.])(\d{{1,2}})\2(\d{{1,2}}){_TIME}", re.ASCII)
_DOTTED = re.compile(rf"(\d{{1,2}})\.(\d{{1,2}})\.(\d{{4}}){_TIME}", re.ASCII)
_MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_NAMED = re.compile(rf"(\d{{1,2}})[-. ]+([A-Za-z]{{3,9}})[-., ]+(\d{{4}}){_TIME}", re.ASCII)
_NAME_FIRST = re.compile(rf"([A-Za-z]{{3,9}})\.? (\d{{1,2}}),? (\d{{4}}){_TIME}", re.ASCII)
_EITHER = re.compile(rf"(\d{{1,2}})([-/])(\d{{1,2}})\2(\d{{4}}){_TIME}", re.ASCII)


class AmbiguousDate(ValueError):
    """A date such as 03/04/2024, whose day and month cannot be distinguished."""


def parse_date(text: str, order: str | None = None) -> datetime:
    """A date, and a time if there is one; an offset from UTC is ignored.

    Raises ValueError for other text, and `AmbiguousDate` if the order of day and month has to be
    known. Dates with points are day-first. Names of months are English.
    """
    text = text.strip()
    if found := _YEAR_FIRST.fullmatch(text):
        year, _, month, day, *time = found.groups()
    elif found := _DOTTED.fullmatch(text):
        day, month, year, *time = found.groups()
    elif found := _NAMED.fullmatch(text):
        day, month, year, *time = found.groups()
        month = _number_of(month)
    elif found := _NAME_FIRST.fullmatch(text):
        month, day, year, *time = found.groups()
        month = _number_of(month)
    elif found := _EITHER.fullmatch(text):
        first, _, second, year, *time = found.groups()
        if order is None:
            raise AmbiguousDate("day or month first?")
        day, month = (first, second) if order == DAY_FIRST else (second, first)
    else:
        raise ValueError("not a date")
    hour, minute, seconds = (int(part or 0) for part in time)
    return datetime(int(year), int(month), int(day), hour, minute, min(seconds, 59))


def _number_of(month: str) -> str:
    """The number of a month, by its English name or an abbreviation."""
    name = month.lower()
    for number, full in enumerate(_MONTHS, 1):
        if full.startswith(name):
            return str(number)
    raise ValueError("not a month")


def is_date(text: str) -> bool:
    """Whether a text is a date in some order of day and month."""
    for order in (DAY_FIRST, MONTH_FIRST):
        try:
            parse_date(text, order)
        except ValueError:
            continue
        return True
    return False


def date_order(texts: Iterable[str]) -> str | None:
    """The only order of day and month that fits dates such as 25/04/2024; None if both do."""
    possible = {DAY_FIRST, MONTH_FIRST}
    for text in texts:
        for order in tuple(possible):
            try:
                parse_date(text, order)
            except ValueError:
                possible.discard(order)
    return possible.pop() if len(possible) == 1 else None


def parse_dates(values: Sequence[Any] | Array, order: str | None = None) -> Array:
    """Dates as datetime64, missing values as NaT; raises like `parse_date`."""
    array = np.asarray(values)
    if array.dtype.kind == "M":
        return array.astype("datetime64[s]")
    parsed = [None if is_missing(v) else _as_date(v, order) for v in array.tolist()]
    return np.array(parsed, dtype="datetime64[s]")


def _as_date(value: Any, order: str | None) -> datetime:
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    return parse_date(value.isoformat() if hasattr(value, "isoformat") else str(value), order)
