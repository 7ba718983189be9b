"""A limit that a plan sets to the number of looks at the same rows."""

from dataclasses import dataclass
from typing import ClassVar

from ..core import Data, Stage, Transform, Turn, checks
from .gate import gate_of


@dataclass(frozen=True)
class Released(Transform):
    """Count every question in the client's ledger, and refuse those beyond the limit.

    A gate with rules of its own counts anyway, and the lower limit holds.
    """

    most: int = 50

    stage: ClassVar[Stage] = Stage.SUPPRESS

    def __post_init__(self) -> None:
        checks.whole(self, "most")

    def at_rows(self, data: Data, turn: Turn) -> Data:
        gate_of(turn.data).count(turn, self.most)
        return data
