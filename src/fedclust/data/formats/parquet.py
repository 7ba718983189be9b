"""Parquet files, through pyarrow.

Files are opened one by one, because the dataset scanner of pyarrow reads ahead without a memory
limit, whatever its settings.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np

from ...core import DataError
from ...typing import Array
from ..kinds import Kind
from ..settings import ReadOptions
from ._arrow import as_columns, read_kinds, require_arrow, select_columns, text_columns
from .format import BatchReader, Columns, Format, Selection
from .header import refuse_duplicates

_PEEKED = 1_000  # rows by which a column of text is judged


def _read(file: Path, options: ReadOptions, id: str | None) -> Columns:
    require_arrow(file)
    from pyarrow import parquet

    refuse_duplicates(file, parquet.read_schema(file).names)
    table = parquet.read_table(file)
    return as_columns(table, table.column_names, id)


def _kinds(file: Path, options: ReadOptions) -> dict[str, Kind]:
    require_arrow(file)
    from pyarrow import parquet

    with parquet.ParquetFile(file, pre_buffer=False) as opened:
        texts = text_columns(file, opened.schema_arrow)
        batches = opened.iter_batches(_PEEKED, columns=texts, use_threads=False) if texts else ()
        return read_kinds(file, opened.schema_arrow, next(iter(batches), None))


def _batches(file: Path, selection: Selection) -> Iterator[Columns]:
    require_arrow(file)
    from pyarrow import parquet

    with parquet.ParquetFile(file, pre_buffer=False) as opened:
        for batch in opened.iter_batches(
            batch_size=selection.n_rows, columns=list(selection.names), use_threads=False
        ):
            yield select_columns(batch, selection)


class _Writer:
    """Labels as a Parquet file with one row group per batch."""

    def __init__(self, path: Path) -> None:
        self._arrow, self._path = require_arrow(path), path
        self._opened: Any = None
        self._kind: Any = None  # Arrow type of the ids, from the first batch

    def __enter__(self) -> Self:
        return self  # the first batch defines the schema, so the file is opened then

    def write(self, columns: Columns) -> None:
        from pyarrow import parquet

        table = self._arrow.table({name: self._column(v) for name, v in columns.items()})
        if self._opened is None:
            self._opened = parquet.ParquetWriter(self._path, table.schema)
        self._opened.write_table(table)

    def _column(self, values: Array) -> Any:
        if isinstance(values, np.ma.MaskedArray):
            return self._arrow.array(values.data, mask=np.ma.getmaskarray(values))
        if values.dtype.kind == "O":
            return self._ids(values.tolist())
        return self._arrow.array(values)

    def _ids(self, values: list[Any]) -> Any:
        """Ids in their own type, or as text if they have no common Arrow type."""
        arrow, text = self._arrow, self._arrow.string()
        try:
            if self._kind != text:
                ids = arrow.array(values, type=self._kind)
                self._kind = text if ids.type == arrow.null() else ids.type
        except (arrow.ArrowException, OverflowError):
            if self._kind is not None:
                raise DataError("ids have different types; write labels to a .csv file") from None
            self._kind = text
        if self._kind == text:
            return arrow.array([None if v is None else str(v) for v in values], type=text)
        return ids

    def __exit__(self, *problem: object) -> None:
        if self._opened is not None:
            self._opened.close()


PARQUET = Format(
    "Parquet",
    (".parquet",),
    _read,
    BatchReader(_kinds, _batches),
    _Writer,
    typed=True,
    extra="study",
)
