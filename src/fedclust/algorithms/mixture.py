"""LLF-mixture: a mixture of Gaussian and categorical columns by EM, rows split between owners.

A. P. Dempster, N. M. Laird, D. B. Rubin: "Maximum Likelihood from Incomplete Data via the EM
Algorithm", Journal of the Royal Statistical Society B 39(1), 1977; for missing cells Z. Ghahramani,
M. I. Jordan: "Supervised learning from incomplete data via an EM approach", NIPS 1993. Columns are
independent within a cluster, so a row's density is a product over its observed cells (o = 1):

    r_nc  ~  pi_c  prod_f N(x_nf; mu_cf, s2_cf)^o_nf  prod_categories theta_cf^(o_nf x_nf)
    pi_c = sum_n r_nc / N,   mu_cf = sum_n r o x / sum_n r o,   s2_cf likewise, theta_cf = mu_cf

Clients keep the posteriors r and send their sums, which add up to those of the pooled rows. Sums
are around the broadcast means, so that no digits cancel. In the first round there are no variances,
and each row belongs to the nearest centre. A variance is at least `min_variance` times that of the
column over all rows, so that no cluster shrinks to a point.
"""

from dataclasses import dataclass, replace
from typing import ClassVar, cast

import numpy as np

from ..core import AnyAlgorithm, Data, Record, Schema, Traits, checks
from ..kernels import divide_or_keep, mixture_sums, posteriors
from ..kernels.grid import make_grid
from ..kernels.mixture import unit_of
from ..typing import FloatArray, Rng
from .centers import CenterAlgorithm, Centers
from .mixture_fit import MixtureFit
from .mixture_parameters import (
    MixtureState,
    Parameters,
    PosteriorSums,
    count_cells,
    own_variance,
    pool_variance,
    refuse_impossible,
)
from .partial import PartialRivals

_NEVER = 1e-300  # the share of a cluster without rows


@dataclass(frozen=True, eq=False)
class Mixture(CenterAlgorithm[MixtureState, PosteriorSums]):
    """Mixture of Gaussian and categorical columns: one exact EM step per round."""

    tol: float = 1e-5
    min_variance: float = 1e-3

    key: ClassVar[str] = "llf-mixture"
    use_for: ClassVar[str] = (
        "Use it for clusters of different spread, for categories and missing cells, or for BIC."
    )
    traits: ClassVar[Traits] = Traits(
        soft=True,
        means=True,
        additive=True,
        missing=True,
        needs_masks=True,
        categories=True,
        likelihood=True,
    )
    down: ClassVar[type[Record]] = Parameters

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.number(self, "min_variance", 0.0, 1.0, above=True)

    def start(self, schema: Schema, rng: Rng) -> MixtureState:
        centers, F = super().start(schema, rng).centers, schema.n_features
        blocks, unit, k = schema.blocks, np.ones(F), len(centers)
        low, high = np.full(F, -np.inf), np.full(F, np.inf)
        if schema.low is not None and schema.high is not None:
            low, high = schema.low, schema.high
            unit[:] = unit_of(make_grid(low, high, 1))
        return MixtureState(
            centers=centers,
            round=0,
            shift=np.inf,
            variance=np.zeros((k, F)),
            share=np.full(k, 1 / k),
            blocks=np.zeros(F, np.int64) if blocks is None else blocks,
            unit=unit,
            low=low,
            high=high,
            spread=0.0,
            loglik=-np.inf,
        )

    def broadcast(self, state: MixtureState) -> Parameters:
        return Parameters(state.centers, state.variance, state.share, state.blocks, state.unit)

    def client_step(self, down: Centers, data: Data, rng: Rng) -> PosteriorSums:
        at = cast(Parameters, down)
        at.check_values(data.grid)
        sums = mixture_sums(
            data.X,
            at.density,
            data.weight,
            data.grid,
            unit=at.unit,
            hard=not at.variance.any(),
        )
        cells, square = sums.cells[:, at.numbers], sums.square[:, at.numbers]
        return PosteriorSums(sums.mass, cells, sums.moved, square, sums.loglik)

    def server_step(self, state: MixtureState, merged: PosteriorSums, rng: Rng) -> MixtureState:
        refuse_impossible(merged, state)
        cells = count_cells(state.blocks, merged)
        step = divide_or_keep(merged.moved, cells, np.zeros_like(cells)) * state.unit
        shares = np.where(cells > 0, step, state.centers)
        mean = np.where(state.blocks == 0, state.centers + step, shares)
        own = own_variance(state, merged, cells, step, mean)
        of_all = pool_variance(cells, mean, own, state.centers)
        least = np.where(of_all > 0, self.min_variance * of_all, 1.0)  # a constant says nothing
        known = (cells > 0) | (state.variance > 0)
        variance = np.maximum(np.where(known, own, of_all), least)
        moved = [mean - state.centers, np.sqrt(variance) - np.sqrt(state.variance)]
        return replace(
            state,
            centers=mean,
            round=state.round + 1,
            shift=float(np.linalg.norm(moved)),
            variance=variance,
            share=np.maximum(merged.mass / merged.mass.sum(), _NEVER),
            spread=float(np.sqrt(of_all.sum())),
            loglik=float(merged.loglik[0]) if state.round else -np.inf,
        )

    def done(self, state: MixtureState) -> bool:
        unit = 1.0 if self.absolute_tol else state.spread
        return state.round >= self.max_rounds or state.shift <= self.tol * unit

    def rival_steps(self, init: FloatArray, *, step: bool) -> AnyAlgorithm:
        return PartialRivals(self.n_clusters, init, step)

    def assign(self, state: MixtureState, data: Data) -> FloatArray:
        return posteriors(data.X, state.density)

    def scoring(self, state: MixtureState) -> AnyAlgorithm:
        return MixtureFit(self.n_clusters, state.centers, state.density.pack(), state.blocks)

    @property
    def lossless(self) -> bool:
        return True

    def sizes(self, schema: Schema) -> dict[str, int]:
        n = schema.n_features if schema.blocks is None else int((schema.blocks == 0).sum())
        return super().sizes(schema) | {"N": n, "one": 1}
