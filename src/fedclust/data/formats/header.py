"""The line of the names of columns: the first one, or one below a title; data by mistake."""

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import pairwise
from pathlib import Path

from ...core import DataError
from ..numbers import evidence_of

UNNAMED = "Unnamed: "  # and a number: columns without a name in the file
_MOSTLY = 0.5
_ALIKE = 0.8  # of the rows of a table that have the same number of values
_FEWEST = 3  # rows and columns of a table below a title
_TITLE = 20  # rows at most above the names


def name_columns(file: Path, names: Sequence[str]) -> tuple[str, ...]:
    """Names of columns; several without a name are called "Unnamed: 3", as in pandas."""
    if sum(not name.strip() for name in names) > 1:
        names = [n if n.strip() else f"{UNNAMED}{i}" for i, n in enumerate(names)]
    refuse_duplicates(file, names)
    return tuple(names)


def find_names(rows: Sequence[Sequence[str]], missing: Collection[str]) -> int:
    """The row of the column names: 0, or a later one below a title.

    A title fills at most half of the columns. The names fill all of them, none is a number, and
    below at least one of them are numbers.
    """
    width, n = Counter(map(len, rows)).most_common(1)[0] if rows else (0, 0)
    if width < 2 or n < max(_FEWEST, _ALIKE * (len(rows) - _TITLE)):
        return 0
    for number, row in enumerate(rows[:_TITLE]):
        filled = [cell.strip() for cell in row if cell.strip()]
        if len(row) == len(filled) == width:
            below = [later for later in rows[number + 1 :] if len(later) == width]
            return number if _are_names(filled, list(zip(*below, strict=True)), missing) else 0
        if 2 * len(filled) > width or (len(row) == width < _FEWEST):
            return 0
    return 0


def is_table(rows: Sequence[Sequence[str]], missing: Collection[str]) -> bool:
    """Whether there are names of columns, and numbers below at least one of them."""
    first = find_names(rows, missing)
    names = [name.strip() for row in rows[first : first + 1] for name in row if name.strip()]
    alike = [row for row in rows[first + 1 :] if len(row) == len(rows[first])]
    mostly_named = bool(rows) and 2 * len(names) > len(rows[first])
    return mostly_named and _are_names(names, list(zip(*alike, strict=True)), missing)


def _are_names(
    names: Sequence[str], columns: Sequence[Sequence[str]], missing: Collection[str]
) -> bool:
    if any(_as_number(name) is not None for name in names) or len(set(names)) < len(names):
        return False
    for cells in columns:
        present = [cell.strip() for cell in cells if cell.strip() not in missing]
        numbers = sum(_as_number(cell) is not None for cell in present)
        if numbers > _MOSTLY * len(present):
            return True
    return False


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
