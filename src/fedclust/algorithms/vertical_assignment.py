"""Assignment over split columns: one sum of the owners' partial distances.

It assigns new records, or the records of a finished run. Every owner first computes the distances
to its part of the centres, so its data in this plan are those distances.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from ..core import Data, Empty, OneRoundQuery, Role, Schema, checks
from ..core.algorithm import Partition
from ..typing import FloatArray, Rng
from .records import PartialDistances


@dataclass(frozen=True, eq=False)
class VerticalAssignment(OneRoundQuery[Empty, PartialDistances]):
    """One round: owners send partial distances; the result is all squared distances."""

    n_clusters: Annotated[int, Role.CLUSTERS]

    key: ClassVar[str] = "vertical-assignment"
    partition: ClassVar[Partition] = "vertical"

    def __post_init__(self) -> None:
        checks.integer(self, "n_clusters")

    def broadcast(self, state: Empty) -> Empty:
        return Empty()

    def client_step(self, down: Empty, data: Data, rng: Rng) -> PartialDistances:
        return PartialDistances(data.X)

    def model(self, state: PartialDistances) -> FloatArray:
        return state.d2

    def sizes(self, schema: Schema) -> dict[str, int]:
        return {"N": schema.records(), "C": self.n_clusters}
