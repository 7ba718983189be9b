"""What a study file says, checked."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..clustering.preparation import Column
from ..data.files import named_files
from .keys import K_RANGE


@dataclass(frozen=True)
class Study:
    """A study file, checked; paths are resolved against its folder."""

    path: Path
    clients: Mapping[str, str]  # name -> file or glob
    features: tuple[Column, ...] | None  # None: all numeric columns that every client has
    clustering: Mapping[str, Any]
    data: Mapping[str, Any]
    sampling: Mapping[str, Any]
    privacy: Mapping[str, Any]
    outputs: Mapping[str, Any]
    given: frozenset[tuple[str, str]] = frozenset()  # table and key of what is no default

    @property
    def n_clusters(self) -> tuple[int, int]:
        """Fewest and most clusters: the same number unless the data choose."""
        wanted = self.clustering["n_clusters"]
        if wanted == "auto":
            low, high = self.clustering["k_range"] or K_RANGE
            return low, high
        return wanted, wanted

    @property
    def bounded(self) -> bool:
        """Whether every feature has public bounds; categories are 0 or 1."""
        features = self.features or ()
        return bool(features) and all(column.box is not None for column in features)

    def files(self, client: str) -> list[Path]:
        """The client's files; a glob may name several."""
        wanted = Path(self.clients[client]).expanduser()
        return named_files(self.path.parent / wanted)
