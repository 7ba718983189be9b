"""LLF-CM and LLF-FCM over rows with missing cells: partial distances.

R. J. Hathaway, J. C. Bezdek: "Fuzzy c-Means Clustering of Incomplete Data", IEEE Transactions on
Systems, Man, and Cybernetics B 31(5), 2001; the partial distance strategy (PDS), Eqs. 5-7. The
distance of a row to a centre is taken over its observed cells and multiplied by F / observed (J. K.
Dixon, 1979). A centre is, in each column, the mean of the cells observed there:

    v_cf = sum_n u_cn^m o_nf x_nf / sum_n u_cn^m o_nf,    o_nf = 1 if cell (n, f) is observed

So clients send a weight for each cluster and column, and the sum over clients is what one client
with all rows would compute. A client without a column sends zeros for it. The factor F / observed
is the same for all centres: it changes no label and no membership, but the inertia.

Cells are assumed to be missing at random. A row without any value is in no sum.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np

from ..core import AnyAlgorithm, Data, Dims, Message, Traits
from ..kernels import fuzzy_cell_sums, hard_cell_sums, inertia
from ..typing import FloatArray, Rng
from .c_means import CMeans
from .centers import CellSums, Centers
from .fuzzy_c_means import FuzzyCMeans
from .micro_clusters import RivalSteps, RivalSums

# No bound on the influence of a record is proved for sums by cell, and they have no number of
# records by cluster.
_CELLS: dict[str, Any] = {"missing": True, "boundable": False, "counted": False}


@dataclass(frozen=True, eq=False)
class PartialCMeans(CMeans):
    """Lossless k-means over observed cells: one exact step per round."""

    traits: ClassVar[Traits] = replace(CMeans.traits, **_CELLS)
    up: ClassVar[type[Message]] = CellSums

    def client_step(self, down: Centers, data: Data, rng: Rng) -> CellSums:
        sums = hard_cell_sums(data.X, down.centers, data.weight, data.grid)
        return CellSums(sums.weight, sums.total)

    def rival_steps(self, init: FloatArray, *, step: bool) -> AnyAlgorithm:
        return PartialRivals(self.n_clusters, init, step)


@dataclass(frozen=True, eq=False)
class PartialFuzzyCMeans(FuzzyCMeans):
    """Lossless fuzzy c-means over observed cells: one exact step per round."""

    traits: ClassVar[Traits] = replace(FuzzyCMeans.traits, **_CELLS)
    up: ClassVar[type[Message]] = CellSums

    def client_step(self, down: Centers, data: Data, rng: Rng) -> CellSums:
        return CellSums(
            *fuzzy_cell_sums(data.X, down.centers, self.fuzzifier, data.weight, data.grid)
        )

    def rival_steps(self, init: FloatArray, *, step: bool) -> AnyAlgorithm:
        return PartialRivals(self.n_clusters, init, step)


@dataclass(frozen=True, eq=False)
class RivalCellSums(RivalSums):
    """Sums of a step over observed cells from each of several starts, and their inertia."""

    weight: Annotated[FloatArray, Dims("RC", "F")]


@dataclass(frozen=True, eq=False)
class PartialRivals(RivalSteps):
    """The inertia of several starts over observed cells, and one step from each."""

    traits: ClassVar[Traits] = replace(RivalSteps.traits, missing=True)
    up: ClassVar[type[Message]] = RivalCellSums

    def client_step(self, down: Centers, data: Data, rng: Rng) -> RivalCellSums:
        starts = self.split(down.centers)
        values = np.array([inertia(data.X, centers, data.weight) for centers in starts])
        weight = total = np.empty((0, data.X.shape[1]))
        if self.step:
            sums = [hard_cell_sums(data.X, centers, data.weight) for centers in starts]
            weight, total = (np.concatenate(part) for part in list(zip(*sums, strict=True))[1:])
        return RivalCellSums(values, weight, total, np.array([float(len(data))]))
