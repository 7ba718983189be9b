"""Assignment over split columns: the owners' partial distances, summed once.

For records that are new, or after a run has ended: every owner computes distances to its part of
the centres at home, so its data in this plan are those distances.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from ..core import Algorithm, Data, Dims, Message, Record, Schema, checks
from ..core.algorithm import Partition
from ..typing import FloatArray, Rng
from ._centers import Nothing
from ._records import PartialDistances


@dataclass(frozen=True, eq=False)
class DistanceState(Record):
    """Squared distances of the records, once they are there."""

    d2: Annotated[FloatArray, Dims("N", "C")]
    round: int


@dataclass(frozen=True, eq=False)
class VerticalAssignment(Algorithm[DistanceState, Nothing, PartialDistances]):
    """One round: partial distances up, squared distances of all records out."""

    n_clusters: int

    key: ClassVar[str] = "vertical-assignment"
    partition: ClassVar[Partition] = "vertical"
    state: ClassVar[type[Record]] = DistanceState
    down: ClassVar[type[Record]] = Nothing
    up: ClassVar[type[Message]] = PartialDistances

    def __post_init__(self) -> None:
        checks.whole(self, "n_clusters")

    def start(self, schema: Schema, rng: Rng) -> DistanceState:
        nowhere = np.broadcast_to(np.inf, (schema.records(), self.n_clusters))
        return DistanceState(nowhere, 0)

    def broadcast(self, state: DistanceState) -> Nothing:
        return Nothing()

    def client_step(self, down: Nothing, data: Data, rng: Rng) -> PartialDistances:
        return PartialDistances(data.X)

    def server_step(
        self, state: DistanceState, merged: PartialDistances, rng: Rng
    ) -> DistanceState:
        return DistanceState(merged.d2, 1)

    def done(self, state: DistanceState) -> bool:
        return state.round == 1

    def model(self, state: DistanceState) -> FloatArray:
        return state.d2

    def sizes(self, schema: Schema) -> dict[str, int]:
        return {"N": schema.records(), "C": self.n_clusters}
