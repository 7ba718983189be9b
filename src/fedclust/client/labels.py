"""Labels and memberships of a client's rows, batch by batch, into a file that is the client's."""

import csv
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from ..clustering.model import Model
from ..core import ConfigError, DataError
from ..data.files import NEEDS_ARROW, Columns
from ..typing import Array, BoolArray

_CLUSTER, _MEMBERSHIP = "cluster", "membership_"  # columns of labels


class _Writer(Protocol):
    def __enter__(self) -> Self: ...
    def __exit__(self, *problem: object) -> None: ...
    def write(self, columns: dict[str, Array]) -> None: ...


class Labelled(NamedTuple):
    """How many rows each cluster has, and how many a gap left out."""

    sizes: dict[int, int]
    left_out: int


def write_labels(
    model: Model, batches: Iterable[Columns], target: Path, id: str | None, who: str
) -> Labelled:
    """One line per row of the client's file, in its order.

    A row that a gap leaves out has an empty cluster and empty memberships. The file is there
    whole or not at all.
    """
    sizes, rows = np.zeros(len(model.ids), dtype=int), 0
    with _whole_or_not(target, who) as writer:
        for columns, places in _labelled(model, batches, id, who):
            writer.write(columns)
            sizes += np.bincount(places, minlength=len(sizes))
            rows += len(columns[_CLUSTER])
    counted = {id: int(size) for id, size in zip(model.ids, sizes, strict=True)}
    return Labelled(counted, rows - sum(counted.values()))


def write_columns(columns: dict[str, Array], target: Path, who: str) -> None:
    """The same from columns that are known already."""
    with _whole_or_not(target, who) as writer:
        writer.write(columns)


@contextmanager
def _whole_or_not(target: Path, who: str) -> Iterator[_Writer]:
    """A writer to a file that takes its place when all is written."""
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with _WRITERS[target.suffix](scratch) as writer:
            yield writer
        if not scratch.exists():
            raise DataError(f"{who}: there are no rows to label")
        os.replace(scratch, target)
    finally:
        scratch.unlink(missing_ok=True)


def _labelled(
    model: Model, batches: Iterable[Columns], id: str | None, who: str
) -> Iterator[tuple[dict[str, Array], Array]]:
    first = 0
    for batch in batches:
        rows, kept = model.rows(batch, who)
        places = model.nearest(rows)
        name = id or "row"
        columns: dict[str, Array] = {name: batch[id] if id else np.arange(first, first + len(kept))}
        columns[_CLUSTER] = _spread(np.array(model.ids)[places], kept)
        if model.fuzzifier is not None:
            U = model.memberships(rows)
            columns |= {
                f"{_MEMBERSHIP}{id}": _spread(U[:, c], kept) for c, id in enumerate(model.ids)
            }
        first += len(kept)
        yield columns, places


def _spread(values: Array, kept: BoolArray) -> Array:
    """Values of the rows that were kept, among masked ones where rows were left out."""
    all_rows: Any = np.zeros(len(kept), dtype=values.dtype)
    all_rows[kept] = values
    return np.ma.MaskedArray(all_rows, mask=~kept)


class _Parquet:
    def __init__(self, path: Path) -> None:
        try:
            import pyarrow
            from pyarrow import parquet
        except ImportError:
            raise ConfigError(f"{path}: {NEEDS_ARROW}") from None
        self._arrow, self._parquet, self._path = pyarrow, parquet, path
        self._opened: Any = None
        self._kind: Any = None  # of ids: that of the first batch

    def __enter__(self) -> Self:
        return self

    def write(self, columns: dict[str, Array]) -> None:
        table = self._arrow.table({name: self._column(v) for name, v in columns.items()})
        if self._opened is None:
            self._opened = self._parquet.ParquetWriter(self._path, table.schema)
        self._opened.write_table(table)

    def _column(self, values: Array) -> Any:
        if isinstance(values, np.ma.MaskedArray):
            return self._arrow.array(values.data, mask=np.ma.getmaskarray(values))
        if values.dtype.kind == "O":
            return self._ids(values.tolist())
        return self._arrow.array(values)

    def _ids(self, values: list[Any]) -> Any:
        """Ids as the file held them; as text if Arrow has no kind for all of them."""
        arrow, text = self._arrow, self._arrow.string()
        try:
            if self._kind != text:
                found = arrow.array(values, type=self._kind)
                self._kind = text if found.type == arrow.null() else found.type
        except (arrow.ArrowException, OverflowError):
            if self._kind is not None:
                raise DataError("ids of different kinds; write labels to a .csv file") from None
            self._kind = text
        if self._kind == text:
            return arrow.array([None if v is None else str(v) for v in values], type=text)
        return found

    def __exit__(self, *problem: object) -> None:
        if self._opened is not None:
            self._opened.close()


class _Csv:
    def __init__(self, path: Path) -> None:
        self._file = open(path, "w", newline="", encoding="utf-8")  # noqa: SIM115
        self._writer = csv.writer(self._file, lineterminator="\n")
        self._begun = False

    def __enter__(self) -> Self:
        return self

    def write(self, columns: dict[str, Array]) -> None:
        if not self._begun:
            self._writer.writerow(columns)
            self._begun = True
        self._writer.writerows(zip(*(_words(v) for v in columns.values()), strict=True))

    def __exit__(self, *problem: object) -> None:
        self._file.close()


def _words(values: Array) -> list[Any]:
    """As text: six digits of a membership, nothing where there is none."""
    if isinstance(values, np.ma.MaskedArray):
        plain = values.tolist()
        return ["" if v is None else f"{v:.6g}" if isinstance(v, float) else v for v in plain]
    found: list[Any] = values.tolist()
    return found


def refuse_id(id: str | None, key: str) -> None:
    """Refuse an id of a name that labels have a column of: one would overwrite the other."""
    if id is not None and (id == _CLUSTER or re.fullmatch(rf"{_MEMBERSHIP}\d+", id)):
        raise ConfigError(f"{key}: labels have a column of this name; rename the column of ids")


_WRITERS: dict[str, Callable[[Path], _Writer]] = {".parquet": _Parquet, ".csv": _Csv}


def writer_for(target: Path) -> None:
    """Refuse a kind of file that cannot be written, before anything is computed."""
    if target.suffix not in _WRITERS:
        raise ConfigError(f"{target}: labels are written to {' or '.join(_WRITERS)} files")
    if target.suffix == ".parquet":
        _Parquet(target)
