"""One client's files: preflight of their columns, and the rows that plans may use."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..clustering.model import Model
from ..clustering.preparation import Column, Preparation
from ..clustering.preparation.column import ColumnError
from ..core import Batches, Data, DataError, did_you_mean
from ..data.files import read_table
from ..data.formats import BATCH_ROWS, Columns, Selection
from ..data.streams import InMemory, Source, Stream, column_kinds
from ..typing import Array, FloatArray
from .column_check import ColumnCheck, Finding
from .labels import refuse_id, write_labels
from .problems import Problem

_FEW_ROWS = 10
_LARGE = 2**30  # bytes: larger files are read in batches unless batch_rows says otherwise


class RowCounts(NamedTuple):
    """How many rows a client has, and how many of them have no missing value."""

    rows: int
    complete: int

    def used(self, preparation: Preparation) -> int:
        """How many rows take part."""
        return self.complete if preparation.fill is None else self.rows


class ClientFiles:
    """The files of one client, in memory or read in batches whenever they are needed."""

    def __init__(
        self,
        name: str,
        paths: Sequence[Path],
        *,
        na_values: Collection[str],
        id: str | None = None,
        batch_rows: int | None = None,
    ) -> None:
        refuse_id(id, f"[data] id = {id!r}")
        self.name, self.id = name, id
        self._paths, self._na_values = tuple(paths), tuple(na_values)
        self._batch_rows = batch_rows or BATCH_ROWS
        self._held: Columns | None = None
        self._encoded: dict[Column, FloatArray] = {}  # each column of rows in memory, once
        self._checked: dict[Any, tuple[list[Problem], RowCounts]] = {}  # the last check
        large = sum(path.stat().st_size for path in paths) >= _LARGE
        if batch_rows or (batch_rows is None and large):
            self._numeric = column_kinds(paths, na_values)
        else:
            self._held = read_table(paths, na_values, id)
            self._numeric = {n: v.dtype.kind in "fiu" for n, v in self._held.items()}

    @property
    def numbers(self) -> list[str]:
        """Names of the numeric columns, without the ids and row numbers."""
        return [
            name
            for name, is_number in self._numeric.items()
            if is_number and name != self.id and not is_index(name)
        ]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns, including the id column."""
        return tuple(self._numeric)

    def held(self, name: str) -> Array:
        """The values of a column, all of which are in memory."""
        if self._held is None:
            raise DataError(f"{self._who}: all rows are needed in memory; set batch_rows = 0")
        return self._held[name]

    @property
    def in_batches(self) -> bool:
        """Whether the rows are read again whenever they are needed."""
        return self._held is None

    def check(self, columns: Sequence[Column]) -> tuple[list[Problem], RowCounts]:
        """Problems of the columns, and the number of rows.

        It takes one pass over the files, and none if the same columns of the same files were
        checked before.
        """
        what = (tuple(columns), () if self._held is not None else tuple(map(_state, self._paths)))
        if what not in self._checked:
            self._checked = {what: self._check(columns)}
        problems, counts = self._checked[what]
        return list(problems), counts

    def _check(self, columns: Sequence[Column]) -> tuple[list[Problem], RowCounts]:
        checks = {c: ColumnCheck(c) for c in columns if c.name in self._numeric}
        try:
            counts = self._count(checks, columns)
        except DataError as error:
            return [Problem(self.name, "unreadable", detail=str(error))], RowCounts(0, 0)
        problems = list(self._check_ids())
        if counts.rows == 0:
            problems.append(Problem(self.name, "no-rows"))
        elif counts.rows < _FEW_ROWS:
            few = Problem(self.name, "few-rows", detail=str(counts.rows), blocking=False)
            problems.append(few)
        for column in columns:
            if column not in checks:
                near = did_you_mean(column.name, self._numeric).removeprefix("; ")
                problems.append(Problem(self.name, "column-missing", column.name, near))
            elif counts.rows:
                problems += [
                    Problem(self.name, finding.code, column.name, finding.detail, finding.blocking)
                    for finding in checks[column].findings()
                ]
        return problems, counts

    def _count(self, checks: Mapping[Column, ColumnCheck], columns: Sequence[Column]) -> RowCounts:
        rows = complete = 0
        for batch in self._source(columns).batches():
            size = len(next(iter(batch.values()), ()))
            missing = np.zeros(size, dtype=bool)
            for column, check in checks.items():
                try:
                    missing |= check.add(self._encode(column, batch))
                except ColumnError as error:
                    check.error = Finding(error.problem, error.detail)
            rows, complete = rows + size, complete + int((~missing).sum())
        return RowCounts(rows, complete)

    def _check_ids(self) -> Iterator[Problem]:
        """Repeated ids are looked for where all rows are in memory anyway."""
        if self.id is None:
            return
        if self.id not in self._numeric:
            yield Problem(self.name, "id-missing", self.id)
        elif self._held is not None:
            ids = self._held[self.id].tolist()
            if repeated := len(ids) - len(set(map(str, ids))):
                yield Problem(self.name, "id-repeated", self.id, str(repeated), blocking=False)

    def _encode(self, column: Column, batch: Columns) -> FloatArray:
        """A column as numbers, missing values included; rows in memory are encoded once."""
        if self._held is None:
            return column.encode(batch[column.name], self._who)
        if column not in self._encoded:
            self._encoded[column] = column.encode(batch[column.name], self._who)
        return self._encoded[column]

    def _encode_all(self, columns: Sequence[Column]) -> Iterator[tuple[Columns, FloatArray]]:
        """Batches as they were read, and their columns as numbers."""
        for batch in self._source(columns).batches():
            absent = [column.name for column in columns if column.name not in batch]
            if absent:
                raise DataError(f"{self._who}: there is no column {', '.join(map(repr, absent))}")
            yield batch, np.hstack([self._encode(column, batch) for column in columns])

    def encode(self, columns: Sequence[Column]) -> Data | Batches:
        """The columns as numbers, missing values included."""

        def read() -> Iterator[Data]:
            for _, rows in self._encode_all(columns):
                yield Data(rows, np.empty(0))

        if self._held is not None:
            return next(read())
        width = sum(len(column.encoded_names) for column in columns)
        return Batches(read, self.check(columns)[1].rows, width)

    def prepare(self, preparation: Preparation) -> Data | Batches:
        """The rows as they are clustered."""

        def read() -> Iterator[Data]:
            for _, encoded in self._encode_all(preparation.columns):
                rows = preparation.scale_rows(encoded)[0]
                yield Data.of(rows, client=self._who, names=preparation.names)

        if self._held is not None:
            return next(read())
        used = self.check(preparation.columns)[1].used(preparation)
        return Batches(read, used, len(preparation.names))

    def write_labels(self, model: Model, target: Path) -> None:
        """Write the cluster of every row; the file stays with the client."""
        batches = self._encode_all(model.preparation.columns)
        write_labels(model, batches, target, self.id, self._who)

    @property
    def _who(self) -> str:
        return f"client {self.name!r}"

    def _source(self, columns: Sequence[Column]) -> Source:
        if self._held is not None:
            return InMemory(self._held)
        wanted: Mapping[str, Column] = {column.name: column for column in columns}
        names = tuple(n for n in self._numeric if n in wanted or n == self.id)
        words = frozenset(n for n in names if n in wanted and wanted[n].categories)
        selection = Selection(names, words, self._na_values, self.id, self._batch_rows)
        return Stream(self._paths, selection)


def _state(path: Path) -> tuple[int, int] | None:
    """Size and time of the last change; None: the file is gone."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns


def is_index(name: str) -> bool:
    """Whether a column only numbers rows: pandas writes such a column without a name."""
    return not name.strip() or name == "Unnamed: 0"
