"""The parameters of a mixture, the sums that clients send for them, and its state at the server."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from ..core import Dims, MessageError, Summed
from ..kernels import Density
from ..kernels.grid import Grid
from ..kernels.mixture import from_steps, unit_of
from ..typing import FloatArray, IntArray
from .centers import Centers, CenterState


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
        """Client: refuse parameters that are none, and units in which integers could overflow."""
        spread = (self.variance > 0).all() or not self.variance.any()
        fine = grid is None or (self.unit >= unit_of(grid)).all()
        if not (spread and fine and (self.share > 0).all() and (self.unit > 0).all()):
            raise MessageError("llf-mixture: invalid broadcast: no parameters of a mixture")


@dataclass(frozen=True, eq=False)
class MixtureState(CenterState, Parameters):
    """Parameters, and how far means and standard deviations moved."""

    spread: float  # of all rows: the unit of tolerances
    loglik: float  # of the parameters before the last step


@dataclass(frozen=True, eq=False)
class PosteriorSums(Summed):
    """Sums over rows, weighted by the probability of each cluster."""

    mass: Annotated[FloatArray, Dims("C")]
    cells: Annotated[FloatArray, Dims("C", "N")]  # observed; N of the F columns are numbers
    moved: Annotated[FloatArray, Dims("C", "F")]  # from the means, in units; rows of a category
    square: Annotated[FloatArray, Dims("C", "N")]
    loglik: Annotated[FloatArray, Dims("one")]

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


def pool_variance(cells: FloatArray, mean: FloatArray, variance: FloatArray) -> FloatArray:
    """Variance of each column over all rows."""
    share = cells / np.maximum(cells.sum(axis=0), 1e-300)
    middle = (share * mean).sum(axis=0)
    pooled: FloatArray = (share * (variance + (mean - middle) ** 2)).sum(axis=0)
    return pooled
