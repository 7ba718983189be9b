"""What algorithms share whose messages are whole numbers of bounded influence.

Rows are moved into a cube by public bounds, one factor for all columns, so that distances keep
their proportions. A record then adds a vector of bounded length to the sum: that length is the
sensitivity which noise must match, and without noise the sums are exact.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, ClassVar, Generic, Self, TypeVar

import numpy as np

from ..core import Algorithm, ConfigError, Data, Dims, Record, Role, Summed, Traits
from ..kernels.grid import Grid
from ..typing import FloatArray, IntArray

STEPS = 2.0**20  # per unit of the cube


@dataclass(frozen=True, eq=False)
class IntegerSums(Summed):
    """One vector of whole numbers."""

    values: Annotated[IntArray, Dims("T")]

    def on_grid(self, grid: Grid) -> Self:
        return self

    def off_grid(self, grid: Grid) -> Self:
        return self


def to_integer_sums(values: FloatArray) -> IntegerSums:
    """A sum of records' vectors that were rounded one by one, in steps."""
    return IntegerSums(values.astype(np.int64))


S = TypeVar("S", bound=Record)
D = TypeVar("D", bound=Record)


@dataclass(frozen=True, eq=False)
class BoundedAlgorithm(Algorithm[S, D, IntegerSums], Generic[S, D]):
    """An algorithm that knows how much one record can change a message."""

    n_clusters: Annotated[int, Role.CLUSTERS]
    low: Annotated[FloatArray, Role.COLUMNS]  # (F,) public bounds: values beyond are clipped
    high: Annotated[FloatArray, Role.COLUMNS]  # (F,)

    traits: ClassVar[Traits] = Traits(additive=True, bounded=True)

    def __post_init__(self) -> None:
        low, high = np.asarray(self.low, float), np.asarray(self.high, float)
        if low.ndim != 1 or low.shape != high.shape or not (low < high).all():
            raise ConfigError(f"{self.key}: low must be below high in every column")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @abstractmethod
    def sensitivity(self, down: D) -> float:
        """Length, in steps, of the longest vector that a record adds to what answers `down`."""

    @property
    def unit(self) -> float:
        """Half the longest side of the bounds: one in the cube."""
        return float((self.high - self.low).max() / 2)

    @property
    def middle(self) -> FloatArray:
        """The middle of the bounds: the origin of the cube."""
        return (self.low + self.high) / 2

    @property
    def radius(self) -> float:
        """The longest row in the cube."""
        return float(np.linalg.norm((self.high - self.low) / 2)) / self.unit

    def to_cube(self, data: Data) -> FloatArray:
        """A client's rows in the cube."""
        inside = np.clip(data.X.astype(np.float64), self.low, self.high)
        cube: FloatArray = (inside - self.middle) / self.unit
        return cube

    def to_data_units(self, cube: FloatArray) -> FloatArray:
        """Places in the cube in the units of the data, within the bounds."""
        return np.clip(cube * self.unit + self.middle, self.low, self.high)


def cap_weights(data: Data) -> FloatArray:
    """At most one per record, or a record would count for several."""
    return np.minimum(data.weight, 1.0) if len(data.weight) else np.ones(len(data))


def clip_lengths(rows: FloatArray, longest: float) -> FloatArray:
    """Rows, those that are too long shortened."""
    length = np.sqrt(np.einsum("nf,nf->n", rows, rows))
    short: FloatArray = rows * np.minimum(1.0, longest / np.maximum(length, 1e-300))[:, None]
    return short


def sum_by_label(label: IntArray, steps: FloatArray, k: int) -> FloatArray:
    """Rows of whole numbers, added up by label, one after the other: exact in float64."""
    sums = np.stack([np.bincount(label, column, k) for column in steps.T], axis=1)
    return np.asarray(sums.ravel(), np.float64)
