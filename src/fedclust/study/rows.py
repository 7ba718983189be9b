"""A client's files as rows ready to be clustered: in memory, or read whenever they are needed."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..channels import LocalChannel
from ..core import Batches, Data, DataError, Runner, Schema
from ..data.streams import Held, Source
from ..preprocessing import Column, Preparation, prepare
from ..preprocessing.prepare import encoded
from .file import Study
from .preflight import Counted, Examination


class Ready(NamedTuple):
    """Clients that can be asked."""

    preparation: Preparation
    channel: LocalChannel
    schema: Schema
    used: dict[str, int]  # rows of each client that take part


def make_ready(study: Study, seen: Examination, runner: Runner) -> Ready:
    """One scale for all, learned from all, and every client's rows on it."""
    tables = {
        client: source.columns
        if isinstance(source, Held)
        else _encoded(seen.columns, client, source, seen.counts[client].rows)
        for client, source in seen.sources.items()
    }
    ready = prepare(
        seen.columns,
        tables,
        scaling=study.data["scaling"],
        missing=study.data["missing"],
        min_count=study.privacy["min_count"],
        runner=runner,
    )
    data = {c: _rows(ready, c, source, seen.counts[c]) for c, source in seen.sources.items()}
    used = {client: len(rows) for client, rows in data.items()}
    wanted, there = study.n_clusters[0], sum(used.values())
    if there < wanted:
        raise DataError(
            f"{there} rows without gaps cannot make n_clusters = {wanted}; choose fewer clusters, "
            'or missing = "mean"'
        )
    return Ready(ready, LocalChannel(data), _schema(ready), used)


def _encoded(columns: tuple[Column, ...], client: str, source: Source, n_rows: int) -> Batches:
    def read() -> Iterator[Data]:
        for batch in source.batches():
            yield Data(encoded(columns, batch, f"client {client!r}"), np.empty(0))

    return Batches(read, n_rows, sum(len(column.encoded_names) for column in columns))


def _rows(ready: Preparation, client: str, source: Source, counted: Counted) -> Data | Batches:
    def read() -> Iterator[Data]:
        for batch in source.batches():
            rows = ready.apply(batch, f"client {client!r}")[0]
            yield Data.of(rows, client=f"client {client!r}", names=ready.names)

    if isinstance(source, Held):
        return next(read())
    return Batches(read, counted.complete if ready.fill is None else counted.rows, len(ready.names))


def _schema(ready: Preparation) -> Schema:
    """With public bounds if every column has some: starts that are drawn need them."""
    box = []
    for column in ready.columns:
        if column.categories:
            box += [(0.0, 1.0)] * len(column.categories)
        elif column.low is not None and column.high is not None:
            bounds = np.array([column.low, column.high])
            box.append(tuple(np.log(bounds) if column.log else bounds))
    if len(box) < len(ready.names):
        return Schema(len(ready.names))
    low, high = (np.array(box).T - ready.offset) / ready.scale
    return Schema(len(ready.names), low=low, high=high)
