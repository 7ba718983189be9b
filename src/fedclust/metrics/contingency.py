"""Compare the assignments by two sets of centres; clients send only a table of counts."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Self

import numpy as np

from ..core import (
    Data,
    Dims,
    Empty,
    OneRoundQuery,
    Record,
    Role,
    Rule,
    Summed,
    Traits,
    checks,
)
from ..kernels import nearest
from ..typing import BoolArray, FloatArray, Rng


@dataclass(frozen=True, eq=False)
class Table(Summed):
    """Counts of rows by their cluster in the first and in the second set."""

    table: Annotated[FloatArray, Dims("C", "C")]
    support: Annotated[FloatArray | None, Dims("one", stays=True)] = None  # the client's records

    def keep(self, mask: BoolArray) -> Self:
        """Keep all or nothing, because each cell belongs to two clusters."""
        return self if mask.all() else self.identity()


@dataclass(frozen=True, eq=False)
class CenterSets(Record):
    """Two sets of centres."""

    first: Annotated[FloatArray, Dims("C", "F")]
    second: Annotated[FloatArray, Dims("C", "F")]


@dataclass(frozen=True, eq=False)
class Contingency(OneRoundQuery[CenterSets, Table]):
    """Count the rows of all clients by their nearest centre in each of two sets."""

    n_clusters: Annotated[int, Role.CLUSTERS]
    first: Annotated[FloatArray, Role.CLUSTERS]  # (C, F)
    second: Annotated[FloatArray, Role.CLUSTERS]  # (C, F)

    key: ClassVar[str] = "contingency"
    traits: ClassVar[Traits] = Traits(additive=True, counted=True, missing=True)

    def __post_init__(self) -> None:
        checks.integer(self, "n_clusters")
        checks.centers(self, "first")
        checks.centers(self, "second")

    @property
    def lossless(self) -> bool:
        return True

    def rule(self, n_features: int) -> Rule:
        """Our own rule: never disclose the clusters of a single record."""
        return Rule(min_samples=2)

    def broadcast(self, state: Empty) -> CenterSets:
        return CenterSets(self.first, self.second)

    def client_step(self, down: CenterSets, data: Data, rng: Rng) -> Table:
        k = self.n_clusters
        cells = nearest(data.X, down.first)[0] * k + nearest(data.X, down.second)[0]
        table = np.bincount(cells, minlength=k * k).reshape(k, k).astype(np.float64)
        return Table(table, np.array([float(len(data))]))

    def model(self, state: Table) -> FloatArray:
        return state.table
