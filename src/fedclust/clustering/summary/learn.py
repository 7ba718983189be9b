"""Learn the summary: a fixed sequence of queries over all clients' rows.

The queries do not depend on a seed, a number of clusters or an algorithm. So every study over the
same rows on the same scale sends the same queries, which a client's ledger counts once.
"""

from dataclasses import dataclass, replace
from math import ceil, log2

import numpy as np

from ...core import Channel, Runner, Schema, run
from ...tiers import Tier
from ...typing import FloatArray
from .cells import CellMicroQuery
from .growth import grow
from .queries import MicroQuery, MicroSums
from .value import DataSummary

MICRO = 80  # micro-clusters
PER_CLUSTER = 4  # micro-clusters for each cluster of the largest k, at least
_ROWS = 10  # on average in a micro-cluster, at least
_LEAST = 5  # rows in each half of a divided micro-cluster, by weight
_STEPS = 3  # k-means steps of the grown micro-clusters


def count_micro(most_clusters: int) -> int:
    """Micro-clusters that are wanted for up to so many clusters."""
    return max(MICRO, PER_CLUSTER * most_clusters)


def count_queries(n_micro: int = MICRO) -> int:
    """The most queries that a summary takes."""
    return ceil(log2(n_micro)) + _STEPS + 1


@dataclass(frozen=True, eq=False)
class SummaryRun:
    """How a summary is learned over one channel."""

    channel: Channel
    schema: Schema
    tier: Tier
    runner: Runner = run

    def learn(self, n_micro: int = MICRO) -> DataSummary:
        """The summary of all rows, by up to `n_micro` micro-clusters; fewer for few rows."""
        centers, queries, steps, most = self._first(), 0, _STEPS, n_micro
        while steps:
            sums = self._ask(centers)
            queries += 1
            if queries == 1:
                most = max(1, min(n_micro, int(sums.mass.sum()) // _ROWS))
            if queries > ceil(log2(most)):
                steps -= 1
            target = min(most, 2 * len(centers))
            mean, square = sums.moments(centers)
            centers = self._within_bounds(grow(mean, sums.mass, square, target, _LEAST))
        return _summary(self._ask(centers, borders=True), centers, queries + 1)

    def _first(self) -> FloatArray:
        """One centre; all rows belong to it, wherever it is."""
        if self.schema.low is None or self.schema.high is None:
            return np.zeros((1, self.schema.n_features))
        return (self.schema.low + (self.schema.high - self.schema.low) / 2)[None]

    def _within_bounds(self, centers: FloatArray) -> FloatArray:
        """Clients refuse centres outside of public bounds."""
        if self.schema.low is None or self.schema.high is None:
            return centers
        inside: FloatArray = np.clip(centers, self.schema.low, self.schema.high)
        return inside

    def _ask(self, centers: FloatArray, *, borders: bool = False) -> MicroSums:
        kind = CellMicroQuery if self.schema.missing else MicroQuery
        query = kind(len(centers), centers, borders)
        plan = replace(self.tier.plan(query, self.channel, self.schema), purpose="summary")
        sums: MicroSums = self.runner(plan, self.channel, self.schema).model
        return sums


def _summary(sums: MicroSums, centers: FloatArray, queries: int) -> DataSummary:
    mean, square = sums.settle(*sums.moments(centers))
    held = sums.mass > 0
    borders = sums.borders[np.ix_(held, held)]
    cells = sums.weight[held] if sums.weight.ndim > 1 else None
    return DataSummary(mean[held], sums.mass[held], square[held], borders, queries, cells=cells)
