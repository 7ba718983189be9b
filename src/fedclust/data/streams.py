"""A client's files, batch by batch, through pyarrow: memory for a batch, not for the file.

Parquet and Feather files are opened one by one: pyarrow's dataset scanner reads ahead as far as
memory goes, its read-ahead settings notwithstanding.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core import ConfigError, DataError
from ..typing import Array
from . import text
from .files import (
    NEEDS_ARROW,
    Columns,
    as_array,
    csv_names,
    first_line,
    refuse_empty,
    refuse_twice,
)

BATCH_ROWS = 65_536
_CSV_BLOCK = 2**22  # bytes


@dataclass(frozen=True)
class Stream:
    """Columns of a client's files, read anew whenever they are asked for."""

    files: tuple[Path, ...]
    names: tuple[str, ...]  # the columns to read
    words: frozenset[str]  # those that hold no numbers
    gaps: tuple[str, ...]  # what stands for a gap in text files
    id: str | None = None
    n_rows: int = BATCH_ROWS  # of a batch

    def batches(self) -> Iterator[Columns]:
        """All rows, in the order of files and lines."""
        for file in self.files:
            opened = _format(file)
            try:
                yield from opened.batches(file, self)
            except DataError:
                raise
            except (OSError, ValueError, KeyError, NotImplementedError) as problem:
                raise DataError(_said(file, problem)) from None


def kinds(files: Sequence[Path], gaps: Collection[str]) -> Mapping[str, bool]:
    """Names of the columns that all files have, and whether they hold numbers."""
    found: dict[str, bool] = {}
    for number, file in enumerate(files):
        opened = _format(file)
        try:
            here = opened.kinds(file, gaps)
        except DataError:
            raise
        except (OSError, ValueError, KeyError, NotImplementedError) as problem:
            raise DataError(_said(file, problem)) from None
        if number and here.keys() != found.keys():
            odd = ", ".join(sorted(here.keys() ^ found.keys()))
            raise DataError(f"{file}: columns {odd} are not in all files of this client")
        found = {name: is_number and found.get(name, True) for name, is_number in here.items()}
    return found


def _said(file: Path, problem: Exception) -> str:
    """Arrow's own words may hold a value; people's values are not told."""
    if "CSV parse error" in str(problem):
        return f"{file}: a line has more or fewer values than the first line has names"
    return f"{file}: not readable ({first_line(problem)})"


def _kinds(file: Path, schema: Any) -> dict[str, bool]:
    from pyarrow import types

    refuse_twice(file, schema.names)
    tests = (types.is_integer, types.is_floating, types.is_decimal, types.is_null)
    return {field.name: any(test(field.type) for test in tests) for field in schema}


def _columns(batch: Any, wanted: Stream) -> Columns:
    return {n: as_array(batch.column(n), n == wanted.id) for n in wanted.names}


def _arrow(file: Path) -> Any:
    try:
        import pyarrow
    except ImportError:
        raise ConfigError(f"{file}: {NEEDS_ARROW}") from None
    return pyarrow


def _parquet_kinds(file: Path, gaps: Collection[str]) -> dict[str, bool]:
    from pyarrow import parquet

    return _kinds(file, parquet.read_schema(file))


def _parquet(file: Path, wanted: Stream) -> Iterator[Columns]:
    from pyarrow import parquet

    with parquet.ParquetFile(file, pre_buffer=False) as opened:
        for batch in opened.iter_batches(
            batch_size=wanted.n_rows, columns=list(wanted.names), use_threads=False
        ):
            yield _columns(batch, wanted)


def _feather_kinds(file: Path, gaps: Collection[str]) -> dict[str, bool]:
    arrow = _arrow(file)
    with arrow.memory_map(str(file)) as mapped:
        return _kinds(file, arrow.ipc.open_file(mapped).schema)


def _feather(file: Path, wanted: Stream) -> Iterator[Columns]:
    arrow = _arrow(file)
    with arrow.memory_map(str(file)) as mapped:
        opened = arrow.ipc.open_file(mapped)
        for number in range(opened.num_record_batches):
            batch = opened.get_batch(number)
            for first in range(0, batch.num_rows, wanted.n_rows):
                yield _columns(batch.slice(first, wanted.n_rows), wanted)


def _csv_kinds(file: Path, gaps: Collection[str]) -> dict[str, bool]:
    """Whether a column holds numbers, by the file's first block: the rest is not read yet."""
    names = csv_names(file)
    with _csv_reader(file, names) as reader:
        first = next(iter(reader), None)
    if first is None:
        return dict.fromkeys(names, True)
    return {name: _all_numbers(first.column(name), gaps) for name in names}


def _all_numbers(values: Any, gaps: Collection[str]) -> bool:
    try:
        text.arrow_numbers(values, gaps)
    except ValueError:
        return False
    return True


def _csv(file: Path, wanted: Stream) -> Iterator[Columns]:
    with _csv_reader(file, list(wanted.names)) as reader:
        for batch in reader:
            for first in range(0, batch.num_rows, wanted.n_rows):
                part = batch.slice(first, wanted.n_rows)
                yield {name: _as_written(name, part, file, wanted) for name in wanted.names}


def _as_written(name: str, batch: Any, file: Path, wanted: Stream) -> Array:
    values = batch.column(name)
    if name == wanted.id:
        return text.ids(values.to_pylist())
    if name in wanted.words:
        return text.words(values.to_pylist(), wanted.gaps)
    try:
        return text.arrow_numbers(values, wanted.gaps)
    except ValueError:
        raise DataError(
            f"{file}: column {name!r} is taken for numbers, and holds a word further down; declare "
            "it under [features], or leave it out"
        ) from None


def _csv_reader(file: Path, names: list[str]) -> Any:
    """All columns as text, gaps and all: what a text means is said in one place for all files."""
    arrow = _arrow(file)
    from pyarrow import csv

    return csv.open_csv(
        file,
        read_options=csv.ReadOptions(block_size=_CSV_BLOCK, use_threads=False),
        parse_options=csv.ParseOptions(newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            column_types=dict.fromkeys(names, arrow.string()), include_columns=names
        ),
    )


@dataclass(frozen=True)
class _Format:
    kinds: Callable[[Path, Collection[str]], dict[str, bool]]
    batches: Callable[[Path, Stream], Iterable[Columns]]


_FORMATS = {
    ".parquet": _Format(_parquet_kinds, _parquet),
    ".feather": _Format(_feather_kinds, _feather),
    ".csv": _Format(_csv_kinds, _csv),
}


def _format(file: Path) -> _Format:
    _arrow(file)
    known = _FORMATS.get(file.suffix.lower())
    if known is None:
        raise ConfigError(
            f"{file}: only {', '.join(_FORMATS)} files are read in batches; save it as Parquet, "
            "or set batch_rows = 0"
        )
    refuse_empty(file)
    return known


@dataclass(frozen=True, eq=False)
class Held:
    """Columns that are in memory already: one batch."""

    columns: Columns

    def batches(self) -> Iterator[Columns]:
        """All rows at once."""
        yield self.columns


Source = Held | Stream
