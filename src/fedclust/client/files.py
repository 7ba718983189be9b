"""One client's files: preflight of their columns, and the rows that plans may use."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..clustering.model import Model
from ..clustering.preparation import Column, Preparation
from ..clustering.preparation.column import UNREADABLE, ColumnError, clip_rows
from ..core import Batches, Data, DataError
from ..data.files import (
    concatenate,
    inspect,
    kinds_of,
    locate,
    read_tables,
    size_in_memory,
)
from ..data.formats import BATCH_ROWS, UNNAMED, Columns, Selection, format_of
from ..data.names import describe_near
from ..data.settings import FileSettings
from ..data.streams import InMemory, Source, Stream, column_kinds
from ..privacy.grouped_rows import ColumnBatch, FixedGroups
from ..typing import Array, FloatArray
from .column_check import ColumnCheck
from .labels import refuse_id, write_labels
from .problems import Problem
from .summary_row import is_summary

_FEW_ROWS = 10
_LARGE = 2**30  # bytes: larger files are read in batches unless batch_rows says otherwise


class RowCounts(NamedTuple):
    """How many rows a client has, and how many of them can be used as they are.

    These have no missing value; or any value, where a study takes rows with missing cells.
    """

    rows: int
    complete: int

    def used(self, preparation: Preparation) -> int:
        """How many rows take part."""
        return self.complete if preparation.fill is None else self.rows


class ClientFiles:
    """The files of one client, in memory or read in batches whenever they are needed."""

    def __init__(
        self, name: str, paths: Sequence[Path], settings: FileSettings | None = None
    ) -> None:
        self.settings = settings = settings or FileSettings()
        refuse_id(settings.id, f"[data] id = {settings.id!r}")
        self.name, self.id = name, settings.id
        self._paths = tuple(paths)
        self._batch_rows = settings.batch_rows or BATCH_ROWS
        self._held: Columns | None = None
        self._lengths: list[int] = []  # rows of each file, if they are in memory
        self._encoded: dict[Column, FloatArray] = {}  # each column of rows in memory, once
        self._checked: dict[Any, tuple[list[Problem], RowCounts]] = {}  # the last check
        self.readings = {path: inspect(path, settings) for path in self._paths}
        if in_batches(self._paths, settings):
            self.kinds = column_kinds(paths, settings)
        else:
            tables = read_tables(paths, settings, settings.id)
            self._lengths = [len(next(iter(table.values()), ())) for table in tables]
            self._held = concatenate(tables)
            self.kinds = kinds_of(self._held, self.readings)

    @property
    def numbers(self) -> list[str]:
        """Names of the columns that are meant to be numeric, without ids and row numbers.

        A column in which only some values are not numbers is one of them. It must not be left out
        without a word.
        """
        return [
            name
            for name, kind in self.kinds.items()
            if kind.numeric and name != self.id and not is_index(name)
        ]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns, including the id column."""
        return tuple(self.kinds)

    def held(self, name: str) -> Array:
        """The values of a column, all of which are in memory."""
        if self._held is None:
            raise DataError(f"{self._who}: all rows are needed in memory; set batch_rows = 0")
        return self._held[name]

    @property
    def in_batches(self) -> bool:
        """Whether the rows are read again whenever they are needed."""
        return self._held is None

    def check(
        self, columns: Sequence[Column], partial: bool = False
    ) -> tuple[list[Problem], RowCounts]:
        """Problems of the columns, and the number of rows; `partial` rows may have missing cells.

        It takes one pass over the files, and none if the same columns of the same files were
        checked before.
        """
        states = () if self._held is not None else tuple(map(_state, self._paths))
        what = (tuple(columns), partial, states)
        if what not in self._checked:
            self._checked = {what: self._check(columns, partial)}
        problems, counts = self._checked[what]
        return list(problems), counts

    def _check(self, columns: Sequence[Column], partial: bool) -> tuple[list[Problem], RowCounts]:
        id_feature = [
            Problem(self.name, "id-feature", c.name) for c in columns if c.name == self.id
        ]
        columns = [column for column in columns if column.name != self.id]
        if partial and any(column.name in self.kinds for column in columns):
            columns = [column for column in columns if column.name in self.kinds]
        checks = {c: ColumnCheck(c) for c in columns if self._can_encode(c)}
        try:
            counts = self._count(checks, columns, partial)
        except DataError as error:
            return [Problem(self.name, "unreadable", detail=str(error))], RowCounts(0, 0)
        problems = [*id_feature, *self._check_ids(), *self._check_last_rows()]
        if counts.rows == 0:
            problems.append(Problem(self.name, "no-rows"))
        elif counts.rows < _FEW_ROWS:
            few = Problem(self.name, "few-rows", detail=str(counts.rows), blocking=False)
            problems.append(few)
        for column in columns:
            found = self._check_column(column, checks.get(column), counts.rows)
            problems += [_allow_missing(problem) for problem in found] if partial else found
        return problems, counts

    def _can_encode(self, column: Column) -> bool:
        kind = self.kinds.get(column.name)
        return kind is not None and (column.holds_words or not kind.unreadable)

    def _check_column(
        self, column: Column, check: ColumnCheck | None, n_rows: int
    ) -> Iterator[Problem]:
        if column.name not in self.kinds:
            near = describe_near(column.name, self.kinds)
            yield Problem(self.name, "column-missing", column.name, near)
        elif check is None:
            yield Problem(self.name, UNREADABLE[self.kinds[column.name]], column.name)
        elif n_rows:
            if lost := self._lost_categories(column):
                yield Problem(self.name, "category-missing", column.name, ", ".join(lost))
            for code, detail, blocking, row in check.findings():
                yield Problem(self.name, code, column.name, self._place(detail, row), blocking)

    def _lost_categories(self, column: Column) -> list[str]:
        """Categories that text files cannot hold, because they are read as missing values."""
        if not any(format_of(path).marks_missing for path in self._paths):
            return []
        return [word for word in column.categories if word in self.settings.missing_words]

    def _place(self, detail: str, row: int | None) -> str:
        where = "" if row is None else locate(self._paths, self.settings, row)
        return f"{detail}; first in {where}" if where else detail

    def _check_last_rows(self) -> Iterator[Problem]:
        """Totals at the end of files; they are looked for where all rows are in memory anyway."""
        last = -1
        for n_rows in self._lengths:
            last += n_rows
            if n_rows and self._held is not None and is_summary(self._held, last):
                where = locate(self._paths, self.settings, last)
                yield Problem(self.name, "summary-row", detail=where, blocking=False)

    def _count(
        self, checks: Mapping[Column, ColumnCheck], columns: Sequence[Column], partial: bool
    ) -> RowCounts:
        rows = complete = 0
        for batch in self._source(columns).batches():
            size = len(next(iter(batch.values()), ()))
            missing = np.full(size, partial and len(checks) > 0)
            for column, check in checks.items():
                try:
                    here = check.add(self._encode(column, batch))
                except ColumnError as error:
                    check.fail(error, size)
                else:
                    missing = missing & here if partial else missing | here
            rows, complete = rows + size, complete + int((~missing).sum())
        return RowCounts(rows, complete)

    def _check_ids(self) -> Iterator[Problem]:
        """Repeated ids are looked for where all rows are in memory anyway."""
        if self.id is None:
            return
        if self.id not in self.kinds:
            near = describe_near(self.id, self.kinds)
            yield Problem(self.name, "id-missing", self.id, near)
        elif self._held is not None:
            ids = self._held[self.id].tolist()
            if repeated := len(ids) - len(set(map(str, ids))):
                yield Problem(self.name, "id-repeated", self.id, str(repeated), blocking=False)

    def _encode(self, column: Column, batch: Columns) -> FloatArray:
        """A column as numbers, missing values included; rows in memory are encoded once."""
        order = self.settings.dates
        if self._held is None:
            return column.encode(batch[column.name], self._who, order)
        if column not in self._encoded:
            self._encoded[column] = column.encode(batch[column.name], self._who, order)
        return self._encoded[column]

    def _encode_all(
        self, columns: Sequence[Column], *, may_lack: bool = False
    ) -> Iterator[tuple[Columns, FloatArray]]:
        """Batches as they were read, and their columns as numbers.

        With `may_lack`, a column that the client does not have is missing in every row.
        """
        for batch in self._source(columns).batches():
            absent = [column.name for column in columns if column.name not in batch]
            if absent and not (may_lack and len(absent) < len(columns)):
                raise DataError(f"{self._who}: there is no column {', '.join(map(repr, absent))}")
            n = len(next(iter(batch.values()), ()))
            yield (
                batch,
                np.hstack(
                    [
                        self._encode(c, batch) if c.name in batch else c.all_missing(n)
                        for c in columns
                    ]
                ),
            )

    def raw_columns(self, columns: Sequence[Column]) -> Iterator[ColumnBatch]:
        """Batches of encoded columns, with the bytes that they were encoded from."""
        for batch, rows in self._encode_all(columns):
            yield ColumnBatch(rows, [_bytes_of(batch[column.name]) for column in columns])

    def _averaged(
        self, columns: Sequence[Column], groups: FixedGroups | None, *, may_lack: bool = False
    ) -> Iterator[FloatArray]:
        """Encoded columns; with groups, the means of each row's group."""
        first = 0
        for _, rows in self._encode_all(columns, may_lack=may_lack):
            yield rows if groups is None else groups.averaged(rows, first).X
            first += len(rows)

    def encode(
        self,
        columns: Sequence[Column],
        groups: FixedGroups | None = None,
        *,
        may_lack: bool = False,
    ) -> Data | Batches:
        """The columns as numbers, missing values included."""

        def read() -> Iterator[Data]:
            for rows in self._averaged(columns, groups, may_lack=may_lack):
                yield Data(clip_rows(columns, rows), np.empty(0))

        if self._held is not None:
            return next(read())
        width = sum(len(column.encoded_names) for column in columns)
        return Batches(read, self.check(columns)[1].rows, width)

    def prepare(
        self, preparation: Preparation, groups: FixedGroups | None = None
    ) -> Data | Batches:
        """The rows as they are clustered."""

        def read() -> Iterator[Data]:
            partial = preparation.partial
            for encoded in self._averaged(preparation.columns, groups, may_lack=partial):
                rows = preparation.scale_rows(encoded)[0]
                yield Data.of(rows, client=self._who, names=preparation.names, missing=partial)

        if self._held is not None:
            return next(read())
        used = self.check(preparation.columns, preparation.partial)[1].used(preparation)
        return Batches(read, used, len(preparation.names))

    def write_labels(self, model: Model, target: Path) -> None:
        """Write the cluster of every row; the file stays with the client."""
        ready = model.preparation
        batches = self._encode_all(ready.columns, may_lack=ready.partial)
        write_labels(model, batches, target, self.id, self._who)

    @property
    def _who(self) -> str:
        return f"client {self.name!r}"

    def _source(self, columns: Sequence[Column]) -> Source:
        if self._held is not None:
            return InMemory(self._held)
        wanted: Mapping[str, Column] = {column.name: column for column in columns}
        names = tuple(n for n in self.kinds if n in wanted or n == self.id)
        words = frozenset(n for n in names if n in wanted and wanted[n].holds_words)
        selection = Selection(names, words, self.settings, self.id, self._batch_rows)
        return Stream(self._paths, selection)


def _allow_missing(problem: Problem) -> Problem:
    """A column without values is a problem only where rows with missing cells are left out."""
    if problem.code != "all-missing":
        return problem
    return replace(problem, code="mostly-missing", detail="100%", blocking=False)


def _bytes_of(values: Array) -> bytes:
    """The contents of a column, to notice changes."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "biufmM":
        plain = not isinstance(values, np.ma.MaskedArray)
        return values.tobytes() if plain else repr(values.tolist()).encode()
    return repr(list(map(str, values))).encode("utf-8", "surrogatepass")


def in_batches(paths: Sequence[Path], settings: FileSettings) -> bool:
    """Whether files are read in batches: if the settings say so, or else if they are large."""
    if settings.batch_rows is not None:
        return settings.batch_rows > 0
    return sum(map(size_in_memory, paths)) >= _LARGE


def _state(path: Path) -> tuple[int, int] | None:
    """Size and time of the last change; None: the file is gone."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns


def is_index(name: str) -> bool:
    """Whether a column has no name: pandas writes row numbers in such a column."""
    return not name.strip() or name.startswith(UNNAMED)
