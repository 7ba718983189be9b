"""The first line of a table: names of columns, or data by mistake."""

from collections.abc import Collection, Sequence
from itertools import pairwise
from pathlib import Path

from ...core import DataError
from ..numbers import evidence_of

UNNAMED = "Unnamed: "  # and a number: columns without a name in the file
_MOSTLY = 0.5


def name_columns(file: Path, names: Sequence[str]) -> tuple[str, ...]:
    """Names of columns; several without a name are called "Unnamed: 3", as in pandas."""
    if sum(not name.strip() for name in names) > 1:
        names = [n if n.strip() else f"{UNNAMED}{i}" for i, n in enumerate(names)]
    refuse_duplicates(file, names)
    return tuple(names)


def refuse_duplicates(file: Path, names: Sequence[str]) -> None:
    """Refuse two columns with the same name."""
    if len(set(names)) < len(names):
        repeated = next(n for n in names if names.count(n) > 1)
        raise DataError(f"{file}: two columns are called {repeated!r}; rename one")


def refuse_data_as_names(
    file: Path,
    line: int,
    names: Sequence[str],
    columns: Sequence[Sequence[str]],
    missing: Collection[str],
) -> None:
    """Refuse a first line that is data: names of columns leave a client, and values must not.

    The message does not quote the line, because it may be personal data.
    """
    numbers = [_as_number(name) for name in names]
    if all(n is not None for n in numbers) or _are_values(names, numbers, columns, missing):
        raise DataError(
            f"{file}:{line}: this line has values, not names of columns; add a line of names, or "
            "set header_line under [data]"
        )


def _are_values(
    names: Sequence[str],
    numbers: Sequence[float | None],
    columns: Sequence[Sequence[str]],
    missing: Collection[str],
) -> bool:
    """Whether names look like another row: fractions, or numbers among those of their columns."""
    if any(n is not None and not n.is_integer() for n in numbers):
        return True
    among = []
    for name, number, cells in zip(names, numbers, columns, strict=True):
        present = [c.strip() for c in cells if c.strip() not in missing]
        values = [v for v in map(_as_number, present) if v is not None]
        if not values or len(values) <= _MOSTLY * len(present):
            continue  # a column of text
        if number is None and name.strip() not in missing:
            return False  # a column of numbers with a name
        among.append(number is None or min(values) <= number <= max(values))
    given = [n for n in numbers if n is not None]
    counts_up = len(given) > 1 and {b - a for a, b in pairwise(given)} == {1.0}  # such as years
    return bool(given) and bool(among) and all(among) and not counts_up


def _as_number(text: str) -> float | None:
    """A number in any notation, roughly."""
    if evidence_of(text.strip()) is None:
        return None
    try:
        return float(text.strip().replace(",", "."))
    except ValueError:
        return 0.5  # 1.234.567 and the like: a number, and not the name of a column
