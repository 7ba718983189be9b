"""CSV files in any dialect: read with pyarrow, or with Python's csv module where it is missing."""

import csv
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BufferedReader
from itertools import chain
from pathlib import Path
from typing import IO, Any, Self

import numpy as np

from ...core import DataError
from ...typing import Array
from .. import text
from ..kinds import Kind
from ..settings import ReadOptions
from ._arrow import has_arrow, require_arrow
from ._text import (
    DAMAGED,
    PartStream,
    find_undecodable,
    open_bytes,
    open_text,
    read_parts,
    skip_lines,
)
from .dialect import Dialect, dialect_of, misfit
from .format import BatchReader, Columns, Format, Reading, Selection

_BLOCK = 2**20  # bytes that pyarrow reads at a time; it reads up to 32 such blocks ahead
_END = "\0end\0"  # a line after the last one; it is swallowed by a quote that is not closed
_FOR_ARROW = 2**21  # bytes: smaller files are read before pyarrow is imported


def _read(file: Path, options: ReadOptions, id: str | None) -> Columns:
    with _readable(file, options):
        dialect = dialect_of(file, options)
        if file.stat().st_size >= _FOR_ARROW and has_arrow():
            batches = list(_arrow_batches(file, dialect, list(dialect.names)))
            table = require_arrow(file).Table.from_batches(batches)
            return {
                name: _parse(name, table.column(name), dialect, options, is_id=name == id)
                for name in dialect.names
            }
        rows = [row for _, row in _rows(file, dialect)]
    cells = zip(*rows, strict=True) if rows else [() for _ in dialect.names]
    missing = options.missing_words
    return {
        name: text.parse_ids(values)
        if name == id
        else text.parse_column(values, missing, dialect.notations[name])
        for name, values in zip(dialect.names, cells, strict=True)
    }


def _parse(
    name: str,
    values: Any,
    dialect: Dialect,
    options: ReadOptions,
    *,
    is_id: bool = False,
    is_text: bool = False,
) -> Array:
    """A column of Arrow's text: ids as written, numbers if all values are numeric, else text."""
    notation, missing = dialect.notations[name], options.missing_words
    if is_id:
        return text.parse_ids(values.to_pylist())
    if not is_text:
        try:
            return text.parse_arrow_numbers(values, missing, notation)
        except ValueError:
            pass
    return text.parse_words(values.to_pylist(), missing, notation)


@contextmanager
def _readable(file: Path, options: ReadOptions) -> Iterator[None]:
    """Convert readers' errors to one that names the line and does not quote it."""
    try:
        yield
    except UnicodeError:
        raise _undecodable(file, options) from None
    except DAMAGED:
        raise DataError(f"{file}: damaged or incomplete; compress it again") from None
    except (OSError, csv.Error) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise DataError(f"{file}: not a readable CSV file ({reason})") from None
    except ValueError as problem:  # of Arrow, whose messages quote the values
        if isinstance(problem, DataError):
            raise
        if "UTF8" in str(problem):
            raise _undecodable(file, options) from None
        raise _unfitting(file, options) from None


def _undecodable(file: Path, options: ReadOptions) -> DataError:
    if options.encoding is not None:
        line = find_undecodable(file, options.encoding)
        return DataError(
            f"{file}:{line}: the line is not valid {options.encoding}, which [data] sets as its "
            "encoding"
        )
    encoding = dialect_of(file, options).encoding
    line = find_undecodable(file, encoding)
    return DataError(
        f"{file}:{line}: the line is not valid {encoding}, unlike the lines before it; set "
        'encoding under [data], such as encoding = "cp1252"'
    )


def _unfitting(file: Path, options: ReadOptions) -> DataError:
    """The error about the first line that does not have one value per column name."""
    try:
        for _ in _rows(file, dialect_of(file, options)):
            pass
    except DataError as error:
        return error
    except UnicodeError:
        return _undecodable(file, options)
    return DataError(f"{file}: a line does not have one value per column name")


