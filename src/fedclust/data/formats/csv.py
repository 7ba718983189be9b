"""CSV files in UTF-8, read at once by Python's csv module or in batches by pyarrow."""

import csv
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Self

import numpy as np

from ...core import DataError
from ...typing import Array
from .. import text
from ._arrow import require_arrow
from .format import BatchReader, Columns, Format, Selection, refuse_duplicates

_BLOCK = 2**22  # bytes that pyarrow reads at a time


def _read(file: Path, missing_values: Collection[str], id: str | None) -> Columns:
    with _readable(file), open(file, newline="", encoding="utf-8-sig") as opened:
        reader = csv.reader(opened)
        names = _names(reader, file)
        lines = _lines(reader, file, len(names))
    values = zip(*lines, strict=True) if lines else [() for _ in names]
    return {
        name: text.parse_ids(column) if name == id else text.parse_column(column, missing_values)
        for name, column in zip(names, values, strict=True)
    }


@contextmanager
def _readable(file: Path) -> Iterator[None]:
    try:
        yield
    except UnicodeDecodeError as problem:
        raise DataError(
            f"{file}: not a readable CSV file in UTF-8 ({problem.reason}); save it as UTF-8"
        ) from None
    except (OSError, csv.Error) as problem:
        raise DataError(f"{file}: not a readable CSV file ({problem})") from None


def _names(reader: Any, file: Path) -> list[str]:
    names: list[str] = next((row for row in reader if row), [])
    if not names:
        raise DataError(f"{file}: the file is empty")
    _check_names(file, names)
    return names


def _lines(reader: Any, file: Path, wanted: int) -> list[list[str]]:
    lines = []
    for row in reader:
        if row and len(row) != wanted:
            raise DataError(f"{file}:{reader.line_num}: {len(row)} values for {wanted} columns")
        if row:
            lines.append(row)
    return lines


def _check_names(file: Path, names: Sequence[str]) -> None:
    """Refuse a first line without names. The message must not quote it: it may be personal data."""
    if all(_is_number(name) for name in names):
        raise DataError(f"{file}: the first line has only numbers; it must have column names")
    if len(names) == 1 and any(c in names[0] for c in ";\t|"):
        raise DataError(
            f"{file}: values are not separated by commas; save it with commas, or as Parquet"
        )
    refuse_duplicates(file, names)


def _is_number(name: str) -> bool:
    try:
        text.parse_number(name)
    except ValueError:
        return False
    return True


def _kinds(file: Path, missing_values: Collection[str]) -> dict[str, bool]:
    """Whether each column is numeric, judged by the first block of the file."""
    require_arrow(file)
    with _readable(file), open(file, newline="", encoding="utf-8-sig") as opened:
        names = _names(csv.reader(opened), file)
    with _hide_values(file), _arrow_reader(file, names) as reader:
        first = next(iter(reader), None)
    if first is None:
        return dict.fromkeys(names, True)
    return {name: _is_numeric(first.column(name), missing_values) for name in names}


def _is_numeric(values: Any, missing_values: Collection[str]) -> bool:
    try:
        text.parse_arrow_numbers(values, missing_values)
    except ValueError:
        return False
    return True


def _batches(file: Path, selection: Selection) -> Iterator[Columns]:
    with _hide_values(file), _arrow_reader(file, list(selection.names)) as reader:
        for batch in reader:
            for first in range(0, batch.num_rows, selection.n_rows):
                part = batch.slice(first, selection.n_rows)
                yield {name: _column(name, part, file, selection) for name in selection.names}


def _column(name: str, batch: Any, file: Path, selection: Selection) -> Array:
    values = batch.column(name)
    if name == selection.id:
        return text.parse_ids(values.to_pylist())
    if name in selection.text_columns:
        return text.parse_words(values.to_pylist(), selection.missing_values)
    try:
        return text.parse_arrow_numbers(values, selection.missing_values)
    except ValueError:
        raise DataError(
            f"{file}: column {name!r} was detected as numeric but contains text later in the file; "
            "declare its categories under [features], or leave it out"
        ) from None


@contextmanager
def _hide_values(file: Path) -> Iterator[None]:
    """Replace Arrow's message about a malformed line, because it quotes the values."""
    try:
        yield
    except ValueError as problem:
        if "CSV parse error" not in str(problem):
            raise
        raise DataError(f"{file}: a line does not have one value per column name") from None


def _arrow_reader(file: Path, names: list[str]) -> Any:
    """Read all columns as text; `data.text` then parses them for all files alike."""
    arrow = require_arrow(file)
    from pyarrow import csv as arrow_csv

    return arrow_csv.open_csv(
        file,
        read_options=arrow_csv.ReadOptions(block_size=_BLOCK, use_threads=False),
        parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(names, arrow.string()), include_columns=names
        ),
    )


class _Writer:
    """Labels as a CSV file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[str]
        self._has_names = False

    def __enter__(self) -> Self:
        self._file = open(self._path, "w", newline="", encoding="utf-8")
        return self

    def write(self, columns: Columns) -> None:
        writer = csv.writer(self._file, lineterminator="\n")
        if not self._has_names:
            writer.writerow(columns)
            self._has_names = True
        writer.writerows(zip(*(_as_text(v) for v in columns.values()), strict=True))

    def __exit__(self, *problem: object) -> None:
        self._file.close()


def _as_text(values: Array) -> list[Any]:
    """Format memberships with six digits, and missing values as empty text."""
    if isinstance(values, np.ma.MaskedArray):
        plain = values.tolist()
        return ["" if v is None else f"{v:.6g}" if isinstance(v, float) else v for v in plain]
    plain_values: list[Any] = values.tolist()
    return plain_values


CSV = Format("CSV", (".csv",), _read, BatchReader(_kinds, _batches), _Writer)
