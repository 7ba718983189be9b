"""Registry of indices: standard, registered, and from installed packages.

A package adds an index by an entry point of the group ``fedclust.indices``. The name of the entry
point is that of the index. It is imported when the index is first used.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from ..core import ConfigError
from .indices import Index
from .standard import STANDARD

GROUP = "fedclust.indices"


class Indices(Mapping[str, Index]):
    """Indices by name: first the standard ones, then all others in alphabetical order."""

    def __init__(self, standard: Iterable[Index]) -> None:
        self._standard = {index.name: index for index in standard}
        self._registered: dict[str, Index] = {}

    @cached_property
    def _installed(self) -> dict[str, EntryPoint]:
        return {entry.name: entry for entry in entry_points(group=GROUP)}

    def __getitem__(self, name: str) -> Index:
        index = self._standard.get(name) or self._registered.get(name)
        if index is None:
            index = self._registered[name] = _load(self._installed[name])
        return index

    def __contains__(self, name: object) -> bool:  # without an import
        return name in self._standard or name in self._registered or name in self._installed

    def __iter__(self) -> Iterator[str]:
        return iter(
            [*self._standard, *sorted({*self._registered, *self._installed} - {*self._standard})]
        )

    def __len__(self) -> int:
        return len(list(iter(self)))

    def register(self, index: Index) -> Index:
        """Add an index to all evaluations, and to the reports of studies if it is `reported`.

        In a federation, every machine needs the index: install a package with an entry point there.
        """
        if index.name in self:
            raise ConfigError(
                f"index {index.name!r} already exists; choose another name, or remove the old "
                "one with fedclust.metrics.unregister"
            )
        self._registered[index.name] = index
        return index

    def unregister(self, name: str) -> None:
        """Remove a registered index."""
        if name not in self._registered:
            raise ConfigError(f"index {name!r} is not registered, or is a standard index")
        del self._registered[name]


def _load(entry: EntryPoint) -> Index:
    source = f"index {entry.name!r} of an installed package ({entry.value})"
    try:
        index = entry.load()
    except Exception as problem:
        raise ConfigError(
            f"{source} cannot be imported: {problem}; repair or uninstall the package"
        ) from problem
    if not isinstance(index, Index) or index.name != entry.name:
        raise ConfigError(f"{source} is not a fedclust.metrics.Index of that name")
    return index


INDICES = Indices(STANDARD)
register = INDICES.register
unregister = INDICES.unregister


def find_index(name: str) -> Index:
    """Return the index with this name."""
    if name not in INDICES:
        raise ConfigError(
            f"index={name!r} is not one of {', '.join(INDICES)}; register a custom index on every "
            "machine"
        )
    return INDICES[name]


def evaluate(
    name: str, X: Any, centers: Any, *, fuzzifier: float = 2.0, sample_weight: Any = None
) -> float:
    """Compute an index, given by name, over one table."""
    return find_index(name)(X, centers, fuzzifier=fuzzifier, sample_weight=sample_weight)


def reported_indices(n_clusters: int) -> tuple[Index, ...]:
    """Indices that a study computes for its report."""
    return tuple(
        index for index in INDICES.values() if index.reported and index.min_clusters <= n_clusters
    )
