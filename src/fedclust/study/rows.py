"""A client's files as rows ready to be clustered: in memory, or read whenever they are needed."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from ..channels import LocalChannel
from ..core import Batches, Channel, Data, DataError, Runner, Schema
from ..data.streams import Held, Source
from ..preprocessing import Column, Preparation, encoded
from ..preprocessing.prepare import prepare_over
from .file import Study
from .labels import write_labels
from .model import Model
from .preflight import Counted, Examination, examine


class Clients(Protocol):
    """The clients of a study, wherever their rows are."""

    compares: bool  # whether a lossless run may be made only to compare with

    def examine(self) -> Examination:
        """Whether everybody's data fits the study."""

    def encoded(self, columns: Sequence[Column]) -> Channel:
        """A way to the columns as numbers, gaps and all."""

    def prepared(self, ready: Preparation) -> Channel:
        """A way to the rows, ready to be clustered."""

    def label(self, model: Model, targets: Mapping[str, Path]) -> None:
        """Leave each client the labels of its rows."""


class LocalClients:
    """Clients whose files are all at hand."""

    compares = True

    def __init__(self, study: Study) -> None:
        self._study = study

    def examine(self) -> Examination:
        """Whether everybody's data fits the study."""
        return self.seen

    @cached_property
    def seen(self) -> Examination:
        """What preflight found; files are read once."""
        return examine(self._study)

    def encoded(self, columns: Sequence[Column]) -> LocalChannel:
        """A way to the columns as numbers, gaps and all."""
        return LocalChannel(self.encoded_rows(columns))

    def prepared(self, ready: Preparation) -> LocalChannel:
        """A way to the rows, ready to be clustered."""
        return LocalChannel(self.prepared_rows(ready))

    def encoded_rows(self, columns: Sequence[Column]) -> dict[str, Data | Batches]:
        """Each client's columns as numbers, gaps and all."""
        counts, sources = self.seen.counts, self.seen.sources
        return {c: _encoded(columns, c, source, counts[c].rows) for c, source in sources.items()}

    def prepared_rows(self, ready: Preparation) -> dict[str, Data | Batches]:
        """Each client's rows, ready to be clustered."""
        counts, sources = self.seen.counts, self.seen.sources
        return {c: _rows(ready, c, source, counts[c]) for c, source in sources.items()}

    def label(self, model: Model, targets: Mapping[str, Path]) -> None:
        """Write the labels of each client's rows."""
        for client, target in targets.items():
            batches, id = self.seen.sources[client].batches(), self._study.data["id"]
            write_labels(model, batches, target, id, f"client {client!r}")


class Ready(NamedTuple):
    """Clients that can be asked."""

    preparation: Preparation
    channel: Channel
    schema: Schema
    used: dict[str, int]  # rows of each client that take part


def make_ready(study: Study, seen: Examination, clients: Clients, runner: Runner) -> Ready:
    """One scale for all, learned from all, and every client's rows on it."""
    ready = prepare_over(
        seen.columns,
        clients.encoded(seen.columns),
        scaling=study.data["scaling"],
        missing=study.data["missing"],
        min_count=study.privacy["min_count"],
        privacy=study.privacy["tier"],
        runner=runner,
    )
    used = {c: n.complete if ready.fill is None else n.rows for c, n in seen.counts.items()}
    wanted, there = study.n_clusters[0], sum(used.values())
    if there < wanted:
        raise DataError(
            f"{there} rows without gaps cannot make n_clusters = {wanted}; choose fewer clusters, "
            'or missing = "mean"'
        )
    return Ready(ready, clients.prepared(ready), _schema(ready), used)


def _encoded(columns: Sequence[Column], client: str, source: Source, n_rows: int) -> Data | Batches:
    def read() -> Iterator[Data]:
        for batch in source.batches():
            yield Data(encoded(columns, batch, f"client {client!r}"), np.empty(0))

    if isinstance(source, Held):
        return next(read())
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