def _rows(file: Path, dialect: Dialect) -> Iterator[tuple[int, list[str]]]:
    """The number of the line at which a row ends, and its values."""
    width = len(dialect.names)
    with open_text(file, dialect.encoding) as lines:
        kept = skip_lines(lines, dialect.ignored, dialect.comment) if dialect.skips else lines
        reader, start = csv.reader(chain(kept, [_END]), delimiter=dialect.delimiter), 1
        for row in reader:
            if row and _END in row[-1]:
                if len(row) > 1 or row[0] != _END:
                    raise DataError(f"{file}:{start}: a quote is opened here and never closed")
                return
            line, start = reader.line_num, reader.line_num + 1
            if not row or line <= dialect.header_lines:
                continue
            if len(row) != width:
                next_line = line == dialect.header_lines + 1
                raise misfit(file, line, row, width, next_line=next_line)
            yield line, row


def _lines(file: Path, options: ReadOptions) -> Iterator[int]:
    with _readable(file, options):
        for line, _ in _rows(file, dialect_of(file, options)):
            yield line


def _inspect(file: Path, options: ReadOptions) -> Reading:
    with _readable(file, options):
        return dialect_of(file, options).reading


def _kinds(file: Path, options: ReadOptions) -> Mapping[str, Kind]:
    """What each column holds, judged by the first lines."""
    require_arrow(file)
    with _readable(file, options):
        return dialect_of(file, options).kinds


def _batches(file: Path, selection: Selection) -> Iterator[Columns]:
    options = selection.options
    with _readable(file, options):
        dialect = dialect_of(file, options)
        for batch in _arrow_batches(file, dialect, list(selection.names)):
            for first in range(0, batch.num_rows, selection.n_rows):
                part = batch.slice(first, selection.n_rows)
                yield {
                    name: _parse(
                        name,
                        part.column(name),
                        dialect,
                        options,
                        is_id=name == selection.id,
                        is_text=name in selection.text_columns,
                    )
                    for name in selection.names
                }


def _arrow_batches(file: Path, dialect: Dialect, names: list[str]) -> Iterator[Any]:
    """All rows with all values as text; `data.text` then parses them for all files alike."""
    arrow = require_arrow(file)
    from pyarrow import csv as arrow_csv

    parts, ended = _utf8_parts(file, dialect), False
    with (
        BufferedReader(PartStream(parts), _BLOCK) as source,
        arrow_csv.open_csv(
            source,
            read_options=arrow_csv.ReadOptions(block_size=_BLOCK, use_threads=False),
            parse_options=arrow_csv.ParseOptions(
                delimiter=dialect.delimiter, newlines_in_values=True
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, arrow.string()), include_columns=names
            ),
        ) as reader,
    ):
        for batch in reader:
            ended = batch.num_rows > 0 and batch.column(0)[-1].as_py() == _END
            yield batch.slice(0, batch.num_rows - ended)
    if not ended:
        raise ValueError("the mark of the end was swallowed by a quote")


def _utf8_parts(file: Path, dialect: Dialect) -> Iterator[bytes]:
    """The file as Arrow reads it: UTF-8, decompressed, without lines that are not data.

    A last row marks the end. A quote that is not closed swallows it, and Arrow would not complain.
    """
    if dialect.plain:
        with open_bytes(file) as opened:
            while block := opened.read(_BLOCK):
                yield block
    else:
        with open_text(file, dialect.encoding) as opened_text:
            for part in _data_lines(opened_text, dialect):
                yield part.encode("utf-8", "surrogatepass")
    yield f"\n{dialect.delimiter.join([_END] * len(dialect.names))}\n".encode()


def _data_lines(opened: IO[str], dialect: Dialect) -> Iterator[str]:
    ignored = dialect.ignored
    if dialect.renamed:
        ignored = dialect.header_lines
        quoted = ('"' + name.replace('"', '""') + '"' for name in dialect.names)
        yield dialect.delimiter.join(quoted) + "\n"
    yield from read_parts(opened, ignored, dialect.comment)


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


CSV = Format(
    "CSV",
    (".csv", ".tsv", ".txt"),
    _read,
    BatchReader(_kinds, _batches),
    _Writer,
    inspect=_inspect,
    lines=_lines,
    marks_missing=True,
    compressed=True,
)
