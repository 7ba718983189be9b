"""The parameters of a mixture, the sums that clients send for them, and its state at the server."""

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from ..core import Dims, MessageError, Summed
from ..kernels import Density, divide_or_keep
from ..kernels.grid import Grid
from ..kernels.mixture import from_steps, unit_of
from ..typing import FloatArray, IntArray
from .centers import Centers, CenterState

_MEAN_BITS, _SUM_BITS = 2.0**-48, 2.0**-40
_GRID_ROUNDING = 1e-6  # of a row
_ROUNDING = 1e-9  # of a weight: sums in floats keep about so much


@dataclass(frozen=True, eq=False)
class Parameters(Centers):
    """What the server broadcasts: means, and the shares of categories among them."""

    variance: Annotated[FloatArray, Dims("C", "F")]  # zero before the first round
    share: Annotated[FloatArray, Dims("C")]  # of all rows
    blocks: Annotated[IntArray, Dims("F")]  # 0: numbers; else the categories of the same column
    unit: Annotated[
        FloatArray, Dims("F")
    ]  # of messages: a power of two, not below the bounds' width

    @property
    def numbers(self) -> IntArray:
        """Places of the columns of numbers."""
        return np.flatnonzero(self.blocks == 0)

    @property
    def density(self) -> Density:
        """The density of every cluster, before the first round the distance to its centre."""
        if not self.variance.any():
            return Density.around(self.centers, self.numbers)
        return Density.of(self.share, self.centers, self.variance, self.numbers)

    def check_values(self, grid: Grid | None) -> None:
        """Client: refuse impossible parameters, and units in which integers could overflow."""
        spread = (self.variance > 0).all() or not self.variance.any()
        fine = grid is None or (self.unit >= unit_of(grid)).all()
        if not (spread and fine and (self.share > 0).all() and (self.unit > 0).all()):
            raise MessageError("llf-mixture: invalid broadcast: no parameters of a mixture")


@dataclass(frozen=True, eq=False)
class MixtureState(CenterState, Parameters):
    """Parameters, and how far means and standard deviations moved."""

    low: Annotated[FloatArray, Dims("F")]  # public bounds; infinite if there are none
    high: Annotated[FloatArray, Dims("F")]
    spread: float  # of all rows: the unit of tolerances
    loglik: float  # of the parameters before the last step


class CellTotals(NamedTuple):
    """Weights, sums and sums of squares of the observed cells of each cluster, all (C, F)."""

    weight: FloatArray
    total: FloatArray
    square: FloatArray


@dataclass(frozen=True, eq=False)
class PosteriorSums(Summed):
    """Sums over rows, weighted by the probability of each cluster."""

    mass: Annotated[FloatArray, Dims("C")]
    cells: Annotated[FloatArray, Dims("C", "N")]  # observed; N of the F columns are numbers
    moved: Annotated[FloatArray, Dims("C", "F")]  # from the means, in units; rows of a category
    square: Annotated[FloatArray, Dims("C", "N")]
    loglik: Annotated[FloatArray, Dims("one")]

    def by_cell(self, at: Parameters) -> CellTotals:
        """Weights, sums and sums of squares of the observed cells, of categories too."""
        n, unit, sums = (
            at.numbers,
            at.unit,
            CellTotals(count_cells(at.blocks, self), self.moved.copy(), self.moved.copy()),
        )
        middle, moved = at.centers[:, n], self.moved[:, n] * unit[n]
        sums.total[:, n] = moved + middle * self.cells
        sums.square[:, n] = self.square * unit[n] ** 2 + middle * (moved + sums.total[:, n])
        return sums

    def is_possible(self, at: Parameters) -> bool:
        """Whether rows can have these sums: masses and squares are not negative."""
        shares = self.moved[:, at.blocks > 0]
        parts = (self.mass, self.cells, self.square, shares)
        cells = count_cells(at.blocks, self)
        held = (cells <= self.mass[:, None] * (1 + _ROUNDING) + _ROUNDING).all()
        return bool(all((part >= 0).all() for part in parts) and held)

    def on_grid(self, grid: Grid) -> "PosteriorSums":
        """Unchanged, because the kernel has rounded the contribution of each record."""
        return self

    def off_grid(self, grid: Grid) -> "PosteriorSums":
        m = grid.mass
        return PosteriorSums(
            self.mass / m, self.cells / m, self.moved / m, self.square / m, from_steps(self.loglik)
        )


def count_cells(blocks: IntArray, merged: PosteriorSums) -> FloatArray:
    """Weight of the observed cells (C, F); of a category, of all categories of its column."""
    same = (blocks[:, None] == blocks) & (blocks > 0)
    cells: FloatArray = merged.moved @ same.astype(float)
    cells[:, blocks == 0] = merged.cells
    return cells


def own_variance(
    at: MixtureState, merged: PosteriorSums, cells: FloatArray, step: FloatArray, mean: FloatArray
) -> FloatArray:
    """Variance of each cluster and column (C, F); without cells, that of the round before."""
    n = at.numbers
    held, square = cells[:, n] > 0, merged.square * at.unit[n] ** 2
    variance: FloatArray = mean - mean**2  # of a cell of 0 or 1
    variance[:, n] = divide_or_keep(square, cells[:, n], at.variance[:, n])
    variance[:, n] -= np.where(held, step[:, n] ** 2, 0.0)
    return variance


def pool_variance(
    cells: FloatArray, mean: FloatArray, variance: FloatArray, before: FloatArray
) -> FloatArray:
    """Variance of each column over all rows; 0 of a column of equal values."""
    share = cells / np.maximum(cells.sum(axis=0), 1e-300)
    middle = (share * mean).sum(axis=0)
    pooled = (share * (variance + (mean - middle) ** 2)).sum(axis=0)
    return np.where(pooled > _blur(mean, before), pooled, 0.0)


def _blur(mean: FloatArray, before: FloatArray) -> FloatArray:
    """The largest variance (F,) that a column of equal values can seem to have by rounding.

    A mean is off by a few of its last bits; and the square of a step is subtracted, which is off by
    the bits that a sum over many rows loses.
    """
    size = (np.abs(mean) + np.abs(before)).max(axis=0)
    step = np.abs(mean - before).max(axis=0)
    lost: FloatArray = (_MEAN_BITS * size) ** 2 + _SUM_BITS * step**2
    return lost


def refuse_impossible(merged: PosteriorSums, at: MixtureState) -> None:
    """Server: refuse totals that are not those of rows within the bounds."""
    with np.errstate(over="ignore", invalid="ignore"):
        sums, possible = merged.by_cell(at), merged.is_possible(at)
    known = np.isfinite(at.low)
    low, high, total = at.low[known], at.high[known], sums.total[:, known]
    # On a grid the rounding of every row counts, however small its part of a cluster.
    slack = _GRID_ROUNDING * merged.mass.sum() * np.maximum(np.abs(low), np.abs(high))
    weight = sums.weight[:, known]
    within = (total >= weight * low - slack) & (total <= weight * high + slack)
    if not (possible and within.all()):
        raise MessageError(
            "llf-mixture: the merged sums are not those of rows within the public bounds: at least "
            "one client sent false sums"
        )
