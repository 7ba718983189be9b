"""Sizes, means and spreads of clusters over all rows, and what of them results show."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from ..clustering.model import Model
from ..clustering.preparation import Preparation, round_means, round_to, spread_of_shares
from ..clustering.rows import Clustering
from ..core import AnyAlgorithm, Channel, EmptyRound, Run, Runner, Schema
from ..metrics import PartialProfile, Profile
from ..metrics.profile import ProfileSums
from ..results import Coverage
from ..tiers import Tier
from ..typing import BoolArray, FloatArray, IntArray
from .withholding import choose_withheld_clusters

# A mean is one of the same rows if it is as near to the centre as this: in standard deviations,
# in units of the last digits of the centre, and on the grid of integer sums from 0 to 1.
_NEAR, _DIGITS, _GRID = 1e-7, 1e-12, 1e-9


@dataclass(frozen=True, eq=False)
class ClusterQueries:
    """Queries about given centres, under the tier of the study."""

    channel: Channel
    schema: Schema
    tier: Tier
    runner: Runner
    min_count: int
    used: Mapping[str, int | None]  # rows of each client; None: the tier hides it

    def run(self, algorithm: AnyAlgorithm, purpose: str) -> Run:
        """Run a plan that computes a statistic of the clusters."""
        plan = self.tier.plan(algorithm, self.channel, self.schema)
        return self.runner(replace(plan, purpose=purpose), self.channel, self.schema)


@dataclass(frozen=True, eq=False)
class ClusterTotals:
    """Sums over the rows of all clients, and which rows they cover."""

    sums: ProfileSums
    coverage: Coverage
    same_rows: bool  # they cover the rows that centres and scale are computed from
    on_grid: bool  # they are sums of integers

    @property
    def sizes(self) -> tuple[int | None, ...]:
        """Rows of each cluster; None if they are not known."""
        counts = self.sums.size.astype(int).tolist()
        exact = self.coverage in ("all", "replied")  # otherwise zero may mean withheld
        return tuple(n if exact else n or None for n in counts)

    def reorder(self, order: IntArray) -> Self:
        """Reorder the clusters."""
        return replace(self, sums=self.sums.reorder(order))


def sum_clusters(found: Clustering, queries: ClusterQueries) -> ClusterTotals:
    """Sizes, sums and squares of the clusters, in the order of the centres."""
    C, P = found.centers.shape
    if queries.tier.noisy:  # every answer would spend privacy budget
        return ClusterTotals(ProfileSums.zeros(C, P), "none", same_rows=False, on_grid=False)
    fuzzifier = found.algorithm.parameter("fuzzifier") or 0.0 if found.algorithm.soft else 0.0
    density = None if found.density is None else found.density.pack()
    try:
        kind = PartialProfile if queries.schema.missing else Profile
        done = queries.run(kind(C, found.centers, fuzzifier, density), "profile")
    except EmptyRound:  # clients withhold all of it
        return ClusterTotals(ProfileSums.zeros(C, P), "released", same_rows=False, on_grid=False)
    coverage = _find_coverage(done, queries)
    same_rows = found.algorithm.lossless and coverage == "all"
    return ClusterTotals(done.model, coverage, same_rows, on_grid=queries.tier.sums_only)


def _find_coverage(done: Run, queries: ClusterQueries) -> Coverage:
    if not queries.tier.exact:
        return "released"
    replied = {client for client, size in done.sent.items() if size}
    return "all" if replied >= queries.used.keys() else "replied"


@dataclass(frozen=True, eq=False)
class ClusterStatistics:
    """Statistics of clusters as far as results show them, in prepared units."""

    size: FloatArray  # (C,) rows behind them; all zero if nothing is known
    shown: BoolArray  # (C,) whether the statistics of a cluster may be shown
    cells: FloatArray  # (C, 1) rows, or (C, P) observed cells behind each mean
    mean: FloatArray  # (C, P) of clusters that are not shown: their common mean, if fuzzy
    spread: FloatArray  # (C, P)
    entropy: FloatArray  # (C,)
    overall_mean: FloatArray  # (P,) of all rows
    overall_spread: FloatArray  # (P,)
    rounded: bool  # means and spreads are rounded
    center: FloatArray  # (C, P) as published; NaN where it is withheld

    @property
    def covariance(self) -> FloatArray:
        """Covariance of the clusters' means, with the variances of all rows on the diagonal.

        Covariances within clusters are left out: they would need another query.
        """
        apart = self.mean - self.overall_mean
        between = (apart.T * self.size) @ apart / max(self.size.sum(), 1.0)
        np.fill_diagonal(between, self.overall_spread**2)
        covariance: FloatArray = between
        return covariance

    def coarsen(
        self, minimum: int, ready: Preparation, *, moves: bool, overall: bool, centers: bool
    ) -> Self:
        """Round so that `minimum` rows more or fewer make no visible difference.

        Means that are the centres (`moves` is false) stay equal to them. A category that few rows
        have hardly varies, but a row that has it differs by its whole height.
        """
        heights, floor = ready.heights, ready.floor
        step = minimum * np.maximum(self.overall_spread, heights) / np.maximum(self.cells, 1.0)
        center, mean = self.center, round_means(self.mean, step, heights, floor)
        if centers:
            center = np.where(
                self.size[:, None] > 0, round_means(center, step, heights, floor), center
            )
            mean = mean if moves else center
        spread = _coarse_spread(self.spread, mean, step, heights, floor)
        of_all, spread_of_all = self.overall_mean, self.overall_spread
        if overall:  # twice the step of the scale, or both would cancel
            varies = np.maximum(spread_of_all, heights)
            step_of_all = 2 * minimum * varies / np.maximum(self.cells.sum(axis=0), 1.0)
            of_all = round_means(of_all, step_of_all, heights, floor)
            spread_of_all = _coarse_spread(spread_of_all, of_all, step_of_all, heights, floor)
        return replace(
            self,
            center=center,
            mean=mean,
            spread=spread,
            entropy=round_to(self.entropy, minimum / np.maximum(self.size, 1.0)),
            overall_mean=of_all,
            overall_spread=spread_of_all,
            rounded=True,
        )


def _coarse_spread(
    spread: FloatArray, mean: FloatArray, step: FloatArray, heights: FloatArray, floor: FloatArray
) -> FloatArray:
    """Rounded deviations; of categories those of the rounded mean."""
    return np.where(heights > 0, spread_of_shares(mean, heights, floor), round_to(spread, step))


def compute_statistics(
    model: Model, totals: ClusterTotals, minimum: int, *, publishes_all: bool
) -> ClusterStatistics:
    """The statistics that may be shown, from sums over all rows.

    The mean of a hard cluster is its centre, once the run has converged. If it is another vector,
    the centre is a mean of other rows, and the difference could be a single row. Likewise, the mean
    of all rows is that of the scale, unless clients leave rows out. Where statistics are of other
    rows, they are rounded.

    Under a tier that promises protection (`publishes_all` is false) everything is rounded, centres
    as well: results of several runs over the same rows could otherwise be subtracted. Centres of
    fewer than `minimum` rows are withheld.
    """
    sums, soft = totals.sums, model.soft
    found = _measure(model, sums)
    near = _NEAR * found.overall_spread + _DIGITS * np.abs(model.centers).max(axis=0)
    near = near + _GRID * totals.on_grid
    moves = soft or bool((np.abs(found.mean - model.centers) > near).any())
    other_rows = (moves and not soft) or totals.coverage != "all"
    if sums.size.any() and (other_rows or not publishes_all):
        overall = not (totals.same_rows and publishes_all)
        ready, centers = model.preparation, not publishes_all
        found = found.coarsen(minimum, ready, moves=moves, overall=overall, centers=centers)
    withheld = choose_withheld_clusters(sums.size.astype(int), minimum, soft=soft)
    few = found.shown & (sums.size < minimum) & (not publishes_all)
    mean, center = found.mean.copy(), np.where(few[:, None], np.nan, found.center)
    if soft and withheld.any():
        mean[withheld] = sums.size[withheld] @ mean[withheld] / sums.size[withheld].sum()
    elif few.any():
        mean[few] = found.overall_mean  # such a cluster has no part in the map
    return replace(found, shown=found.shown & ~withheld, mean=mean, center=center)


def _measure(model: Model, sums: ProfileSums) -> ClusterStatistics:
    """The statistics to the last digit."""
    held = np.maximum(sums.cells, 1.0)
    moved = sums.total / held
    mean: FloatArray = model.centers + moved
    variance = np.maximum(sums.square / held - moved**2, 0.0)
    overall = _average(sums, mean)
    spread: FloatArray = np.sqrt(variance)
    return ClusterStatistics(
        size=sums.size,
        shown=sums.size > 0,
        mean=mean,
        spread=spread,
        cells=sums.cells,
        entropy=sums.entropy / np.maximum(sums.size, 1.0),
        overall_mean=overall,
        overall_spread=np.sqrt(_average(sums, variance + (mean - overall) ** 2)),
        rounded=False,
        center=model.centers,
    )


def _average(sums: ProfileSums, values: FloatArray) -> FloatArray:
    """Mean over clusters of a value of each column, by the rows or cells behind it."""
    if sums.cells.shape[1] == 1:
        by_rows: FloatArray = sums.size @ values / max(sums.size.sum(), 1.0)
        return by_rows
    total = (sums.cells * values).sum(axis=0)
    by_cells: FloatArray = total / np.maximum(sums.cells.sum(axis=0), 1.0)
    return by_cells
