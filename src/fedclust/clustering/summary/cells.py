"""The query of the summary over rows with missing cells.

A row belongs to the micro-cluster that is nearest over its observed cells. Sums and squares are
over observed cells, so there is a weight for every micro-cluster and column.
"""

from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar, Self

import numpy as np

from ...core import Data, Dims, Traits
from ...core.message import round_to_grid
from ...kernels import divide_or_keep, steady_nearest_observed
from ...kernels.grid import Grid, square_steps
from ...typing import BoolArray, FloatArray, Rng
from .queries import MicroCenters, MicroQuery, MicroSums, sum_by_label, weights_of

# With fewer observed cells, a micro-cluster has no mean of its own: that of one cell would be it.
FEWEST_CELLS = 5


@dataclass(frozen=True, eq=False)
class CellMicroSums(MicroSums):
    """Weights, weighted sums, and sums of squares of observed cells, and the weight of the rows."""

    weight: Annotated[FloatArray, Dims("C", "F")]
    rows: Annotated[FloatArray, Dims("C")] = field(kw_only=True)

    @property
    def mass(self) -> FloatArray:
        return self.rows

    def keep(self, mask: BoolArray) -> Self:
        return replace(super().keep(mask), rows=self.rows * mask)

    def on_grid(self, grid: Grid) -> Self:
        if self.weight.dtype == np.int64:
            return self
        return type(self)(
            round_to_grid(self.weight, grid.mass),
            round_to_grid(self.total - self.weight * grid.offset, grid.unit),
            round_to_grid(self.square, square_steps(grid)),
            round_to_grid(self.borders, grid.mass),
            rows=round_to_grid(self.rows, grid.mass),
        )

    def off_grid(self, grid: Grid) -> Self:
        weight = self.weight / grid.mass
        return type(self)(
            weight,
            self.total / grid.unit + weight * grid.offset,
            self.square / square_steps(grid),
            self.borders / grid.mass,
            rows=self.rows / grid.mass,
        )

    def moments(self, centers: FloatArray) -> tuple[FloatArray, FloatArray]:
        """As of complete rows: where a cell is missing, it has the spread of the observed ones."""
        mean = divide_or_keep(self.total, self.weight, centers)
        square = np.maximum(self.square - self.weight * (mean - centers) ** 2, 0.0)
        variance = square / np.where(self.weight > 0, self.weight, 1.0)
        return mean, variance * self.rows[:, None]

    def settle(self, mean: FloatArray, square: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Moments without the means of a few cells, where others are missing beside them.

        Such a mean and its spread are those of the nearest micro-cluster that has enough cells in
        the column, by distance over the columns in which this one has enough itself.
        """
        few = (self.weight < FEWEST_CELLS) & (self.weight < self.rows[:, None])
        variance = square / np.where(self.rows > 0, self.rows, 1.0)[:, None]
        seen = np.maximum(self.weight.sum(axis=0), 1e-300)
        column = self.total.sum(axis=0) / seen
        spread = (self.weight * (variance + (mean - column) ** 2)).sum(axis=0) / seen
        scaled = np.where(few, 0.0, mean / np.sqrt(np.where(spread > 0, spread, 1.0)))
        settled, spreads = np.where(few, column, mean), np.where(few, spread, variance)
        for c, f in np.argwhere(few & (self.rows > 0)[:, None]).tolist():
            donors = np.flatnonzero(~few[:, f] & (self.weight[:, f] > 0))
            apart = np.where(few[c], 0.0, scaled[donors] - scaled[c]) ** 2
            if len(donors) and not few[c].all():
                donor = donors[apart.sum(axis=1).argmin()]
                settled[c, f], spreads[c, f] = mean[donor, f], variance[donor, f]
        return settled, spreads * self.rows[:, None]


@dataclass(frozen=True, eq=False)
class CellMicroQuery(MicroQuery):
    """Sums by micro-cluster over the observed cells of all clients' rows."""

    key: ClassVar[str] = "micro-cell-sums"
    traits: ClassVar[Traits] = replace(MicroQuery.traits, counted=False, missing=True)
    up: ClassVar[type[MicroSums]] = CellMicroSums

    def client_step(self, down: MicroCenters, data: Data, rng: Rng) -> CellMicroSums:
        C, centers, grid = self.n_clusters, down.centers, data.grid
        w, exact = weights_of(data)[:, None], grid is not None
        first, second = steady_nearest_observed(data.X, centers)
        seen = ~np.isnan(data.X)
        X = np.where(seen, data.X, 0.0)
        apart = np.where(seen, X - centers[first], 0.0) ** 2 * w
        total, rows = X * w, w
        if grid is not None:
            total = np.where(seen, X - grid.offset, 0.0) * w * grid.unit
            apart, rows = apart * square_steps(grid), w * grid.mass
        parts = (rows * seen, total, apart, rows)
        weight, total, square, held = (sum_by_label(first, p, C, exact=exact) for p in parts)
        borders = np.zeros((C, 0), held.dtype)
        if self.borders:
            pairs = first.astype(np.int64) * C + second
            borders = sum_by_label(pairs, rows, C * C, exact=exact).reshape(C, C)
        return CellMicroSums(weight, total, square, borders, rows=held[:, 0])
