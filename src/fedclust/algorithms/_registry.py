"""Classes by name, each imported when somebody first asks for it."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Registry(Mapping[str, type[T]], Generic[T]):
    """A fixed table of names and where their classes stand.

    A client's process may live for one message and needs one or two of them: importing all would
    take longer than the answer. Nothing that is not in the table can be imported by it.
    """

    def __init__(self, places: Mapping[str, str]) -> None:
        self.places = dict(places)  # such as "fedclust.algorithms.k_fed.KFed"

    def __getitem__(self, name: str) -> type[T]:
        module, _, kind = self.places[name].rpartition(".")
        found: type[T] = getattr(import_module(module), kind)
        return found

    def __contains__(self, name: object) -> bool:
        return name in self.places  # a question that imports nothing

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)

    def __or__(self, other: "Registry[Any]") -> "Registry[Any]":
        return Registry({**self.places, **other.places})


def by_class(*places: str) -> dict[str, str]:
    """The same places by the names of their classes."""
    return {place.rpartition(".")[2]: place for place in places}
