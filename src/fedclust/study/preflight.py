"""Before anything is computed: does each client's data fit the study? Only counts are told."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from ..core import ConfigError, DataError
from ..preprocessing import Column
from ..typing import Array
from .file import Study
from .tables import Columns, read_table

_MANY_GAPS = 0.5
_FEW_ROWS = 10


class Problem(NamedTuple):
    """What is wrong with a column of a client; a warning does not stop the study."""

    client: str
    column: str
    what: str
    stops: bool = True


class Examination(NamedTuple):
    """What preflight found."""

    tables: Mapping[str, Columns]  # by client: these stay there
    columns: tuple[Column, ...]
    problems: tuple[Problem, ...]

    @property
    def rows(self) -> dict[str, int]:
        """How many rows each client has."""
        return {client: _n_rows(table) for client, table in self.tables.items()}

    @property
    def passes(self) -> bool:
        """Whether the study can be run."""
        return not any(problem.stops for problem in self.problems)


def examine(study: Study) -> Examination:
    """All problems of all clients at once."""
    tables: dict[str, Columns] = {}
    problems: list[Problem] = []
    for client in study.clients:
        files = study.files(client)
        if not files:
            problems.append(Problem(client, "", f"there is no file {study.clients[client]}"))
            continue
        try:
            tables[client] = read_table(files, study.data["gaps"], study.data["id"])
        except (ConfigError, DataError) as problem:
            problems.append(Problem(client, "", str(problem)))
    columns = study.features or _shared_numbers(tables, study.data["id"])
    if tables and not columns:
        problems.append(Problem("all", "", "no numeric column is shared by all clients"))
    for client, table in tables.items():
        problems += problems_of(client, table, columns, study.data["id"])
    wanted, n = study.clustering["n_clusters"], sum(map(_n_rows, tables.values()))
    if len(tables) == len(study.clients) and n < wanted:
        problems.append(Problem("all", "", f"{n} rows cannot make n_clusters = {wanted}"))
    return Examination(tables, columns, tuple(problems))


def _n_rows(table: Columns) -> int:
    return len(next(iter(table.values()), ()))


def _shared_numbers(tables: Mapping[str, Columns], id: str | None) -> tuple[Column, ...]:
    """All numeric columns that every client has, in the order of the first."""
    if not tables:
        return ()
    first = next(iter(tables.values()))
    return tuple(
        Column(name)
        for name in first
        if name != id and all(name in t and t[name].dtype.kind in "fiu" for t in tables.values())
    )


def problems_of(
    client: str, table: Columns, columns: tuple[Column, ...], id: str | None
) -> Iterator[Problem]:
    """What is wrong with one client's data; needs nobody else's."""
    n = _n_rows(table)
    if n < _FEW_ROWS:
        yield Problem(client, "", f"{n} rows only", stops=n == 0)
    if id is not None:
        if id not in table:
            yield Problem(client, id, "the id column is not there")
        elif (twice := n - len(set(map(str, table[id].tolist())))) > 0:
            yield Problem(client, id, f"{twice} rows repeat an id", stops=False)
    for column in columns:
        if column.name not in table:
            yield Problem(client, column.name, "the column is not there")
        elif n:
            yield from _of_column(client, column, table[column.name])


def _of_column(client: str, column: Column, values: Array) -> Iterator[Problem]:
    try:
        rows = column.encoded(values, client)
    except DataError as problem:
        yield Problem(client, column.name, str(problem).partition(f"{column.name!r} ")[2])
        return
    gaps = np.isnan(rows).any(axis=1)
    if gaps.all():
        yield Problem(client, column.name, "has no value at all")
        return
    if gaps.mean() > _MANY_GAPS:
        yield Problem(
            client, column.name, f"is missing in {gaps.mean():.0%} of the rows", stops=False
        )
    there = rows[~gaps]
    if not column.categories and (there == there[0]).all():
        yield Problem(client, column.name, "has the same value in all rows", stops=False)
    if column.low is not None and column.high is not None:
        given = np.exp(there) if column.log else there
        outside = int(((given < column.low) | (given > column.high)).sum())
        if outside:
            yield Problem(client, column.name, f"{outside} values outside the public bounds")
