"""Starts for split columns: records or a partition; no value of any record is told to anybody.

The outcome is the `init` of `vertical_c_means` and `vertical_fuzzy_c_means`: a record for each
cluster, or a cluster for each record.
"""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from ..core import Algorithm, ConfigError, Data, Dims, Record, Role, Schema, checks
from ..core.algorithm import Partition
from ..kernels.columns import Distances
from ..typing import FloatArray, IntArray, Rng
from .records import PartialDistances, check_assignment


@dataclass(frozen=True, eq=False)
class SeedState(Record):
    """Records chosen, each record's squared distance to the nearest of them, and the next draw."""

    chosen: Annotated[IntArray, Dims("S")]
    d2: Annotated[FloatArray, Dims("N")]
    drawn: Annotated[IntArray, Dims("L")]


@dataclass(frozen=True, eq=False)
class DrawnRecords(Record):
    """The records to measure distances to."""

    drawn: Annotated[IntArray, Dims("L")]


@dataclass(frozen=True, eq=False)
class RecordSeeding(Algorithm[SeedState, DrawnRecords, PartialDistances]):
    """A random record for each cluster; no owner is asked."""

    n_clusters: Annotated[int, Role.CLUSTERS]
    message_dtype: str = "float64"  # type of distances on the wire

    key: ClassVar[str] = "records"
    partition: ClassVar[Partition] = "vertical"

    def __post_init__(self) -> None:
        checks.integer(self, "n_clusters")

    def start(self, schema: Schema, rng: Rng) -> SeedState:
        n = schema.records()
        if n < self.n_clusters:
            raise ConfigError(f"{self.key}: {n} records cannot start {self.n_clusters} clusters")
        return self.begin(n, rng)

    def begin(self, n: int, rng: Rng) -> SeedState:
        """The state before the first round."""
        records = rng.choice(n, self.n_clusters, replace=False)
        return SeedState(records, np.zeros(n), records[:0])

    def broadcast(self, state: SeedState) -> DrawnRecords:
        return DrawnRecords(state.drawn)

    def client_step(self, down: DrawnRecords, data: Data, rng: Rng) -> PartialDistances:
        check_assignment(down.drawn, 0, len(data), len(down.drawn))
        found = Distances(data.X, data.X[down.drawn], self.message_dtype)
        return PartialDistances(found)  # type: ignore[arg-type]

    def server_step(self, state: SeedState, merged: PartialDistances, rng: Rng) -> SeedState:
        return state

    def done(self, state: SeedState) -> bool:
        return len(state.chosen) >= self.n_clusters

    def model(self, state: SeedState) -> IntArray:
        return state.chosen

    def sizes(self, schema: Schema) -> dict[str, int]:
        return {"N": schema.records()}


@dataclass(frozen=True, eq=False)
class PartitionSeeding(RecordSeeding):
    """Every record in a random cluster, all clusters equally large; no owner is asked."""

    key: ClassVar[str] = "partition"

    def begin(self, n: int, rng: Rng) -> SeedState:
        return SeedState(
            rng.permutation(np.arange(n) % self.n_clusters), np.zeros(n), np.empty(0, int)
        )


@dataclass(frozen=True, eq=False)
class DistanceSeeding(RecordSeeding):
    """k-means++ over summed partial distances (Arthur & Vassilvitskii 2007), best of a few draws.

    The server draws records by number; owners send distances to them, of which the server sees
    the sum. One round per cluster.
    """

    key: ClassVar[str] = "vertical-k-means++"

    def begin(self, n: int, rng: Rng) -> SeedState:
        none = np.empty(0, int)
        return SeedState(none, np.broadcast_to(np.inf, n), rng.choice(n, 1))

    def server_step(self, state: SeedState, merged: PartialDistances, rng: Rng) -> SeedState:
        closer = np.minimum(merged.d2, state.d2[:, None])
        best = int(np.argmin(closer.sum(axis=0)))
        chosen = np.append(state.chosen, state.drawn[best])
        d2 = closer[:, best]
        return replace(state, chosen=chosen, d2=d2, drawn=self._draw(d2, chosen, rng))

    def _draw(self, d2: FloatArray, chosen: IntArray, rng: Rng) -> IntArray:
        """Records with probability proportional to their squared distance, none of them chosen."""
        mass = d2.copy()
        mass[chosen] = 0.0
        if mass.sum() <= 0:  # all records lie on chosen ones: any other will do
            mass = np.ones(len(d2))
            mass[chosen] = 0.0
            if not mass.any():
                return chosen[:0]
        trials = 2 + int(np.log(self.n_clusters))
        rising = np.cumsum(mass)
        drawn = np.searchsorted(rising, rng.random(trials) * rising[-1], side="right")
        last: IntArray = np.minimum(drawn, np.flatnonzero(mass)[-1])
        return last
