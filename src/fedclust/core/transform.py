"""What privacy does to a message: both halves of a mechanism in one object, order checked."""

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
    """The only order in which mechanisms mean what they say."""

    SUPPRESS = 1
    ENCODE = 2  # to whole numbers: noise and masks are added to those
    NOISE = 3
    MASK = 4


@dataclass(frozen=True, eq=False)
class RoundContext:
    """Whose message it is, and when."""

    round: int
    party: str
    cohort: tuple[str, ...]
    samples: int  # the client's records; at the server 0: it does not know
    plan: Any = None  # the whole Plan, which this file comes before
    down: Record | None = None  # what the client was sent
    data: Data | Batches | None = None  # at the client only: all of its rows


class Transform:
    """A step between a client's message and the wire, undone or completed after the merge."""

    stage: ClassVar[Stage]
    needs_all: ClassVar[bool] = False  # a merge without one of the cohort means nothing

    def check(self, algorithm: Algorithm[Any, Any, Any]) -> None:
        """Refuse, before any data is touched, an algorithm this cannot work with."""

    def covers(self, wanted: "Transform") -> bool:
        """Whether this withholds all that another would: its kind, with numbers as large."""
        return type(self) is type(wanted) and all(
            vars(self)[name] >= value for name, value in vars(wanted).items()
        )

    def check_cohort(self, context: RoundContext) -> None:
        """Client: refuse those it is asked with, before anything is counted or computed."""

    def at_rows(self, data: Data, context: RoundContext) -> Data:
        """Client: before its rows are used, where rows are split between clients."""
        return data

    def at_client(self, message: M, context: RoundContext) -> M:
        """Client: before the message leaves."""
        return message

    def at_server(self, merged: M, context: RoundContext) -> M:
        """Server: after the merge."""
        return merged


def check_order(transforms: Sequence[Transform], algorithm: Algorithm[Any, Any, Any]) -> None:
    """Stages ascend, and each transform accepts the algorithm."""
    stages = [t.stage for t in transforms]
    if stages != sorted(stages):
        names = ", ".join(type(t).__name__ for t in transforms)
        raise ConfigError(f"privacy: order must be suppress, encode, noise, mask; got {names}")
    for transform in transforms:
        transform.check(algorithm)


def prepare(transforms: Sequence[Transform], data: Data, context: RoundContext) -> Data:
    """A client's rows as the plan wants them."""
    for transform in transforms:
        data = transform.at_rows(data, context)
    return data


def send(transforms: Sequence[Transform], message: M, context: RoundContext) -> M:
    """All client halves, first to last."""
    for transform in transforms:
        message = transform.at_client(message, context)
    return message


def receive(transforms: Sequence[Transform], merged: M, context: RoundContext) -> M:
    """All server halves, last to first."""
    for transform in reversed(transforms):
        merged = transform.at_server(merged, context)
    return merged
