"""Whoever has the rows: what a study asks of them, and those whose files are at hand."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

import numpy as np

from ..channels import LocalChannel
from ..core import Batches, Channel, Data
from ..data.streams import Held, Source
from ..preprocessing import Column, Preparation, encoded
from .file import Study
from .labels import write_labels
from .model import Model
from .preflight import Counted, Examination, Seen, examine


class Owners(Protocol):
    """Clients with files in this process, or behind a network: a study treats them alike."""

    def look(self, study: Study) -> Seen:
        """What each client says of its own data: counts and problems."""

    def encoded(self, columns: tuple[Column, ...]) -> Channel:
        """A channel to the columns as numbers, gaps and all."""

    def prepared(self, ready: Preparation) -> Channel:
        """A channel to the rows as they are clustered."""

    def label(self, model: Model) -> Mapping[str, Path | str]:
        """Have each client label its own rows; where its labels are, or what it says of them."""


class LocalOwners:
    """Clients whose files are at hand."""

    def __init__(self, labels: Mapping[str, Path]) -> None:
        self._labels = labels
        self._seen = Examination((), {}, (), {})
        self._id: str | None = None

    def look(self, study: Study) -> Seen:
        """All problems of all clients at once."""
        self._seen, self._id = examine(study), study.data["id"]
        return self._seen

    def encoded(self, columns: tuple[Column, ...]) -> Channel:
        """Columns in memory, or read whenever they are needed."""
        width = sum(len(column.encoded_names) for column in columns)
        return LocalChannel(
            {
                client: _table(columns, client, source, self._seen.counts[client].rows, width)
                for client, source in self._seen.sources.items()
            }
        )

    def prepared(self, ready: Preparation) -> Channel:
        """Rows in memory, or read whenever they are needed."""
        return LocalChannel(
            {
                client: _rows(ready, client, source, self._seen.counts[client])
                for client, source in self._seen.sources.items()
            }
        )

    def label(self, model: Model) -> dict[str, Path | str]:
        """Labels beside each client's data, or wherever the study wants them."""
        for client, target in self._labels.items():
            batches = self._seen.sources[client].batches()
            write_labels(model, batches, target, self._id, f"client {client!r}")
        return dict(self._labels)


def _table(
    columns: tuple[Column, ...], client: str, source: Source, n_rows: int, width: int
) -> Data | Batches:
    def read() -> Iterator[Data]:
        for batch in source.batches():
            yield Data(encoded(columns, batch, f"client {client!r}"), np.empty(0))

    return next(read()) if isinstance(source, Held) else Batches(read, n_rows, width)


def _rows(ready: Preparation, client: str, source: Source, counted: Counted) -> Data | Batches:
    def read() -> Iterator[Data]:
        for batch in source.batches():
            rows = ready.apply(batch, f"client {client!r}")[0]
            yield Data.of(rows, client=f"client {client!r}", names=ready.names)

    if isinstance(source, Held):
        return next(read())
    return Batches(read, used(ready, counted), len(ready.names))


def used(ready: Preparation, counted: Counted) -> int:
    """How many of a client's rows take part."""
    return counted.complete if ready.fill is None else counted.rows
