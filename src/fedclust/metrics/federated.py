"""The same indices over data that stays where it is: one round, sums up, a number out."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Self

import numpy as np

from ..core import Algorithm, Data, Dims, Message, Record, Rule, Schema, Summed, checks
from ..typing import BoolArray, FloatArray, Rng
from .indices import index, sums_over


@dataclass(frozen=True, eq=False)
class Totals(Summed):
    """The sums of an index."""

    sums: Annotated[FloatArray, Dims("T")]
    support: Annotated[FloatArray | None, Dims("one", stays=True)] = None  # the client's records

    def keep(self, mask: BoolArray) -> Self:
        """All or nothing: these sums speak of no single cluster."""
        return self if mask.all() else self.identity()


@dataclass(frozen=True, eq=False)
class IndexState(Record):
    """The pooled sums, once they are there."""

    sums: Annotated[FloatArray, Dims("T")]
    round: int


@dataclass(frozen=True, eq=False)
class At(Record):
    """The centres to evaluate."""

    centers: Annotated[FloatArray, Dims("C", "F")]


@dataclass(frozen=True, eq=False)
class Evaluation(Algorithm[IndexState, At, Totals]):
    """One index of given centres over all clients' rows; equal to the index of the pooled rows."""

    n_clusters: int
    init: FloatArray  # (C, F) the centres to evaluate
    index: str = "inertia"
    fuzzifier: float = 2.0

    key: ClassVar[str] = "evaluation"
    counted: ClassVar[bool] = True
    additive: ClassVar[bool] = True
    state: ClassVar[type[Record]] = IndexState
    down: ClassVar[type[Record]] = At
    up: ClassVar[type[Message]] = Totals

    def __post_init__(self) -> None:
        checks.whole(self, "n_clusters")
        checks.centers(self)
        checks.fuzzifier(self)
        index(self.index)

    @property
    def lossless(self) -> bool:
        return True

    def rule(self, n_features: int) -> Rule:
        """Ours: how far one record is from the centres is that record's affair."""
        return Rule(min_samples=2)

    def start(self, schema: Schema, rng: Rng) -> IndexState:
        return IndexState(np.zeros(0), 0)

    def broadcast(self, state: IndexState) -> At:
        return At(self.init)

    def client_step(self, down: At, data: Data, rng: Rng) -> Totals:
        sums = sums_over(self.index, data.X, data.weight, down.centers, self.fuzzifier)
        return Totals(sums, np.array([float(len(data))]))

    def server_step(self, state: IndexState, merged: Totals, rng: Rng) -> IndexState:
        return IndexState(merged.sums, 1)

    def done(self, state: IndexState) -> bool:
        return state.round == 1

    def model(self, state: IndexState) -> float:
        return index(self.index).formula(state.sums, self.init)
