"""A privacy tier of another package: a transform, and the tier that adds it to every plan."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, TypeVar

import numpy as np

from fedclust.core import AnyAlgorithm, Message, RoundContext, Schema, Stage, Transform, checks
from fedclust.settings import Key
from fedclust.tiers import Tier

M = TypeVar("M", bound=Message)


@dataclass(frozen=True)
class RoundNumbers(Transform):
    """Round every number that leaves a client."""

    digits: int

    stage: ClassVar[Stage] = Stage.SUPPRESS

    def __post_init__(self) -> None:
        checks.integer(self, "digits", 0)

    def covers(self, wanted: Transform) -> bool:
        return isinstance(wanted, RoundNumbers) and self.digits <= wanted.digits

    def at_client(self, message: M, context: RoundContext) -> M:
        rounded = {name: np.round(a, self.digits) for name, a in message.arrays().items()}
        return type(message).from_arrays(rounded)


@dataclass(frozen=True)
class Rounded(Tier):
    """Numbers leave clients with few digits."""

    digits: Annotated[int, Key("rounded: digits after the point", low=0)] = 2

    name: ClassVar[str] = "rounded"

    def transforms(
        self, algorithm: AnyAlgorithm, schema: Schema, n_clients: int = 1
    ) -> tuple[Transform, ...]:
        return (RoundNumbers(self.digits),)

    def _words(self) -> str:
        return f"Numbers leave a client with {self.digits} digits after the point."
