"""What a client withholds because too few records stand behind it.

These are the papers' own rules. They hide single records from one look at one message; over
several rounds differences between messages reveal more, and what is withheld is missing from
the result, so a lossless algorithm is no longer lossless with them (docs/privacy.md).
"""

from dataclasses import dataclass
from typing import ClassVar, TypeVar

import numpy as np

from ..core import AnyAlgorithm, ConfigError, Message, RoundContext, Stage, Transform, checks

M = TypeVar("M", bound=Message)


@dataclass(frozen=True)
class MinCount(Transform):
    """Withhold every cluster that fewer than `count` of the client's records stand behind."""

    count: int

    stage: ClassVar[Stage] = Stage.SUPPRESS

    def __post_init__(self) -> None:
        checks.integer(self, "count")

    def check(self, algorithm: AnyAlgorithm) -> None:
        if not algorithm.traits.counted:
            raise ConfigError(
                f"MinCount: {algorithm.key} does not say how many records stand behind a cluster; "
                "use MinSamples"
            )

    def at_client(self, message: M, context: RoundContext) -> M:
        support = np.asarray(getattr(message, "support"))  # noqa: B009
        return message.keep(support >= self.count)


@dataclass(frozen=True)
class MinSamples(Transform):
    """Say nothing as long as the client has fewer than `samples` records."""

    samples: int

    stage: ClassVar[Stage] = Stage.SUPPRESS

    def __post_init__(self) -> None:
        checks.integer(self, "samples")

    def at_client(self, message: M, context: RoundContext) -> M:
        return message if context.samples >= self.samples else message.identity()
