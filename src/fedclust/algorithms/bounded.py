"""Base of algorithms with integer messages in which one record has bounded influence.

Rows are mapped into a cube by public bounds, with one factor for all columns, so that distances
keep their proportions. A record then adds a vector of bounded length to the sum: that length is the
sensitivity which noise must match, and without noise the sums are exact.

The bound must hold whatever a server sends. Bounds that floats cannot tell apart are refused, rows
are clipped again after they are scaled, and what a record adds depends on no other record: neither
the bits of its vector nor the length of the message.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, ClassVar, Generic, Self, TypeVar

import numpy as np

from ..core import (
    Algorithm,
    ConfigError,
    Data,
    Dims,
    MessageError,
    Record,
    Role,
    Schema,
    Summed,
    Traits,
)
from ..core.checks import LARGEST
from ..kernels.grid import Grid
from ..typing import FloatArray, IntArray

STEPS = 2.0**20  # per unit of the cube
LEAST_REACH = 0.02  # of the radius: rows are not clipped to shorter lengths
FLOAT_STEPS = 1.0  # covers the rounding of float64 in a record's vector
_CLOSEST = 1e-9  # width of a column, as a share of its largest bound
_BLOCK = 2**22  # rows whose steps add up exactly in float64


@dataclass(frozen=True, eq=False)
class IntegerSums(Summed):
    """Sums, as one vector of integers."""

    values: Annotated[IntArray, Dims("T")]

    def on_grid(self, grid: Grid) -> Self:
        return self

    def off_grid(self, grid: Grid) -> Self:
        return self


S = TypeVar("S", bound=Record)
D = TypeVar("D", bound=Record)


@dataclass(frozen=True, eq=False)
class BoundedAlgorithm(Algorithm[S, D, IntegerSums], Generic[S, D]):
    """An algorithm that knows how much one record can change a message."""

    n_clusters: Annotated[int, Role.CLUSTERS]
    low: Annotated[FloatArray, Role.COLUMNS]  # (F,) public bounds; values outside are clipped
    high: Annotated[FloatArray, Role.COLUMNS]  # (F,)

    traits: ClassVar[Traits] = Traits(additive=True, bounded=True)

    def __post_init__(self) -> None:
        low, high = np.asarray(self.low, float), np.asarray(self.high, float)
        if low.ndim != 1 or not low.size or low.shape != high.shape or not (low < high).all():
            raise ConfigError(f"{self.key}: low must be below high in every column")
        largest = np.maximum(np.abs(low), np.abs(high))
        if not (largest <= LARGEST).all():
            raise ConfigError(f"{self.key}: bounds must be numbers up to {LARGEST:g}")
        if not (high - low >= np.maximum(_CLOSEST * largest, 1 / LARGEST)).all():
            raise ConfigError(
                f"{self.key}: low and high are too close together for float64; subtract a constant "
                "from the column, or choose wider bounds"
            )
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @abstractmethod
    def sensitivity(self, down: D) -> float:
        """Length, in steps, of the longest vector that one record adds to the reply to `down`."""

    @property
    def unit(self) -> float:
        """Half of the longest side of the bounds; it has length 1 in the cube."""
        return float((self.high - self.low).max() / 2)

    @property
    def middle(self) -> FloatArray:
        """The middle of the bounds, which is the origin of the cube."""
        return (self.low + self.high) / 2

    @property
    def half(self) -> FloatArray:
        """The largest value of each column in the cube; the largest of them is 1."""
        return (self.high - self.low) / 2 / self.unit

    @property
    def radius(self) -> float:
        """The greatest length of a row in the cube."""
        return float(np.linalg.norm(self.half))

    @property
    def shape(self) -> dict[str, int]:
        """The sizes of the axes of a broadcast."""
        return {"C": self.n_clusters, "F": len(self.low)}

    def sizes(self, schema: Schema) -> dict[str, int]:
        return self.shape

    def to_cube(self, data: Data) -> FloatArray:
        """Clip a client's rows to the bounds and map them into the cube.

        Rounding can move a scaled row out of the cube, so it is clipped there, too. A value that
        is not a number becomes the middle of its column.
        """
        if data.X.shape[1] != len(self.low):
            raise MessageError(
                f"{self.key}: bounds of {len(self.low)} columns, but rows of {data.X.shape[1]}"
            )
        inside = np.clip(data.X.astype(np.float64), self.low, self.high)
        cube: FloatArray = np.clip((inside - self.middle) / self.unit, -self.half, self.half)
        return np.where(np.isnan(cube), 0.0, cube)

    def in_cube(self, points: FloatArray) -> FloatArray:
        """Clip points in the units of the data to the bounds and map them into the cube."""
        return (np.clip(points, self.low, self.high) - self.middle) / self.unit

    def check_reach(self, reach: float) -> None:
        """Client: refuse a length to which no honest server clips.

        With a shorter one the noise is so few steps that the account of it fails.
        """
        if not LEAST_REACH * self.radius * (1 - 1e-9) <= reach <= 2 * self.radius:
            raise MessageError(
                f"{self.key}: invalid broadcast: rows are clipped to lengths from {LEAST_REACH:g} "
                f"to 2 times the radius, got {reach / self.radius:g}"
            )

    def to_data_units(self, cube: FloatArray) -> FloatArray:
        """Map points of the cube to the units of the data, within the bounds."""
        return np.clip(cube * self.unit + self.middle, self.low, self.high)


def cap_weights(data: Data) -> FloatArray:
    """Weights of at most one, so that no record counts more than once."""
    return np.minimum(data.weight, 1.0) if len(data.weight) else np.ones(len(data))


def clip_lengths(rows: FloatArray, longest: float) -> FloatArray:
    """Shorten rows that are longer than `longest`."""
    length = np.sqrt(np.einsum("nf,nf->n", rows, rows))
    shortened: FloatArray = rows * np.minimum(1.0, longest / np.maximum(length, 1e-300))[:, None]
    return shortened


def sum_by_label(label: IntArray, steps: FloatArray, k: int) -> IntegerSums:
    """Sum integer rows by label, exactly; the length of the message depends on k alone."""
    total = np.zeros((k, steps.shape[1]), np.int64)
    for start in range(0, len(steps), _BLOCK):
        rows = slice(start, start + _BLOCK)
        columns = [np.bincount(label[rows], column, k) for column in steps[rows].T]
        total += np.stack(columns, axis=1).astype(np.int64)
    return IntegerSums(total.ravel())


def sum_steps(steps: FloatArray) -> IntArray:
    """Sum integer rows, exactly."""
    sums: IntArray = steps.astype(np.int64).sum(axis=0)
    return sums
