"""A client's files, batch by batch, through pyarrow: memory for a batch, not for the file.

Parquet and Feather files are opened one by one: pyarrow's dataset scanner reads ahead as far as
memory goes, its read-ahead settings notwithstanding.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core import ConfigError, DataError
from .files import NEEDS_ARROW, Columns, as_array

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
                for batch in opened.batches(file, self):
                    yield {
                        n: as_array(batch.column(i), n == self.id)
                        for i, n in enumerate(batch.schema.names)
                    }
            except (OSError, ValueError, KeyError) as problem:
                raise DataError(_said(file, problem)) from None


def kinds(files: Sequence[Path], gaps: Collection[str]) -> Mapping[str, bool]:
    """Names of the columns that all files have, and whether they hold numbers."""
    found: dict[str, bool] = {}
    for number, file in enumerate(files):
        opened = _format(file)
        try:
            schema = opened.schema(file, gaps)
        except (OSError, ValueError) as problem:
            raise DataError(_said(file, problem)) from None
        here = {field.name: _is_number(field.type) for field in schema}
        if number and here.keys() != found.keys():
            odd = ", ".join(sorted(here.keys() ^ found.keys()))
            raise DataError(f"{file}: columns {odd} are not in all files of this client")
        found = {name: is_number and found.get(name, True) for name, is_number in here.items()}
    return found


def _said(file: Path, problem: Exception) -> str:
    """Arrow's own words may hold a value; people's values are not told."""
    if "conversion error" in str(problem):
        return (
            f"{file}: a column that began with numbers holds a word further down; declare it "
            "under [features], or leave it out"
        )
    return f"{file}: not readable ({str(problem).splitlines()[0]})"


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    return any(
        test(kind) for test in (types.is_integer, types.is_floating, types.is_decimal)
    ) or bool(types.is_null(kind))


def _arrow(file: Path) -> Any:
    try:
        import pyarrow
    except ImportError:
        raise ConfigError(f"{file}: {NEEDS_ARROW}") from None
    return pyarrow


def _parquet_schema(file: Path, gaps: Collection[str]) -> Any:
    from pyarrow import parquet

    return parquet.read_schema(file)


def _parquet(file: Path, wanted: Stream) -> Iterator[Any]:
    from pyarrow import parquet

    with parquet.ParquetFile(file, pre_buffer=False) as opened:
        yield from opened.iter_batches(
            batch_size=wanted.n_rows, columns=list(wanted.names), use_threads=False
        )


def _feather_schema(file: Path, gaps: Collection[str]) -> Any:
    arrow = _arrow(file)
    with arrow.memory_map(str(file)) as mapped:
        return arrow.ipc.open_file(mapped).schema


def _feather(file: Path, wanted: Stream) -> Iterator[Any]:
    arrow = _arrow(file)
    with arrow.memory_map(str(file)) as mapped:
        opened = arrow.ipc.open_file(mapped)
        for number in range(opened.num_record_batches):
            batch = opened.get_batch(number).select(list(wanted.names))
            for first in range(0, batch.num_rows, wanted.n_rows):
                yield batch.slice(first, wanted.n_rows)


def _csv_schema(file: Path, gaps: Collection[str]) -> Any:
    with _csv_reader(file, gaps, {}, None) as reader:
        return reader.schema


def _csv(file: Path, wanted: Stream) -> Iterator[Any]:
    arrow = _arrow(file)
    text = {*wanted.words, *([wanted.id] if wanted.id else [])}
    types = {n: arrow.string() if n in text else arrow.float64() for n in wanted.names}
    with _csv_reader(file, wanted.gaps, types, wanted.names) as reader:
        for batch in reader:
            for first in range(0, batch.num_rows, wanted.n_rows):
                yield batch.slice(first, wanted.n_rows)


def _csv_reader(
    file: Path, gaps: Collection[str], types: Mapping[str, Any], names: Sequence[str] | None
) -> Any:
    from pyarrow import csv

    return csv.open_csv(
        file,
        read_options=csv.ReadOptions(block_size=_CSV_BLOCK, use_threads=False),
        parse_options=csv.ParseOptions(newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            column_types=types,
            null_values=list(gaps),
            strings_can_be_null=True,
            include_columns=list(names) if names is not None else None,
        ),
    )


@dataclass(frozen=True)
class _Format:
    schema: Callable[[Path, Collection[str]], Any]
    batches: Callable[[Path, Stream], Iterable[Any]]


_FORMATS = {
    ".parquet": _Format(_parquet_schema, _parquet),
    ".feather": _Format(_feather_schema, _feather),
    ".csv": _Format(_csv_schema, _csv),
}


def _format(file: Path) -> _Format:
    _arrow(file)
    known = _FORMATS.get(file.suffix.lower())
    if known is None:
        raise ConfigError(
            f"{file}: only {', '.join(_FORMATS)} files are read in batches; save it as Parquet, "
            "or set batch_rows = 0"
        )
    return known


@dataclass(frozen=True, eq=False)
class Held:
    """Columns that are in memory already: one batch."""

    columns: Columns

    def batches(self) -> Iterator[Columns]:
        """All rows at once."""
        yield self.columns


Source = Held | Stream
