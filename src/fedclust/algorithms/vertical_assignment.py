"""Assignment over split columns: the owners' partial distances, summed once.

For records that are new, or after a run has ended: every owner computes distances to its part of
the centres at home, so its data in this plan are those distances.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from ..core import Data, Empty, OneRoundQuery, Role, Schema, checks
from ..core.algorithm import Partition
from ..typing import FloatArray, Rng
from .records import PartialDistances


@dataclass(frozen=True, eq=False)
class VerticalAssignment(OneRoundQuery[Empty, PartialDistances]):
    """One round: partial distances up, squared distances of all records out."""

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
