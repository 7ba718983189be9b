"""Excel and OpenDocument sheets, through python-calamine; always read at once."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ...core import ConfigError, DataError, did_you_mean
from ...typing import Array
from .. import text
from ..kinds import unreadable_kind
from ..numbers import Evidence, Notation, NotationRules, collect_evidence
from ..settings import ReadOptions
from .format import Columns, Format, Reading
from .header import find_names, is_table, name_columns, refuse_data_as_names

Cell = Any  # text, a number, a truth value, a date, a time; "" for an empty cell
Row = tuple[int, list[Cell]]  # and its number in the sheet


_HEAD = 1_000  # rows by which the notation of numbers that are stored as text is detected


def _read(file: Path, options: ReadOptions, id: str | None) -> Columns:
    names, rows, _ = _table(file, options)
    cells = _columns(names, rows)
    notations = _rules(options).resolve(_evidence(cells, options))
    return {
        name: text.parse_ids([_as_text(cell) for cell in column])
        if name == id
        else _column(column, notation, options)
        for name, column, notation in zip(names, cells, notations, strict=True)
    }


def _table(
    file: Path, options: ReadOptions, most: int | None = None
) -> tuple[tuple[str, ...], list[Row], str]:
    """Names of columns, rows with their number in the sheet, and which sheet it is."""
    sheet, how = _sheet(file, options)
    first = options.header_line or 1
    filled = (
        (number, row) for number, row in enumerate(sheet, 1) if number >= first and _filled(row)
    )
    rows = list(islice(filled, most))
    if not rows:
        raise DataError(f"{file}: the sheet is empty{how and f' ({how})'}")
    if options.header_line is None and (title := find_names(_texts(rows), options.missing_words)):
        rows = rows[title:]
        how = f"{how}{', ' if how else ''}names of columns in row {rows[0][0]}"
    header = [_as_text(cell).strip() for cell in rows[0][1]]
    named = sum(bool(name) for name in header)
    if 2 * named < len(header):
        raise DataError(
            f"{file}: row {rows[0][0]} has {named} names for {len(header)} columns; set "
            "header_line under [data] to the row of the column names"
        )
    texts = _texts(rows[1:])
    columns = list(zip(*texts, strict=True)) if texts else [()] * len(header)
    refuse_data_as_names(file, rows[0][0], header, columns, options.missing_words)
    return name_columns(file, header), rows[1:], how


def _filled(row: Sequence[Cell]) -> bool:
    return any(cell != "" for cell in row)


def _texts(rows: Sequence[Row]) -> list[list[str]]:
    """The first rows as a CSV file would have them."""
    return [[_as_text(cell) for cell in row] for _, row in rows[:_HEAD]]


def _columns(names: Sequence[str], rows: Sequence[Row]) -> list[tuple[Cell, ...]]:
    return list(zip(*(row for _, row in rows), strict=True)) if rows else [()] * len(names)


def _sheet(file: Path, options: ReadOptions) -> tuple[Iterable[list[Cell]], str]:
    """All rows of the sheet, and in words which sheet it is if there are several."""
    try:
        import python_calamine as calamine
    except ImportError:
        raise ConfigError(
            f"{file}: Excel files need python-calamine: pip install 'fedclust[excel]'"
        ) from None
    try:
        with calamine.load_workbook(file) as book:
            names = _visible(book, calamine)
            if options.sheet is not None and options.sheet not in names:
                near = did_you_mean(options.sheet, names) or f"; it has {', '.join(names)}"
                raise DataError(f"{file}: there is no sheet {options.sheet!r}{near}")
            name = options.sheet or _first_table(book, names, options)
            rows = book.get_sheet_by_name(name).iter_rows()
    except calamine.PasswordError:
        raise DataError(f"{file}: is protected by a password; save it without one") from None
    except calamine.CalamineError as problem:
        raise DataError(f"{file}: not a readable Excel file{_cause(file, problem)}") from None
    others = f"sheet {name!r} of {len(names)}" if len(names) > 1 else ""
    return rows, others


def _cause(file: Path, problem: Exception) -> str:
    """Why a file is no workbook; text with the wrong suffix is frequent."""
    with file.open("rb") as opened:
        head = opened.read(1024)
    if head and all(byte >= 32 or byte in b"\t\r\n" for byte in head):
        return ": it is text; name it .csv"
    return f" ({problem})"


def _first_table(book: Any, names: Sequence[str], options: ReadOptions) -> str:
    """The first sheet with names of columns and numbers below, or the first one."""
    if len(names) > 1:
        for name in names:
            rows = [(0, row) for row in book.get_sheet_by_name(name).iter_rows() if _filled(row)]
            if is_table(_texts(rows), options.missing_words):
                return name
    return names[0]


def _visible(book: Any, calamine: Any) -> list[str]:
    """Names of the sheets that a user sees, without charts."""
    shown, table = calamine.SheetVisibleEnum.Visible, calamine.SheetTypeEnum.WorkSheet
    sheets = book.sheets_metadata
    visible = [sheet.name for sheet in sheets if sheet.visible == shown and sheet.typ == table]
    return visible or list(book.sheet_names)


def _rules(options: ReadOptions) -> NotationRules:
    return NotationRules(options.decimal, options.thousands, delimiter="")


def _evidence(cells: Sequence[Sequence[Cell]], options: ReadOptions) -> list[Evidence | None]:
    """What numbers that are stored as text show about their notation."""
    texts = ([cell for cell in column[:_HEAD] if isinstance(cell, str)] for column in cells)
    return [collect_evidence(column, options.missing_words) for column in texts]


def _column(cells: Sequence[Cell], notation: Notation | None, options: ReadOptions) -> Array:
    """Numbers or dates if all cells are, else text."""
    present = [cell for cell in cells if cell != ""]
    if all(_is_number(cell) for cell in present):
        return np.array([np.nan if cell == "" else cell for cell in cells], dtype=float)
    if all(isinstance(cell, date) for cell in present):
        days = [None if cell == "" else _naive(cell) for cell in cells]
        return np.array(days, dtype="datetime64[s]")
    missing = options.missing_words
    try:
        numbers = [_number(cell, missing, notation) for cell in cells]
    except ValueError:
        words = [_as_plain(cell, notation) for cell in cells]
        return np.array([None if word in missing else word for word in words], dtype=object)
    return np.array(numbers, dtype=float)


def _number(cell: Cell, missing: frozenset[str], notation: Notation | None) -> float:
    if _is_number(cell):
        return float(cell)
    if not isinstance(cell, str) or notation is None:
        raise ValueError("not a number")
    stripped = cell.strip()
    return np.nan if stripped in missing else notation.parse(stripped)


def _is_number(cell: Cell) -> bool:
    return isinstance(cell, int | float) and not isinstance(cell, bool)


def _naive(cell: date) -> datetime:
    return cell if isinstance(cell, datetime) else datetime(cell.year, cell.month, cell.day)


def _as_plain(cell: Cell, notation: Notation | None) -> str:
    plain = _as_text(cell).strip()
    return notation.normalise(plain) if notation and isinstance(cell, str) else plain


def _as_text(cell: Cell) -> str:
    """A cell as a CSV file would have it."""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return cell.isoformat() if isinstance(cell, date) else str(cell)


def _inspect(file: Path, options: ReadOptions) -> Reading:
    names, rows, how = _table(file, options, _HEAD + 1)
    rules, evidence = _rules(options), _evidence(_columns(names, rows), options)
    found = zip(names, evidence, rules.resolve(evidence), strict=True)
    kinds = {name: unreadable_kind(rules, shown, notation) for name, shown, notation in found}
    return Reading(how, {name: kind for name, kind in kinds.items() if kind is not None})


def _lines(file: Path, options: ReadOptions) -> Iterator[int]:
    yield from (number for number, _ in _table(file, options)[1])


EXCEL = Format(
    "Excel",
    (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"),
    _read,
    inspect=_inspect,
    lines=_lines,
    marks_missing=True,
    extra="excel",
)
