"""Before anything is computed: does each client's data fit the study? Only counts are told."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..client.files import ClientFiles, Counted, Problem
from ..clustering.preparation import Column
from ..core import ConfigError, DataError
from .settings import Study, make_algorithm

ALL = "all"  # whose problem is nobody's own
_SAID = 5  # problems in one sentence


@dataclass(frozen=True)
class Seen:
    """What clients say of their data."""

    columns: tuple[Column, ...]
    counts: Mapping[str, Counted | None]  # None where a tier hides them
    problems: tuple[Problem, ...]

    @property
    def rows(self) -> dict[str, int | None]:
        """How many rows each client has, as far as that is told."""
        return {client: counted and counted.rows for client, counted in self.counts.items()}

    @property
    def passes(self) -> bool:
        """Whether the study can be run."""
        return not any(problem.stops for problem in self.problems)


@dataclass(frozen=True)
class Examination(Seen):
    """The same of files that are at hand."""

    counts: Mapping[str, Counted]
    clients: Mapping[str, ClientFiles]


def examine(study: Study) -> Examination:
    """All problems of all clients at once."""
    clients: dict[str, ClientFiles] = {}
    problems: list[Problem] = []
    for client in study.clients:
        try:
            clients[client] = open_files(study, client)
        except (ConfigError, DataError) as problem:
            problems.append(Problem(client, "", str(problem)))
    columns = study.features or shared([files.numbers for files in clients.values()])
    counts = {}
    for client, files in clients.items():
        found, counts[client] = files.look(columns)
        problems += found
    problems += same_files(study)
    if clients:
        problems += of_all(study, columns, counts)
        problems += _in_batches(study, clients)
    return Examination(columns, counts, tuple(problems), clients)


def of_all(
    study: Study, columns: Sequence[Column], counts: Mapping[str, Counted | None]
) -> Iterator[Problem]:
    """Problems that no single client has."""
    if not columns:
        yield Problem(ALL, "", "no numeric column is shared by all clients")
    wanted, rows = study.n_clusters[0], [counted.rows for counted in counts.values() if counted]
    if len(rows) < max(1, len(counts), len(study.clients)):
        return
    if sum(rows) < wanted:
        yield Problem(ALL, "", f"{sum(rows)} rows cannot make n_clusters = {wanted}")
    least = study.privacy.min_count
    if max(rows) < least:
        yield Problem(ALL, "", f"no client has {least} rows, the min_count of [privacy]")


def same_files(study: Study) -> Iterator[Problem]:
    """Rows that two clients have would count twice."""
    owner: dict[Path, str] = {}
    for client in study.clients:
        for file in study.files(client):
            other = owner.setdefault(file.resolve(), client)
            if other != client:
                yield Problem(client, "", f"{file.name} is the file of client {other!r}, too")


def _in_batches(study: Study, clients: Mapping[str, ClientFiles]) -> Iterator[Problem]:
    """What needs all rows at once is said before the first round."""
    for client, files in clients.items():
        if not files.in_batches:
            continue
        algorithm = make_algorithm(study.clustering, study.n_clusters[0])
        if not algorithm.additive:
            words = (
                f"{algorithm.key} needs all rows in memory; set batch_rows = 0, or choose lossless"
            )
            yield Problem(client, "", words)
        if study.data.missing == "median-of-means":
            yield Problem(client, "", "median-of-means needs all rows in memory; batch_rows = 0")


def refuse(seen: Seen) -> None:
    """Stop before anything is computed, and say why."""
    stops = [problem for problem in seen.problems if problem.stops]
    if stops:
        more = f"; and {len(stops) - _SAID} more" if len(stops) > _SAID else ""
        raise DataError("; ".join(map(_sentence, stops[:_SAID])) + more)


def _sentence(problem: Problem) -> str:
    who = "" if problem.client == ALL else f"client {problem.client!r}: "
    place = f"column {problem.column!r}: " if problem.column else ""
    return f"{who}{place}{problem.what}"


def shared(numbers: Sequence[Sequence[str]]) -> tuple[Column, ...]:
    """All numeric columns that every client has, in the order of the first."""
    first = numbers[0] if numbers else []
    return tuple(Column(name) for name in first if all(name in names for names in numbers))


def open_files(study: Study, client: str) -> ClientFiles:
    """The files that the study names for a client."""
    paths = study.files(client)
    if not paths:
        given = study.clients[client]
        if (study.path.parent / Path(given).expanduser()).is_dir():
            raise DataError(f"{given} is a folder; name its files, such as {given}/*.parquet")
        raise DataError(f"there is no file {given}")
    data = study.data
    return ClientFiles(
        client, paths, na_values=data.na_values, id=data.id, batch_rows=data.batch_rows
    )
