"""Indices of centres over all clients' rows, computed from sums in one round."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple, Self

import numpy as np

from ..core import (
    Data,
    Dims,
    Empty,
    OneRoundQuery,
    Record,
    Role,
    Rule,
    Schema,
    Summed,
    Traits,
    Work,
    checks,
)
from ..typing import BoolArray, FloatArray, Rng
from .indices import Index, cluster_sizes, sums_over
from .registry import find_index


@dataclass(frozen=True, eq=False)
class Totals(Summed):
    """The sums from which one index is computed, or several."""

    sums: Annotated[FloatArray, Dims("T")]
    support: Annotated[FloatArray | None, Dims("one", stays=True)] = None  # the client's records

    def keep(self, mask: BoolArray) -> Self:
        """Keep all or nothing, because these sums do not belong to single clusters."""
        return self if mask.all() else self.identity()


@dataclass(frozen=True, eq=False)
class CentersToEvaluate(Record):
    """The centres to evaluate."""

    centers: Annotated[FloatArray, Dims("C", "F")]


class Evaluated(NamedTuple):
    """Several indices of the same centres, and the weight of the rows nearest to each."""

    indices: dict[str, float]
    sizes: FloatArray  # (C,)


@dataclass(frozen=True, eq=False)
class Evaluation(OneRoundQuery[CentersToEvaluate, Totals]):
    """Indices of given centres over all clients' rows; equal to those of the pooled rows.

    One index gives a number. Several share one message and give `Evaluated`, with cluster sizes.
    """

    n_clusters: Annotated[int, Role.CLUSTERS]
    init: Annotated[FloatArray, Role.CLUSTERS]  # (C, F) the centres to evaluate
    index: Annotated[str | tuple[str, ...], Work(100)] = "inertia"
    fuzzifier: float = 2.0

    key: ClassVar[str] = "evaluation"
    traits: ClassVar[Traits] = Traits(counted=True, additive=True, missing=True)

    def __post_init__(self) -> None:
        checks.integer(self, "n_clusters")
        checks.centers(self)
        checks.fuzzifier(self)
        for index in self._indices():
            index.check(self.n_clusters)

    def _indices(self) -> list[Index]:
        names = (self.index,) if isinstance(self.index, str) else self.index
        return [find_index(name) for name in names]

    def _lengths(self) -> list[int]:
        """Length of each part of a message."""
        sizes = [] if isinstance(self.index, str) else [self.n_clusters]
        return [*sizes, *(index.length(self.n_clusters) for index in self._indices())]

    @property
    def lossless(self) -> bool:
        return True

    def rule(self, n_features: int) -> Rule:
        """Our own rule: never disclose the distance of a single record."""
        return Rule(min_samples=2)

    def broadcast(self, state: Empty) -> CentersToEvaluate:
        return CentersToEvaluate(self.init)

    def client_step(self, down: CentersToEvaluate, data: Data, rng: Rng) -> Totals:
        parts = [index.sums_of for index in self._indices()]
        if not isinstance(self.index, str):
            parts = [cluster_sizes, *parts]
        sums = sums_over(parts, data.X, data.weight, down.centers, self.fuzzifier)
        return Totals(sums, np.array([float(len(data))]))

    def model(self, state: Totals) -> float | Evaluated:
        if isinstance(self.index, str):
            return find_index(self.index).formula(state.sums, self.init)
        sizes, *parts = np.split(state.sums, np.cumsum(self._lengths())[:-1])
        values = {
            index.name: index.formula(part, self.init)
            for index, part in zip(self._indices(), parts, strict=True)
        }
        return Evaluated(values, sizes)

    def sizes(self, schema: Schema) -> dict[str, int]:
        return super().sizes(schema) | {"T": sum(self._lengths())}
