"""Which indices there are: those of the package, registered ones, and those of installed packages.

A package adds an index by an entry point of the group ``fedclust.indices``, whose name is that of
the index. It is imported when the index is first needed.
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
    """Indices by name: the standard ones in their order, then all others by name."""

    def __init__(self, standard: Iterable[Index]) -> None:
        self._standard = {index.name: index for index in standard}
        self._added: dict[str, Index] = {}

    @cached_property
    def _installed(self) -> dict[str, EntryPoint]:
        return {entry.name: entry for entry in entry_points(group=GROUP)}

    def __getitem__(self, name: str) -> Index:
        known = self._standard.get(name) or self._added.get(name)
        if known is None:
            known = self._added[name] = _load(self._installed[name])
        return known

    def __contains__(self, name: object) -> bool:  # without an import
        return name in self._standard or name in self._added or name in self._installed

    def __iter__(self) -> Iterator[str]:
        return iter(
            [*self._standard, *sorted({*self._added, *self._installed} - {*self._standard})]
        )

    def __len__(self) -> int:
        return len(list(iter(self)))

    def register(self, index: Index) -> Index:
        """Add an index to all evaluations, and to the reports of studies if it is `reported`.

        In a federation every machine needs it: there, install a package with an entry point.
        """
        if index.name in self:
            raise ConfigError(
                f"an index {index.name!r} exists already; choose another name, or remove the old "
                "one with fedclust.metrics.unregister"
            )
        self._added[index.name] = index
        return index

    def unregister(self, name: str) -> None:
        """Remove a registered index."""
        if name not in self._added:
            raise ConfigError(f"no registered index {name!r}")
        del self._added[name]


def _load(entry: EntryPoint) -> Index:
    where = f"index {entry.name!r} of an installed package ({entry.value})"
    try:
        found = entry.load()
    except Exception as problem:
        raise ConfigError(
            f"{where} cannot be imported: {problem}; repair or uninstall the package"
        ) from problem
    if not isinstance(found, Index) or found.name != entry.name:
        raise ConfigError(f"{where} is not a fedclust.metrics.Index of that name")
    return found


INDICES = Indices(STANDARD)
register = INDICES.register
unregister = INDICES.unregister


def find_index(name: str) -> Index:
    """The index of a name."""
    if name not in INDICES:
        raise ConfigError(
            f"index={name!r} is not one of {', '.join(INDICES)}; an index of your own must be "
            "registered on every machine"
        )
    return INDICES[name]


def evaluate(
    name: str, X: Any, centers: Any, *, fuzzifier: float = 2.0, sample_weight: Any = None
) -> float:
    """The index of a name over one table."""
    return find_index(name)(X, centers, fuzzifier=fuzzifier, sample_weight=sample_weight)


def reported_indices(n_clusters: int) -> tuple[Index, ...]:
    """The indices that a study computes for its report."""
    return tuple(
        index for index in INDICES.values() if index.reported and index.min_clusters <= n_clusters
    )
