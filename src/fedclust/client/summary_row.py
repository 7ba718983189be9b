"""Find a last row that is a total of the others, and not a record."""

from typing import Any

from ..data.formats import Columns
from ..data.values import is_missing

_WORDS = frozenset(
    [
        "total",
        "totals",
        "sum",
        "sums",
        "summe",
        "gesamt",
        "insgesamt",
        "subtotal",
        "totale",
        "totaux",
        "somme",
        "suma",
        "totaal",
        "summa",
        "average",
        "mean",
        "mittelwert",
        "durchschnitt",
        "moyenne",
        "media",
        "promedio",
    ]
)
_LOOKED_AT = 100  # rows before the last


def is_summary(columns: Columns, row: int) -> bool:
    """Whether a row is called a total, or is mostly empty although the rows before it are not."""
    if row < 2 or not columns:
        return False
    values = [column[row] for column in columns.values()]
    word = next((v for v in values if isinstance(v, str) and v), "")
    if set(word.casefold().strip(" :.").split()) & _WORDS and len(word.split()) <= 2:
        return True
    if len(values) < 3 or 2 * _count_missing(values) <= len(values):
        return False
    first = max(0, row - _LOOKED_AT)
    before = [v for column in columns.values() for v in column[first:row].tolist()]
    return 4 * _count_missing(before) < len(before)


def _count_missing(values: list[Any]) -> int:
    return sum(is_missing(value) or value == "" for value in values)  # ids are not None
