"""Tables of the report as CSV files inside the page, so that they can be saved offline."""

import base64
import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .features import Feature
from .folder import RunFiles

Cell = str | float | int | None


@dataclass(frozen=True)
class Download:
    """A file that the page contains."""

    file: str
    title: str
    link: str  # a data: link


def downloads(run: RunFiles, features: Sequence[Feature], names: dict[int, str]) -> list[Download]:
    """The tables of a run that have any rows."""
    tables = {
        "profile.csv": ("Profile of the clusters", _profile(run, features, names)),
        "clusters-by-client.csv": ("Rows by cluster and client", _by_client(run)),
        "number-of-clusters.csv": ("Evidence for the number of clusters", _scores(run)),
        "clients.csv": ("Clients", _clients(run)),
        "bytes-sent.csv": ("Bytes sent by client and phase", _bytes(run)),
        "rounds.csv": ("Rounds", _rounds(run)),
    }
    made = {file: (title, list(rows)) for file, (title, rows) in tables.items()}
    return [
        Download(file, title, _link(rows)) for file, (title, rows) in made.items() if len(rows) > 1
    ]


def _link(rows: Sequence[Sequence[Cell]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows([_safe(cell) for cell in row] for row in rows)
    # The mark at the start tells spreadsheets that the text is UTF-8.
    content = base64.b64encode(text.getvalue().encode("utf-8-sig", "surrogatepass"))
    return f"data:text/csv;charset=utf-8;base64,{content.decode()}"


def _safe(cell: Cell) -> Cell:
    """A name that a spreadsheet would take for a formula is quoted, as it may be hostile."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(tuple("=+-@\t\r")) else cell


def _profile(
    run: RunFiles, features: Sequence[Feature], names: dict[int, str]
) -> Iterable[Sequence[Cell]]:
    yield "cluster", "name", "rows", "feature", "unit", "mean", "sd", "effect"
    for cluster in run.profile.clusters:
        first = (cluster.id, names.get(cluster.id, ""), cluster.size)
        for feature, own in zip(features, cluster.features, strict=True):
            yield (*first, feature.name, feature.unit, own.mean, own.sd, own.effect)
    for feature, own in zip(features, run.profile.clusters[0].features, strict=True):
        mean, sd = own.overall_mean, own.overall_sd
        yield "all", "", None, feature.name, feature.unit, mean, sd, None


def _by_client(run: RunFiles) -> Iterable[Sequence[Cell]]:
    clusters = run.profile.clusters
    if not any(cluster.by_client for cluster in clusters):
        return
    yield "client", *(f"cluster {cluster.id}" for cluster in clusters), "all"
    for client in run.profile.clients:
        yield client.name, *(c.by_client.get(client.name) for c in clusters), client.used


def _scores(run: RunFiles) -> Iterable[Sequence[Cell]]:
    if run.choice is None:
        return
    names = run.choice.measured
    yield "clusters", *names
    for score in run.choice.scores:
        yield score.n_clusters, *(score.indices.get(name) for name in names)


def _clients(run: RunFiles) -> Iterable[Sequence[Cell]]:
    yield "client", "rows", "used", "left out", "why", "rounds"
    for one in run.profile.clients:
        yield one.name, one.rows, one.used, one.left_out, one.why, one.rounds


def _bytes(run: RunFiles) -> Iterable[Sequence[Cell]]:
    if not run.profile.phases:
        return
    yield "client", *(phase.name for phase in run.profile.phases)
    for client in run.profile.clients:
        yield client.name, *(p.bytes_up.get(client.name, 0) for p in run.profile.phases)


def _rounds(run: RunFiles) -> Iterable[Sequence[Cell]]:
    yield "round", "clients", "shift", "bytes down", "bytes up"
    for one in run.history:
        yield one.round + 1, one.n_clients, one.shift, one.bytes_down, one.bytes_up
