"""The same indices over data that stays where it is: one round, sums up, a number out."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple, Self

import numpy as np

from ..core import Data, Dims, Empty, Message, OneRoundQuery, Record, Rule, Summed, checks
from ..typing import BoolArray, FloatArray, Rng
from .indices import Index, index, sizes, sums_over


@dataclass(frozen=True, eq=False)
class Totals(Summed):
    """The sums of an index, or of several one after the other."""

    sums: Annotated[FloatArray, Dims("T")]
    support: Annotated[FloatArray | None, Dims("one", stays=True)] = None  # the client's records

    def keep(self, mask: BoolArray) -> Self:
        """All or nothing: these sums speak of no single cluster."""
        return self if mask.all() else self.identity()


@dataclass(frozen=True, eq=False)
class At(Record):
    """The centres to evaluate."""

    centers: Annotated[FloatArray, Dims("C", "F")]


class Evaluated(NamedTuple):
    """Several indices of the same centres, and the weight of the rows nearest to each."""

    indices: dict[str, float]
    sizes: FloatArray  # (C,)


@dataclass(frozen=True, eq=False)
class Evaluation(OneRoundQuery[At, Totals]):
    """Indices of given centres over all clients' rows; equal to those of the pooled rows.

    One index is a number. Several go into one message, with the clusters' sizes: `Evaluated`.
    """

    n_clusters: int
    init: FloatArray  # (C, F) the centres to evaluate
    index: str | tuple[str, ...] = "inertia"
    fuzzifier: float = 2.0

    key: ClassVar[str] = "evaluation"
    counted: ClassVar[bool] = True
    additive: ClassVar[bool] = True
    down: ClassVar[type[Record]] = At
    up: ClassVar[type[Message]] = Totals

    def __post_init__(self) -> None:
        checks.integer(self, "n_clusters")
        checks.centers(self)
        checks.fuzzifier(self)
        self._chosen()

    def _chosen(self) -> list[Index]:
        names = (self.index,) if isinstance(self.index, str) else self.index
        return [index(name, self.n_clusters) for name in names]

    @property
    def lossless(self) -> bool:
        return True

    def rule(self, n_features: int) -> Rule:
        """Ours: how far one record is from the centres is that record's affair."""
        return Rule(min_samples=2)

    def broadcast(self, state: Empty) -> At:
        return At(self.init)

    def client_step(self, down: At, data: Data, rng: Rng) -> Totals:
        parts = [chosen.sums for chosen in self._chosen()]
        if not isinstance(self.index, str):
            parts = [sizes, *parts]
        sums = sums_over(parts, data.X, data.weight, down.centers, self.fuzzifier)
        return Totals(sums, np.array([float(len(data))]))

    def model(self, state: Totals) -> float | Evaluated:
        if isinstance(self.index, str):
            return index(self.index, self.n_clusters).formula(state.sums, self.init)
        lengths = [2 * self.n_clusters + 1 if one.per_center else 2 for one in self._chosen()]
        held, *parts = np.split(state.sums, self.n_clusters + np.cumsum([0, *lengths[:-1]]))
        values = {
            name: one.formula(part, self.init)
            for name, one, part in zip(self.index, self._chosen(), parts, strict=True)
        }
        return Evaluated(values, held)
