"""Classes by name, imported on first use."""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from .errors import ConfigError

T = TypeVar("T")


def _name_of(entry: EntryPoint) -> str:
    return entry.name


class Registry(Mapping[str, type[T]], Generic[T]):
    """Classes that are built in, registered in this process, or part of an installed package.

    A client's process may answer a single message and needs one or two classes: importing all
    would take longer than the answer. Only listed classes can be imported through a registry, and
    an installed package cannot replace a built-in class.

    Parameters
    ----------
    places:
        Import paths of built-in classes, such as ``{"k-fed": "fedclust.algorithms.k_fed.KFed"}``.
    groups:
        The groups of entry points by which installed packages add classes.
    name_of:
        The name of an entry point's class in this registry.
    check:
        Rejects an invalid class of another package.
    """

    def __init__(
        self,
        places: Mapping[str, str],
        *groups: str,
        name_of: Callable[[EntryPoint], str] = _name_of,
        check: Callable[[str, Any], None] = lambda name, kind: None,
    ) -> None:
        self.places = dict(places)
        self._groups, self._name_of, self._check = groups, name_of, check
        self._added: dict[str, type[T]] = {}

    @cached_property
    def _installed(self) -> dict[str, EntryPoint]:
        """Entry points by name; the names are known without importing the packages."""
        entries = [entry for group in self._groups for entry in entry_points(group=group)]
        return {self._name_of(entry): entry for entry in entries}

    def __getitem__(self, name: str) -> type[T]:
        if name in self.places:
            module, _, attribute = self.places[name].rpartition(".")
            built_in: type[T] = getattr(import_module(module), attribute)
            return built_in
        if name not in self._added:
            self._added[name] = self._load(name, self._installed[name])
        return self._added[name]

    def _load(self, name: str, entry: EntryPoint) -> type[T]:
        where = f"{name!r} of an installed package ({entry.value})"
        try:
            kind: type[T] = entry.load()
        except Exception as problem:
            raise ConfigError(
                f"{where} cannot be imported: {problem}; repair or uninstall the package"
            ) from problem
        try:
            self._check(name, kind)
        except ConfigError as problem:
            raise ConfigError(f"{where}: {problem}") from None
        return kind

    def __contains__(self, name: object) -> bool:  # without an import
        return name in self.places or name in self._added or name in self._installed

    def __iter__(self) -> Iterator[str]:
        return iter([*self.places, *sorted({*self._added, *self._installed} - {*self.places})])

    def __len__(self) -> int:
        return len(list(iter(self)))

    def add(self, name: str, kind: type[T]) -> None:
        """Add a class in this process; a name can be used for one class only."""
        if name in self and (name in self.places or self[name] is not kind):
            raise ConfigError(f"the name {name!r} is already in use; choose another")
        self._check(name, kind)
        self._added[name] = kind

    def remove(self, name: str) -> None:
        """Remove a class that was added in this process."""
        self._added.pop(name, None)
