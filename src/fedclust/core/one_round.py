"""Queries of one round: their result is a function of the merged message."""

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ..typing import Rng
from .algorithm import Algorithm, Schema
from .message import Message, Record

Down = TypeVar("Down", bound=Record)
Up = TypeVar("Up", bound=Message)


@dataclass(frozen=True, eq=False)
class Empty(Record):
    """A record without fields: a broadcast that only starts a round, or the state before it."""


class OneRoundQuery(Algorithm[Any, Down, Up], Generic[Down, Up]):
    """Base of statistics, scores and profiles: the server's state is the merged message."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if hasattr(cls, "up"):
            cls.state = cls.up

    def start(self, schema: Schema, rng: Rng) -> Empty:
        return Empty()

    def server_step(self, state: Empty, merged: Up, rng: Rng) -> Up:
        return merged

    def done(self, state: Any) -> bool:
        return not isinstance(state, Empty)

    def model(self, state: Up) -> Any:
        return state
