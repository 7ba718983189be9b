"""Assignment over split columns: the owners' partial distances, summed once.

For records that are new, or after a run has ended: every owner computes distances to its part of
the centres at home, so its data in this plan are those distances.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..core import Algorithm, Data, Message, Record, Schema, checks
from ..core.algorithm import Partition
from ..typing import FloatArray, Rng
from ._centers import Nothing
from ._records import PartialDistances, RecordState


@dataclass(frozen=True, eq=False)
class VerticalAssignment(Algorithm[RecordState, Nothing, PartialDistances]):
    """One round: partial distances up, squared distances of all records out."""

    n_clusters: int

    key: ClassVar[str] = "vertical-assignment"
    partition: ClassVar[Partition] = "vertical"
    state: ClassVar[type[Record]] = RecordState
    down: ClassVar[type[Record]] = Nothing
    up: ClassVar[type[Message]] = PartialDistances

    def __post_init__(self) -> None:
        checks.whole(self, "n_clusters")

    def start(self, schema: Schema, rng: Rng) -> RecordState:
        n = schema.records()
        none = np.empty(0, int)
        nowhere = np.broadcast_to(np.inf, (n, self.n_clusters))
        return RecordState(nowhere, np.zeros(n, np.int32), np.empty((n, 0)), none, 0, np.inf, 1.0)

    def broadcast(self, state: RecordState) -> Nothing:
        return Nothing()

    def client_step(self, down: Nothing, data: Data, rng: Rng) -> PartialDistances:
        return PartialDistances(data.X)

    def server_step(self, state: RecordState, merged: PartialDistances, rng: Rng) -> RecordState:
        return RecordState(
            merged.d2, state.labels, state.kept, state.which, state.round + 1, 0.0, 1.0
        )

    def done(self, state: RecordState) -> bool:
        return state.round == 1

    def model(self, state: RecordState) -> FloatArray:
        return state.d2

    def sizes(self, schema: Schema) -> dict[str, int]:
        return {"N": schema.records(), "C": self.n_clusters}
