"""One client's files: what it says of them, and the rows it lets plans see."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..clustering.model import Model
from ..clustering.preparation import Column, Preparation, encode_columns
from ..core import Batches, Data, DataError, did_you_mean
from ..data.files import read_table
from ..data.formats import BATCH_ROWS, Columns, Selection
from ..data.streams import InMemory, Source, Stream, column_kinds
from ..typing import Array
from .column_check import Found
from .labels import refuse_id, write_labels

_FEW_ROWS = 10
_LARGE = 2**30  # bytes: files above are read in batches unless somebody says otherwise


class Problem(NamedTuple):
    """What is wrong with a column of a client; a warning does not stop the study."""

    client: str
    column: str
    what: str
    stops: bool = True


class Counted(NamedTuple):
    """How many rows a client has, and how many of them have no gap."""

    rows: int
    complete: int

    def used(self, ready: Preparation) -> int:
        """How many take part."""
        return self.complete if ready.fill is None else self.rows


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
        large = sum(path.stat().st_size for path in paths) >= _LARGE
        if batch_rows or (batch_rows is None and large):
            self._numbers = column_kinds(paths, na_values)
        else:
            self._held = read_table(paths, na_values, id)
            self._numbers = {n: v.dtype.kind in "fiu" for n, v in self._held.items()}

    @property
    def numbers(self) -> list[str]:
        """Names of the columns that hold numbers; ids are none."""
        return [
            name
            for name, is_number in self._numbers.items()
            if is_number and name != self.id and not is_index(name)
        ]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns, that of the ids too."""
        return tuple(self._numbers)

    def held(self, name: str) -> Array:
        """The values of a column, all of which are in memory."""
        if self._held is None:
            raise DataError(f"{self._who}: all rows are needed in memory; set batch_rows = 0")
        return self._held[name]

    @property
    def in_batches(self) -> bool:
        """Whether the rows are read anew whenever they are needed."""
        return self._held is None

    def look(self, columns: Sequence[Column]) -> tuple[list[Problem], Counted]:
        """What is wrong, and how many rows there are: one pass, for they may not fit memory."""
        found = {c.name: Found(c) for c in columns if c.name in self._numbers}
        try:
            counted = self._count(found, columns)
        except DataError as problem:
            return [Problem(self.name, "", str(problem))], Counted(0, 0)
        problems = list(self._of_ids())
        if counted.rows < _FEW_ROWS:
            words = f"{counted.rows} rows only"
            problems.append(Problem(self.name, "", words, stops=counted.rows == 0))
        for column in columns:
            if column.name not in found:
                near = did_you_mean(column.name, self._numbers).removeprefix("; ")
                words = f"the column is not there{f' ({near})' if near else ''}"
                problems.append(Problem(self.name, column.name, words))
            elif counted.rows:
                told = found[column.name].problems()
                problems += [Problem(self.name, column.name, what, stops) for what, stops in told]
        return problems, counted

    def _count(self, found: Mapping[str, Found], columns: Sequence[Column]) -> Counted:
        rows = complete = 0
        for batch in self._source(columns).batches():
            size = len(next(iter(batch.values()), ()))
            gaps = np.zeros(size, dtype=bool)
            for name, seen in found.items():
                gaps |= seen.gaps_in(batch[name])
            rows, complete = rows + size, complete + int((~gaps).sum())
        return Counted(rows, complete)

    def _of_ids(self) -> Iterator[Problem]:
        """Repeated ids are looked for where all rows are in memory anyway."""
        if self.id is None:
            return
        if self.id not in self._numbers:
            yield Problem(self.name, self.id, "the id column is not there")
        elif self._held is not None:
            ids = self._held[self.id].tolist()
            if twice := len(ids) - len(set(map(str, ids))):
                yield Problem(self.name, self.id, f"rows repeat an id ({twice})", stops=False)

    def encoded(self, columns: Sequence[Column]) -> Data | Batches:
        """The columns as numbers, gaps and all."""

        def read() -> Iterator[Data]:
            for batch in self._source(columns).batches():
                yield Data(encode_columns(columns, batch, self._who), np.empty(0))

        if self._held is not None:
            return next(read())
        width = sum(len(column.encoded_names) for column in columns)
        return Batches(read, self.look(columns)[1].rows, width)

    def prepared(self, ready: Preparation) -> Data | Batches:
        """The rows as they are clustered."""

        def read() -> Iterator[Data]:
            for batch in self._source(ready.columns).batches():
                rows = ready.apply(batch, self._who)[0]
                yield Data.of(rows, client=self._who, names=ready.names)

        if self._held is not None:
            return next(read())
        return Batches(read, self.look(ready.columns)[1].used(ready), len(ready.names))

    def label(self, model: Model, target: Path) -> None:
        """Write the clusters of all rows; they stay with the client."""
        batches = self._source(model.preparation.columns).batches()
        write_labels(model, batches, target, self.id, self._who)

    @property
    def _who(self) -> str:
        return f"client {self.name!r}"

    def _source(self, columns: Sequence[Column]) -> Source:
        if self._held is not None:
            return InMemory(self._held)
        wanted: Mapping[str, Column] = {column.name: column for column in columns}
        names = tuple(n for n in self._numbers if n in wanted or n == self.id)
        words = frozenset(n for n in names if n in wanted and wanted[n].categories)
        wanted_rows = Selection(names, words, self._na_values, self.id, self._batch_rows)
        return Stream(self._paths, wanted_rows)


def is_index(name: str) -> bool:
    """Whether a column only numbers rows: pandas writes such a column without a name."""
    return not name.strip() or name == "Unnamed: 0"
