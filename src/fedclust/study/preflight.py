"""Before anything is computed: does each client's data fit the study? Only counts are told."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..core import ConfigError, DataError
from ..data.files import Columns, read_table
from ..data.streams import BATCH_ROWS, Held, Source, Stream, kinds
from ..preprocessing import Column
from .columns import Found
from .file import Study

_FEW_ROWS = 10
_LARGE = 2**30  # bytes: files above are read in batches unless the study says otherwise


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


@dataclass(frozen=True)
class Seen:
    """What clients say of their data."""

    columns: tuple[Column, ...]
    counts: Mapping[str, Counted]
    problems: tuple[Problem, ...]

    @property
    def rows(self) -> dict[str, int]:
        """How many rows each client has."""
        return {client: counted.rows for client, counted in self.counts.items()}

    @property
    def passes(self) -> bool:
        """Whether the study can be run."""
        return not any(problem.stops for problem in self.problems)


@dataclass(frozen=True)
class Examination(Seen):
    """The same of files that are at hand, and what they hold."""

    sources: Mapping[str, Source]  # by client: these stay there


class _Files(NamedTuple):
    """A client's files before it is known which columns are wanted."""

    paths: tuple[Path, ...]
    numbers: Mapping[str, bool]  # its columns, and whether they hold numbers
    held: Columns | None  # None: to be read in batches


def examine(study: Study) -> Examination:
    """All problems of all clients at once."""
    opened: dict[str, _Files] = {}
    problems: list[Problem] = []
    for client in study.clients:
        try:
            opened[client] = _open(study, client)
        except (ConfigError, DataError) as problem:
            problems.append(Problem(client, "", str(problem)))
    columns = study.features or _shared_numbers(opened, study.data["id"])
    if opened and not columns:
        problems.append(Problem("all", "", "no numeric column is shared by all clients"))
    sources = {client: _source(study, files, columns) for client, files in opened.items()}
    counts = {}
    for client, source in sources.items():
        found, counts[client] = _of_client(client, source, opened[client], columns, study)
        problems += found
    problems += _too_many_clusters(study, counts)
    return Examination(columns, counts, tuple(problems), sources)


def _too_many_clusters(study: Study, counts: Mapping[str, Counted]) -> Iterator[Problem]:
    wanted, n = study.n_clusters[0], sum(counted.rows for counted in counts.values())
    if len(counts) == len(study.clients) and n < wanted:
        yield Problem("all", "", f"{n} rows cannot make n_clusters = {wanted}")


def _open(study: Study, client: str) -> _Files:
    paths = tuple(study.files(client))
    if not paths:
        raise DataError(f"there is no file {study.clients[client]}")
    wanted = study.data["batch_rows"]
    large = sum(path.stat().st_size for path in paths) >= _LARGE
    if wanted or (wanted is None and large):
        return _Files(paths, kinds(paths, study.data["gaps"]), None)
    table = read_table(paths, study.data["gaps"], study.data["id"])
    return _Files(paths, {n: v.dtype.kind in "fiu" for n, v in table.items()}, table)


def _source(study: Study, files: _Files, columns: tuple[Column, ...]) -> Source:
    if files.held is not None:
        return Held(files.held)
    id, wanted = study.data["id"], {column.name: column for column in columns}
    names = tuple(n for n in files.numbers if n in wanted or n == id)
    words = frozenset(n for n in names if n in wanted and wanted[n].categories)
    rows = study.data["batch_rows"] or BATCH_ROWS
    return Stream(files.paths, names, words, study.data["gaps"], id, rows)


def _shared_numbers(opened: Mapping[str, _Files], id: str | None) -> tuple[Column, ...]:
    """All numeric columns that every client has, in the order of the first."""
    if not opened:
        return ()
    first = next(iter(opened.values()))
    return tuple(
        Column(name)
        for name in first.numbers
        if name != id and all(files.numbers.get(name, False) for files in opened.values())
    )


def _of_client(
    client: str, source: Source, files: _Files, columns: tuple[Column, ...], study: Study
) -> tuple[list[Problem], Counted]:
    """One pass over the client's rows: they may not fit into memory."""
    id, found = study.data["id"], {c.name: Found(c) for c in columns if c.name in files.numbers}
    rows = complete = 0
    try:
        for batch in source.batches():
            size = len(next(iter(batch.values()), ()))
            gaps = np.zeros(size, dtype=bool)
            for name, seen in found.items():
                gaps |= seen.gaps_in(batch[name])
            rows, complete = rows + size, complete + int((~gaps).sum())
    except DataError as problem:
        return [Problem(client, "", str(problem))], Counted(0, 0)
    problems = []
    if rows < _FEW_ROWS:
        problems.append(Problem(client, "", f"{rows} rows only", stops=rows == 0))
    problems += _of_ids(client, id, files)
    for column in columns:
        if column.name not in found:
            problems.append(Problem(client, column.name, "the column is not there"))
        elif rows:
            told = found[column.name].problems()
            problems += [Problem(client, column.name, what, stops) for what, stops in told]
    return problems, Counted(rows, complete)


def _of_ids(client: str, id: str | None, files: _Files) -> Iterator[Problem]:
    """Repeated ids are looked for where all rows are in memory anyway."""
    if id is None:
        return
    if id not in files.numbers:
        yield Problem(client, id, "the id column is not there")
    elif files.held is not None:
        ids = files.held[id].tolist()
        if twice := len(ids) - len(set(map(str, ids))):
            yield Problem(client, id, f"{twice} rows repeat an id", stops=False)
