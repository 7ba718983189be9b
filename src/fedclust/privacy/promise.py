"""A promise in plain words: what a model, a report and a console say of a run's protection."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Promise:
    """A tier as its users are told of it."""

    tier: str
    parameters: Mapping[str, Any]
    words: str

    def __str__(self) -> str:
        settings = ", ".join(f"{name}={value}" for name, value in self.parameters.items())
        return f"{self.tier}{f' ({settings})' if settings else ''}: {self.words}"
