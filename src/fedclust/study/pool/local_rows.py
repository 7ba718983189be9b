"""The clients of a study: what is asked of them, and those whose files are at hand."""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from ...channels import LocalChannel
from ...client.files import ClientFiles
from ...clustering.model import Model
from ...clustering.preparation import Column, Preparation
from ...core import Channel
from ...tiers import Tier
from ..preflight import Seen, examine
from ..settings import Study


class Clients(Protocol):
    """Clients with files in this process, or behind a network: a study treats them alike."""

    compares: bool  # whether a lossless run may be made only to compare with
    tier: str  # how far they are protected unless the study says

    def look(self, study: Study, tier: Tier) -> Seen:
        """What each client says of its own data: problems, and counts if the tier shows them."""

    def encoded(self, columns: tuple[Column, ...]) -> Channel:
        """A channel to the columns as numbers, gaps and all."""

    def prepared(self, ready: Preparation) -> Channel:
        """A channel to the rows as they are clustered."""

    def label(self, model: Model) -> Mapping[str, Path | str]:
        """Have each client label its own rows; where its labels are, or what it says of them."""


class LocalClients:
    """Clients whose files are at hand."""

    compares = True
    tier = "none"  # whoever runs the study has all rows

    def __init__(self, labels: Mapping[str, Path]) -> None:
        self._labels = labels
        self.files: Mapping[str, ClientFiles] = {}

    def look(self, study: Study, tier: Tier) -> Seen:
        """All problems of all clients at once; what a tier hides is not in the results either."""
        seen = examine(study)
        self.files = seen.clients
        shown = dict.fromkeys(seen.counts) if tier.sums_only else seen.counts
        return Seen(seen.columns, shown, seen.problems)

    def encoded(self, columns: tuple[Column, ...]) -> Channel:
        """Columns in memory, or read whenever they are needed."""
        return LocalChannel({c: files.encoded(columns) for c, files in self.files.items()})

    def prepared(self, ready: Preparation) -> Channel:
        """Rows in memory, or read whenever they are needed."""
        return LocalChannel({c: files.prepared(ready) for c, files in self.files.items()})

    def label(self, model: Model) -> dict[str, Path | str]:
        """Labels beside each client's data, or wherever the study wants them."""
        for client, target in self._labels.items():
            self.files[client].label(model, target)
        return dict(self._labels)
