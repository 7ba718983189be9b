"""Starts from many small clusters: what a summary of the rows shows, a search can try cheaply.

Three plans, which `clustering.starts` composes. `MicroSeeding` collects means of small groups of
rows. `MicroClusters` makes them clusters of all clients' rows. `RivalSteps` lets several starts
take one k-means step over all rows, and measures each. The server searches for starts in between.
"""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Generic, NamedTuple

import numpy as np

from ..core import Data, Dims, Empty, OneRoundQuery, Record, Role, Schema, Summed, Traits, checks
from ..core.random import stream
from ..kernels import (
    HardSums,
    compare_solutions,
    divide_or_keep,
    group_rows,
    hard_sums,
    hide_small_sums,
    nearest,
    search_centers,
)
from ..typing import FloatArray, Rng
from .centers import Candidates, CenterAlgorithm, Centers, CenterState, OneRound, Sums, U

_FEWEST_ROWS = 3  # of a client in a micro-cluster
_BEYOND_HALF = 1.5  # how far usual values reach beyond the middle half, in its widths


class UsualValues(NamedTuple):
    """What is usual in each column: a few outlying rows change none of it."""

    middle: FloatArray  # (F,) mean of the middle half of the values
    low: FloatArray  # (F,)
    high: FloatArray  # (F,)

    @classmethod
    def of(cls, rows: FloatArray, least: int, pooled: FloatArray | None = None) -> "UsualValues":
        """Those of rows; columns with fewer than `least` values have the pooled mean."""
        ordered = np.sort(rows, axis=0)  # missing cells come last
        observed = (~np.isnan(rows)).sum(axis=0)
        middle = np.zeros(rows.shape[1]) if pooled is None else pooled.astype(np.float64)
        low, high = np.full_like(middle, -np.inf), np.full_like(middle, np.inf)
        for f in np.flatnonzero(observed >= least):
            aside = min(observed[f] // 4, (observed[f] - least) // 2)
            half = ordered[aside : observed[f] - aside, f]
            beyond = _BEYOND_HALF * (half[-1] - half[0])
            middle[f], low[f], high[f] = half.mean(), half[0] - beyond, half[-1] + beyond
        return cls(middle, low, high)


def fill_missing(
    rows: FloatArray, usual: UsualValues, centers: FloatArray | None = None
) -> FloatArray:
    """Rows with values in place of missing cells: of their nearest centres where these are usual.

    The nearest centre over observed cells can be an outlying one. Its values would carry the row
    away, so there, and without centres, the middle of the column stands in.
    """
    fill = usual.middle
    if centers is not None:
        near = centers[nearest(rows, centers)[0]]
        fill = np.where((near >= usual.low) & (near <= usual.high), near, fill)
    filled: FloatArray = np.where(np.isnan(rows), fill, rows)
    return filled


class Summary(NamedTuple):
    """Weighted points that stand for all rows."""

    points: FloatArray  # (M, F)
    weight: FloatArray  # (M,)

    @classmethod
    def of(cls, points: FloatArray, weight: FloatArray) -> "Summary":
        """The points that stand for any row."""
        held = weight > 0
        return cls(points[held], weight[held])


@dataclass(frozen=True, eq=False)
class PointState(CenterState):
    """Centres, and the weighted points that they were found in."""

    points: Annotated[FloatArray, Dims("P", "F")]
    weight: Annotated[FloatArray, Dims("P")]


@dataclass(frozen=True, eq=False)
class MicroSeeding(OneRound[Candidates]):
    """Means of small groups of rows from every client, then a search for the best centres.

    A client always forms the same groups of the same rows, so that asking again shows nothing new.
    """

    # Of rows at each client; None: two for each cluster.
    groups: Annotated[int | None, Role.CLUSTERS] = None
    # Distinct rows in a group.
    min_count: Annotated[int, Role.RECORDS] = 3
    # Means of all clients, in place of missing cells in columns of which a client has few values.
    fill: Annotated[FloatArray | None, Role.COLUMNS] = None

    key: ClassVar[str] = "micro-clusters"
    traits: ClassVar[Traits] = Traits(counted=True, samples=True, missing=True)
    state: ClassVar[type[Record]] = PointState

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.groups is not None:
            checks.integer(self, "groups")
        checks.integer(self, "min_count", 3)

    @property
    def _n_groups(self) -> int:
        return self.groups or 2 * self.n_clusters

    def start(self, schema: Schema, rng: Rng) -> PointState:
        F = schema.n_features
        zeros = np.zeros((self.n_clusters, F))
        return PointState(zeros, 0, np.inf, np.empty((0, F)), np.empty(0))

    def client_step(self, down: Empty, data: Data, rng: Rng) -> Candidates:
        fixed = stream(0, "groups", 0)
        rows = data.X
        if data.has_missing:
            rows = fill_missing(rows, UsualValues.of(rows, self.min_count, self.fill))
        found = group_rows(rows, self._n_groups, fixed, data.weight, min_count=self.min_count)
        return Candidates(found.means, found.weight, found.records)

    def server_step(self, state: CenterState, merged: Candidates, rng: Rng) -> PointState:
        centers = self.centers(merged, rng)
        return PointState(centers, state.round + 1, 0.0, merged.centers, merged.weight)

    def summaries(self, state: PointState) -> tuple[Summary, ...]:
        """Server: what starts can be searched in."""
        return (Summary.of(state.points, state.weight),)

    def centers(self, merged: Candidates, rng: Rng) -> FloatArray:
        return search_centers(merged.centers, self.n_clusters, rng, merged.weight, most=1)[0]


@dataclass(frozen=True, eq=False)
class MicroState(CenterState):
    """Centres, and the weight of the rows that each is the mean of."""

    weight: Annotated[FloatArray, Dims("C")]


@dataclass(frozen=True, eq=False)
class MicroClusters(CenterAlgorithm[MicroState, Sums]):
    """Many small clusters of all rows: k-means that keeps the clusters' weights.

    A client sends no sum of fewer than three rows: rows of a smaller cluster join a larger one,
    or are rounded if they are outlying, in steps that depend on the centres alone. A client with
    fewer than three rows for each of the `wanted` clusters sends all sums as they are, because
    the clustering that follows shows as much of its rows.
    """

    # Clusters of the clustering that follows.
    wanted: Annotated[int, Role.CLUSTERS] = 1

    key: ClassVar[str] = "micro-c-means"
    # Rounding changes with the centres, so the totals of two rounds may differ.
    traits: ClassVar[Traits] = Traits(counted=True, means=True, additive=True, missing=True)

    def initial_state(self, centers: FloatArray) -> MicroState:
        return MicroState(centers, 0, np.inf, np.zeros(len(centers)))

    def client_step(self, down: Centers, data: Data, rng: Rng) -> Sums:
        rows = data.X
        if data.has_missing:
            rows = fill_missing(rows, UsualValues.of(rows, _FEWEST_ROWS), down.centers)
        sums = hard_sums(rows, down.centers, data.weight)
        return Sums(sums.weight, sums.total, sums.records)

    def release(self, message: Sums) -> Sums:
        """Client: hide small sums, once the rows of all batches are added up."""
        records = message.support
        if records is None or records.sum() < _FEWEST_ROWS * self.wanted:
            return message
        sums = HardSums(records, message.weight, message.total)
        known = message.total[:1] * 0 if self.init is None else self.init  # by the server
        hidden = hide_small_sums(sums, _FEWEST_ROWS, known)
        return Sums(hidden.weight, hidden.total, hidden.records)

    def server_step(self, state: MicroState, merged: Sums, rng: Rng) -> MicroState:
        moved = state.move_to(divide_or_keep(merged.total, merged.weight, state.centers))
        return replace(moved, weight=merged.weight)

    @property
    def lossless(self) -> bool:
        return True


class Rivals(NamedTuple):
    """Starts after one step, and a score of each before it; lower is better."""

    starts: FloatArray  # (R, C, F)
    score: FloatArray  # (R,)
    weight: FloatArray | None = None  # (R, C) of the rows of clusters, where sums are pooled


@dataclass(frozen=True, eq=False)
class RivalQuery(OneRoundQuery[Centers, U], Generic[U]):
    """Compare several starts over all rows, and let each take one step."""

    n_clusters: Annotated[int, Role.CLUSTERS]
    init: Annotated[FloatArray, Role.CLUSTERS]  # (R * C, F) the centres of all starts
    step: bool = True  # otherwise they are only compared

    def __post_init__(self) -> None:
        checks.integer(self, "n_clusters")
        checks.centers(self, several=True)
        checks.boolean(self, "step")

    def broadcast(self, state: Empty) -> Centers:
        return Centers(self.init)

    @property
    def n_starts(self) -> int:
        return len(self.init) // self.n_clusters

    def split(self, centers: FloatArray) -> FloatArray:
        """The centres of each start (R, C, F)."""
        return centers.reshape(-1, self.n_clusters, centers.shape[1])

    def sizes(self, schema: Schema) -> dict[str, int]:
        n = len(self.init)
        moved = n if self.step else 0
        return {"R": self.n_starts, "RC": moved, "F": schema.n_features, "one": 1}


@dataclass(frozen=True, eq=False)
class RivalSums(Summed):
    """Sums of a k-means step from each of several starts, and the inertia of each."""

    inertia: Annotated[FloatArray, Dims("R")]
    weight: Annotated[FloatArray, Dims("RC")]
    total: Annotated[FloatArray, Dims("RC", "F")]
    rows: Annotated[FloatArray, Dims("one")]


@dataclass(frozen=True, eq=False)
class RivalSteps(RivalQuery[RivalSums]):
    """The inertia of several starts over all rows, and one k-means step from each."""

    key: ClassVar[str] = "rival-steps"
    traits: ClassVar[Traits] = Traits(additive=True)

    @property
    def lossless(self) -> bool:
        return True

    def client_step(self, down: Centers, data: Data, rng: Rng) -> RivalSums:
        starts = self.split(down.centers)
        found = compare_solutions(data.X, starts, data.weight, step=self.step)
        return RivalSums(*found, np.array([float(len(data))]))

    def model(self, state: RivalSums) -> Rivals:
        if not self.step:
            return Rivals(self.split(self.init), state.inertia)
        moved = divide_or_keep(state.total, state.weight, self.init)
        weight = state.weight.reshape(self.n_starts, self.n_clusters, -1).mean(axis=2)
        return Rivals(self.split(moved), state.inertia, weight)
