"""Sizes, means and spreads of clusters over all rows, and what of them results show."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from ..clustering.model import Model
from ..clustering.preparation import round_to
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
    fuzzifier = found.algorithm.parameter("fuzzifier") if found.algorithm.soft else 0.0
    try:
        kind = PartialProfile if queries.schema.missing else Profile
        done = queries.run(kind(C, found.centers, fuzzifier), "profile")
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
    few: BoolArray  # (C, P) whether too few observed cells stand behind a mean to show it
    mean: FloatArray  # (C, P) of clusters that are not shown: their common mean, if fuzzy
    spread: FloatArray  # (C, P)
    entropy: FloatArray  # (C,)
    overall_mean: FloatArray  # (P,) of all rows
    overall_spread: FloatArray  # (P,)
    rounded: bool  # means and spreads are rounded

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


def compute_statistics(model: Model, totals: ClusterTotals, minimum: int) -> ClusterStatistics:
    """The statistics that may be shown, from sums over all rows.

    The mean of a hard cluster is its centre, once the run has converged. If it is another vector,
    the centre is a mean of other rows, and the difference could be a single row. Likewise, the mean
    of all rows is that of the scale, unless clients leave rows out. Where statistics are of other
    rows, they are rounded so that `minimum` rows more or fewer make no visible difference.
    """
    sums, soft = totals.sums, model.fuzzifier is not None
    held, n = np.maximum(sums.cells, 1.0), np.maximum(sums.cells.sum(axis=0), 1.0)
    moved = sums.total / held
    mean: FloatArray = model.centers + moved
    variance = np.maximum(sums.square / held - moved**2, 0.0)
    overall = _average(sums, mean)
    overall_spread = np.sqrt(_average(sums, variance + (mean - overall) ** 2))
    spread: FloatArray = np.sqrt(variance)
    near = _NEAR * overall_spread + _DIGITS * np.abs(model.centers).max(axis=0)
    near = near + _GRID * totals.on_grid
    moves = not soft and bool((np.abs(moved) > near).any())
    rounded = bool(sums.size.any()) and (moves or totals.coverage != "all")
    if rounded:
        step = minimum * overall_spread / held
        mean, spread = round_to(mean, step), round_to(spread, step)
    if rounded and not totals.same_rows:
        step = 2 * minimum * overall_spread / n  # twice that of the scale, or both would cancel
        overall, overall_spread = round_to(overall, step), round_to(overall_spread, step)
    withheld = choose_withheld_clusters(sums.size.astype(int), minimum, soft=soft)
    if soft and withheld.any():
        mean[withheld] = sums.size[withheld] @ mean[withheld] / sums.size[withheld].sum()
    return ClusterStatistics(
        size=sums.size,
        shown=(sums.size > 0) & ~withheld,
        mean=mean,
        spread=spread,
        few=np.broadcast_to(sums.cells < minimum * (sums.cells.shape[1] > 1), mean.shape),
        entropy=sums.entropy / np.maximum(sums.size, 1.0),
        overall_mean=overall,
        overall_spread=overall_spread,
        rounded=rounded,
    )


def _average(sums: ProfileSums, values: FloatArray) -> FloatArray:
    """Mean over clusters of a value of each column, by the rows or cells behind it."""
    if sums.cells.shape[1] == 1:
        by_rows: FloatArray = sums.size @ values / max(sums.size.sum(), 1.0)
        return by_rows
    total = (sums.cells * values).sum(axis=0)
    by_cells: FloatArray = total / np.maximum(sums.cells.sum(axis=0), 1.0)
    return by_cells
