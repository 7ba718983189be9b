"""An algorithm of another package: one file with one class."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from fedclust.algorithms.centers import CenterAlgorithm, Centers, CenterState, Sums
from fedclust.core import Data, Role, Traits, Work, checks
from fedclust.kernels import divide_or_keep, lloyd
from fedclust.typing import Rng


@dataclass(frozen=True, eq=False)
class SweepMeans(CenterAlgorithm[CenterState, Sums]):
    """Several k-means sweeps at every client, averaged by rows."""

    sweeps: Annotated[int, Work(50)] = 2  # at each client, in every round
    min_rows: Annotated[int, Role.RECORDS] = 2  # a mean of fewer rows is not sent

    key: ClassVar[str] = "sweep-means"
    traits: ClassVar[Traits] = Traits(counted=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.integer(self, "sweeps")
        checks.integer(self, "min_rows")

    def client_step(self, down: Centers, data: Data, rng: Rng) -> Sums:
        local = lloyd(data.X, down.centers, data.weight, steps=self.sweeps)
        sums = Sums(local.weight, local.weight[:, None] * local.centers, local.records)
        return sums.keep(local.records >= self.min_rows)

    def server_step(self, state: CenterState, merged: Sums, rng: Rng) -> CenterState:
        return state.move_to(divide_or_keep(merged.total, merged.weight, state.centers))
