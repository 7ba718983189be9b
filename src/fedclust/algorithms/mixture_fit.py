"""How well a mixture fits the rows of all clients: likelihood, BIC and ICL from four sums.

G. Schwarz: "Estimating the Dimension of a Model", Annals of Statistics 6(2), 1978; C. Biernacki,
G. Celeux, G. Govaert: "Assessing a Mixture Model for Clustering with the Integrated Completed
Likelihood", IEEE TPAMI 22(7), 2000. Lower is better:

    BIC = -2 log L + p log N,    ICL = BIC + 2 E,    E = -sum_nc r_nc log r_nc
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

import numpy as np

from ..core import Data, Dims, Empty, OneRoundQuery, Role, Rule, Schema, Summed, Traits, checks
from ..core.message import round_to_grid
from ..kernels import Density, nearest, score_mixture
from ..kernels.grid import Grid
from ..kernels.mixture import from_steps, to_steps
from ..typing import Array, FloatArray, IntArray, Rng
from .centers import Centers


class Fit(NamedTuple):
    """The fit of a mixture to all rows."""

    loglik: float
    entropy: float  # of the posteriors, summed over rows
    inertia: float  # squared distances to the nearest centre
    rows: float  # or their weight
    parameters: int

    @property
    def bic(self) -> float:
        """The Bayesian information criterion."""
        return -2.0 * self.loglik + self.parameters * float(np.log(max(self.rows, 1.0)))

    @property
    def icl(self) -> float:
        """The integrated completed likelihood: BIC that also charges overlap of clusters."""
        return self.bic + 2.0 * self.entropy


def count_parameters(n_clusters: int, blocks: IntArray) -> int:
    """Shares of clusters, mean and variance of a number, shares of all categories but one."""
    sizes = np.bincount(blocks)
    each = 2 * int(sizes[0]) + int((sizes[1:] - 1).clip(0).sum())
    return n_clusters - 1 + n_clusters * each


@dataclass(frozen=True, eq=False)
class FitSums(Summed):
    """Log-likelihood, entropy and weight of all rows, and their inertia."""

    logs: Annotated[Array, Dims("three")]
    inertia: Annotated[Array, Dims("one")]  # its size depends on the units of the columns

    def on_grid(self, grid: Grid) -> "FitSums":
        return FitSums(to_steps(self.logs), round_to_grid(self.inertia, grid.plain))

    def off_grid(self, grid: Grid) -> "FitSums":
        return FitSums(from_steps(self.logs), self.inertia / grid.plain)


@dataclass(frozen=True, eq=False)
class MixtureFit(OneRoundQuery[Centers, FitSums]):
    """The fit of a given mixture to all clients' rows; equal to that of the pooled rows."""

    n_clusters: Annotated[int, Role.CLUSTERS]
    init: Annotated[FloatArray, Role.CLUSTERS]  # (C, F) the means
    density: Annotated[FloatArray, Role.CLUSTERS]  # (C, 1 + 3F)
    blocks: Annotated[IntArray, Role.COLUMNS]  # (F,) as in `Schema`

    key: ClassVar[str] = "mixture-fit"
    traits: ClassVar[Traits] = Traits(additive=True, missing=True, needs_masks=True)

    def __post_init__(self) -> None:
        checks.integer(self, "n_clusters")
        checks.centers(self)

    def broadcast(self, state: Empty) -> Centers:
        return Centers(self.init)

    def client_step(self, down: Centers, data: Data, rng: Rng) -> FitSums:
        w = data.weight if len(data.weight) else np.ones(len(data))
        loglik, entropy = score_mixture(data.X, Density.unpack(self.density))
        inertia = nearest(data.X, down.centers)[1]
        return FitSums(np.array([w @ loglik, w @ entropy, w.sum()]), np.array([w @ inertia]))

    def model(self, state: FitSums) -> Fit:
        loglik, entropy, rows = state.logs.tolist()
        inertia = float(state.inertia[0])
        return Fit(loglik, entropy, inertia, rows, count_parameters(self.n_clusters, self.blocks))

    def rule(self, n_features: int) -> Rule:
        """Our own rule: never disclose the likelihood of a single record."""
        return Rule(min_samples=2)

    def sizes(self, schema: Schema) -> dict[str, int]:
        return super().sizes(schema) | {"three": 3, "one": 1}
