"""How many rows each cluster has over all clients: one round, counts up."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from ..core import Algorithm, Data, Dims, Message, Record, Rule, Schema, Summed, checks
from ..kernels import memberships, nearest
from ..typing import FloatArray, Rng
from .federated import At


@dataclass(frozen=True, eq=False)
class RowCounts(Summed):
    """Rows per cluster."""

    rows: Annotated[FloatArray, Dims("C")]


@dataclass(frozen=True, eq=False)
class SizeState(Record):
    """The pooled counts, once they are there."""

    rows: Annotated[FloatArray, Dims("C")]
    round: int


@dataclass(frozen=True, eq=False)
class ClusterSizes(Algorithm[SizeState, At, RowCounts]):
    """The rows of all clients whose label is each of the given centres."""

    n_clusters: int
    init: FloatArray  # (C, F) the centres
    fuzzifier: float | None = None  # of memberships, the largest of which is the label

    key: ClassVar[str] = "sizes"
    state: ClassVar[type[Record]] = SizeState
    down: ClassVar[type[Record]] = At
    up: ClassVar[type[Message]] = RowCounts

    def __post_init__(self) -> None:
        checks.whole(self, "n_clusters")
        checks.centers(self)
        if self.fuzzifier is not None:
            checks.fuzzifier(self)

    @property
    def lossless(self) -> bool:
        return True

    def rule(self, n_features: int) -> Rule:
        """Ours: a single record's cluster is that record's affair."""
        return Rule(min_samples=2)

    def start(self, schema: Schema, rng: Rng) -> SizeState:
        return SizeState(np.zeros(self.n_clusters), 0)

    def broadcast(self, state: SizeState) -> At:
        return At(self.init)

    def client_step(self, down: At, data: Data, rng: Rng) -> RowCounts:
        if self.fuzzifier is None:
            labels = nearest(data.X, down.centers)[0]
        else:
            labels = memberships(data.X, down.centers, self.fuzzifier).argmax(axis=1)
        return RowCounts(np.bincount(labels, minlength=self.n_clusters).astype(float))

    def server_step(self, state: SizeState, merged: RowCounts, rng: Rng) -> SizeState:
        return SizeState(merged.rows, 1)

    def done(self, state: SizeState) -> bool:
        return state.round == 1

    def model(self, state: SizeState) -> FloatArray:
        return state.rows
