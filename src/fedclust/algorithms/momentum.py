"""Base of DWF and EWF k-means: local Lloyd steps, a step with momentum, two stopping rules."""

from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from ..core import Data, Dims, Message, Role, Work, checks
from ..kernels import HardSums, lloyd
from ..typing import FloatArray
from .centers import CenterAlgorithm, Centers, CenterState

U = TypeVar("U", bound=Message)


@dataclass(frozen=True, eq=False)
class MomentumState(CenterState):
    """Centres, the centres of the round before, and the sizes of the last movements."""

    previous: Annotated[FloatArray, Dims("C", "F")]
    # Oldest first; infinite before the first round that counts.
    movements: Annotated[FloatArray, Dims("window")]


@dataclass(frozen=True, eq=False)
class WeightedKMeans(CenterAlgorithm[MomentumState, U], Generic[U]):
    """Local Lloyd steps, averaged with weights, applied as a step with momentum.

    P. Holzer, T. Jacob, S. Kavane: "Dynamically Weighted Federated k-Means", 2023; Algorithms
    1-3, Eqs. 3-8.

    The paper's learning rate of 0.01 with momentum 0.8 takes hundreds of rounds and helps when
    few clients take part; with all of them the full step (1 and 0, the default) is as good.
    """

    local_steps: Annotated[int, Work(10_000)] = 5
    local_tol: float = 1e-8
    learning_rate: float = 1.0
    momentum: float = 0.0
    # The first round after which the run may stop, and whose movement counts for `patience`.
    min_rounds: Annotated[int, Role.FREE] = 1
    # The run stops if the movement has not decreased in this number of rounds.
    patience: Annotated[int, Role.FREE] = 300
    # A client does not move a centre that has fewer of its records.
    min_count: Annotated[int, Role.RECORDS] = 2

    seeding: ClassVar[str | None] = "one-shot"

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.integer(self, "local_steps")
        checks.number(self, "local_tol")
        checks.number(self, "learning_rate", 0.0, 1.0, above=True)
        checks.number(self, "momentum", 0.0, 0.999)
        checks.integer(self, "min_rounds")
        checks.integer(self, "patience", 2)
        checks.integer(self, "min_count")

    def initial_state(self, centers: FloatArray) -> MomentumState:
        return MomentumState(centers, 0, np.inf, centers, np.full(self.patience, np.inf))

    def train(self, down: Centers, data: Data, first: HardSums | None = None) -> FloatArray:
        """Client, Algorithm 2. A centre without rows stays: other clients may have rows of it.

        `first` are the sums at the received centres, if they are known already.
        """
        return lloyd(
            data.X,
            down.centers,
            data.weight,
            steps=self.local_steps,
            tol=self.local_tol * self.unit(down.centers),
            min_count=self.min_count,
            first=first,
        ).centers

    def step(self, state: MomentumState, target: FloatArray) -> MomentumState:
        """Server, Eq. 6: a step towards the aggregated centres, plus momentum."""
        pull = self.learning_rate * (target - state.centers)
        glide = self.momentum * (state.centers - state.previous)
        moved = state.move_to(state.centers + pull + glide)
        movements = state.movements
        if moved.round >= self.min_rounds:  # before that, without momentum, moves are smallest
            movements = np.append(movements[1:], moved.shift)
        return replace(moved, previous=state.centers, movements=movements)

    def done(self, state: MomentumState) -> bool:
        if state.round < min(self.min_rounds, self.max_rounds):
            return False
        oldest, newer = state.movements[0], state.movements[1:]
        return super().done(state) or bool(np.isfinite(oldest) and oldest <= newer.min())

    @classmethod
    def reference(cls, n_clusters: int, **changes: Any) -> Self:
        """The paper's experiments: small steps with momentum, a tolerance of 1e-8."""
        settings = {
            "learning_rate": 0.01,
            "momentum": 0.8,
            "min_rounds": 17,  # their counter of rounds starts at 0, and 16 are not enough
            "max_rounds": 10_000,
            "tol": 1e-8,
            "absolute_tol": True,
            "min_count": 1,
        }
        return cls(n_clusters, **{**settings, **changes})
