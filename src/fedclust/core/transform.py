"""Privacy mechanisms: client half and server half in one object, applied in a checked order."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar, TypeVar

from .algorithm import Algorithm, Data
from .batches import Batches
from .errors import ConfigError
from .message import Message, Record

M = TypeVar("M", bound=Message)


class Stage(IntEnum):
    """The order of mechanisms in a plan; guarantees hold in this order only."""

    SUPPRESS = 1
    ENCODE = 2  # to integers, to which noise and masks are added
    NOISE = 3
    MASK = 4


@dataclass(frozen=True, eq=False)
class RoundContext:
    """Context of one round, passed to every transform."""

    round: int
    party: str
    cohort: tuple[str, ...]
    samples: int  # number of the client's records; 0 at the server, which does not know it
    plan: Any = None  # the Plan; untyped, because loop.py imports this module
    down: Record | None = None  # the server's broadcast
    data: Data | Batches | None = None  # at the client only: its rows


class Transform:
    """A step applied to a client's message before it is sent, and to the merged message."""

    stage: ClassVar[Stage]
    needs_all: ClassVar[bool] = False  # a merge needs a reply of every client of the cohort

    def check(self, algorithm: Algorithm[Any, Any, Any]) -> None:
        """Reject an algorithm that the transform cannot work with, before any data are read."""

    def check_others(self, transforms: "Sequence[Transform]") -> None:
        """Reject other transforms of the plan that it cannot work with."""

    def covers(self, wanted: "Transform") -> bool:
        """Whether this protects at least as much as `wanted`: same class, no smaller settings."""
        return type(self) is type(wanted) and all(
            vars(self)[name] >= value for name, value in vars(wanted).items()
        )

    def check_cohort(self, context: RoundContext) -> None:
        """Client: reject an untrusted cohort before the query is counted or computed."""

    def at_source(self, data: Data | Batches, context: RoundContext) -> Data | Batches:
        """Client: change all rows before any is used, where rows are split between clients."""
        return data

    def at_rows(self, data: Data, context: RoundContext) -> Data:
        """Client: change the rows before they are used, where rows are split between clients."""
        return data

    def at_client(self, message: M, context: RoundContext) -> M:
        """Client: change the message before it is sent."""
        return message

    def at_server(self, merged: M, context: RoundContext) -> M:
        """Server: change the merged message."""
        return merged


def check_order(transforms: Sequence[Transform], algorithm: Algorithm[Any, Any, Any]) -> None:
    """Check that stages ascend and that each transform accepts the algorithm."""
    stages = [t.stage for t in transforms]
    if stages != sorted(stages):
        names = ", ".join(type(t).__name__ for t in transforms)
        raise ConfigError(
            f"privacy: the order of transforms must be suppress, encode, noise, mask; got {names}"
        )
    for transform in transforms:
        transform.check(algorithm)
        transform.check_others(transforms)


def prepare_source(
    transforms: Sequence[Transform], data: Data | Batches, context: RoundContext
) -> Data | Batches:
    """Apply the source steps of all transforms."""
    for transform in transforms:
        data = transform.at_source(data, context)
    return data


def prepare(transforms: Sequence[Transform], data: Data, context: RoundContext) -> Data:
    """Apply the row steps of all transforms."""
    for transform in transforms:
        data = transform.at_rows(data, context)
    return data


def send(transforms: Sequence[Transform], message: M, context: RoundContext) -> M:
    """Apply the client halves, first to last."""
    for transform in transforms:
        message = transform.at_client(message, context)
    return message


def receive(transforms: Sequence[Transform], merged: M, context: RoundContext) -> M:
    """Apply the server halves, last to first."""
    for transform in reversed(transforms):
        merged = transform.at_server(merged, context)
    return merged
