"""Feather files (Arrow IPC), through pyarrow."""

from collections.abc import Iterator
from pathlib import Path

from ..kinds import Kind
from ..settings import ReadOptions
from ._arrow import as_columns, read_kinds, require_arrow, select_columns
from .format import BatchReader, Columns, Format, Selection
from .header import refuse_duplicates


def _read(file: Path, options: ReadOptions, id: str | None) -> Columns:
    require_arrow(file)
    from pyarrow import feather

    table = feather.read_table(file)
    refuse_duplicates(file, table.column_names)
    return as_columns(table, table.column_names, id)


def _kinds(file: Path, options: ReadOptions) -> dict[str, Kind]:
    arrow = require_arrow(file)
    with arrow.memory_map(str(file)) as mapped:
        opened = arrow.ipc.open_file(mapped)
        first = opened.get_batch(0) if opened.num_record_batches else None
        return read_kinds(file, opened.schema, first)


def _batches(file: Path, selection: Selection) -> Iterator[Columns]:
    arrow = require_arrow(file)
    with arrow.memory_map(str(file)) as mapped:
        opened = arrow.ipc.open_file(mapped)
        for number in range(opened.num_record_batches):
            batch = opened.get_batch(number)
            for first in range(0, batch.num_rows, selection.n_rows):
                yield select_columns(batch.slice(first, selection.n_rows), selection)


FEATHER = Format(
    "Feather", (".feather",), _read, BatchReader(_kinds, _batches), typed=True, extra="study"
)
