"""The query of the summary: weights, sums and squares by micro-cluster, and its borders."""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Self

import numpy as np

from ...core import Data, Dims, OneRoundQuery, Record, Role, Rule, Schema, Summed, Traits, checks
from ...core.message import round_to_grid
from ...kernels import divide_or_keep, nearest, steady_nearest, steady_nearest_two
from ...kernels.grid import Grid, square_steps
from ...typing import Array, BoolArray, FloatArray, IntArray, Rng

_HALF_BITS = 2.0**22  # sums of halves of integers are exact in float64, for 2^30 rows


@dataclass(frozen=True, eq=False)
class MicroSums(Summed):
    """Weights, weighted sums, and sums of squares around the centre, by micro-cluster."""

    weight: Annotated[FloatArray, Dims("C")]
    total: Annotated[FloatArray, Dims("C", "F")]
    square: Annotated[FloatArray, Dims("C", "F")]
    borders: Annotated[FloatArray, Dims("C", "S")]  # by nearest and second nearest; or (C, 0)
    support: Annotated[FloatArray | None, Dims("C", stays=True)] = None  # records behind each row

    @property
    def mass(self) -> FloatArray:
        """The weight of the rows of each micro-cluster."""
        return self.weight

    def moments(self, centers: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The mean of each micro-cluster, and the squares around it; the centre where it is empty.

        `centers` are those of the query.
        """
        mean = divide_or_keep(self.total, self.weight, centers)
        square = self.square - self.weight[:, None] * (mean - centers) ** 2
        return mean, np.maximum(square, 0.0)

    def settle(self, mean: FloatArray, square: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The moments that the summary holds."""
        return mean, square

    def keep(self, mask: BoolArray) -> Self:
        """Remove micro-clusters; a border belongs to two of them."""
        kept = super().keep(mask)
        both = np.outer(mask, mask[: self.borders.shape[1]])
        return replace(kept, borders=kept.borders * both)

    def on_grid(self, grid: Grid) -> Self:
        """Round as the query does; it has done so where its rows have a grid."""
        if self.weight.dtype == np.int64:
            return self
        moved = self.total - self.weight[:, None] * grid.offset
        return type(self)(
            round_to_grid(self.weight, grid.mass),
            round_to_grid(moved, grid.unit),
            round_to_grid(self.square, square_steps(grid)),
            round_to_grid(self.borders, grid.mass),
        )

    def off_grid(self, grid: Grid) -> Self:
        weight = self.weight / grid.mass
        total = self.total / grid.unit + weight[:, None] * grid.offset
        return type(self)(weight, total, self.square / square_steps(grid), self.borders / grid.mass)


@dataclass(frozen=True, eq=False)
class MicroCenters(Record):
    """The centres of the micro-clusters."""

    centers: Annotated[FloatArray, Dims("C", "F")]


@dataclass(frozen=True, eq=False)
class MicroQuery(OneRoundQuery[MicroCenters, MicroSums]):
    """Sums by micro-cluster over all clients' rows; on a grid of integers, exact for any split."""

    n_clusters: Annotated[int, Role.CLUSTERS]
    init: Annotated[FloatArray, Role.CLUSTERS]  # (C, F) the centres
    borders: bool = False  # whether rows are counted by their second nearest centre, too

    key: ClassVar[str] = "micro-sums"
    traits: ClassVar[Traits] = Traits(counted=True, conserves=True, means=True, additive=True)

    def __post_init__(self) -> None:
        checks.integer(self, "n_clusters")
        checks.centers(self)
        checks.boolean(self, "borders")

    def broadcast(self, state: Record) -> MicroCenters:
        return MicroCenters(self.init)

    def client_step(self, down: MicroCenters, data: Data, rng: Rng) -> MicroSums:
        C, centers, weight = self.n_clusters, down.centers, weights_of(data)
        first, second = self._labels(data, centers)
        apart = (data.X - centers[first]) ** 2 * weight[:, None]
        parts = (weight[:, None], data.X * weight[:, None], apart, weight[:, None])
        grid = data.grid
        if grid is not None:
            moved = (data.X - grid.offset) * weight[:, None]
            steps = weight[:, None] * grid.mass
            parts = (steps, moved * grid.unit, apart * square_steps(grid), steps)
        held, total, square = (
            sum_by_label(first, part, C, exact=grid is not None) for part in parts[:3]
        )
        borders = np.zeros((C, 0), held.dtype)
        if self.borders:
            pairs = first.astype(np.int64) * C + second
            borders = sum_by_label(pairs, parts[3], C * C, exact=grid is not None).reshape(C, C)
        records = np.bincount(first, minlength=C).astype(float)
        return MicroSums(held[:, 0], total, square, borders, records)

    def _labels(self, data: Data, centers: FloatArray) -> tuple[IntArray, IntArray]:
        """The nearest centre of each row, and the second nearest if it is wanted."""
        if self.borders:
            return steady_nearest_two(data.X, centers)
        if data.grid is None:
            return nearest(data.X, centers)[0], np.empty(0, np.int32)
        return steady_nearest(data.X, centers), np.empty(0, np.int32)

    def sizes(self, schema: Schema) -> dict[str, int]:
        C = self.n_clusters
        return {"C": C, "F": schema.n_features, "S": C if self.borders else 0}

    @property
    def lossless(self) -> bool:
        return True

    def rule(self, n_features: int) -> Rule:
        """Our own rule: the sum and the squares of two records reveal both of them."""
        return Rule(min_count=3)


def weights_of(data: Data) -> FloatArray:
    """The weight of each row."""
    return data.weight if len(data.weight) else np.ones(len(data))


def sum_by_label(label: IntArray, values: FloatArray, k: int, *, exact: bool) -> Array:
    """Sum columns by label; exact sums are of integers, each value rounded once."""
    if not exact:
        sums = [np.bincount(label, column, k) for column in values.T]
        return np.stack(sums, axis=1).astype(np.float64)
    steps = np.rint(values)
    high = np.floor(steps / _HALF_BITS)
    parts = (steps - high * _HALF_BITS, high)
    low, up = (sum_by_label(label, part, k, exact=False).astype(np.int64) for part in parts)
    return low + up * np.int64(_HALF_BITS)
