"""Statistics of all clients' columns, as plans like any other: sums up, a few numbers out.

Tables may have gaps here (NaN): every column counts the values it has.
"""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from ...core import (
    Algorithm,
    ConfigError,
    Data,
    Dims,
    Empty,
    MessageError,
    OneRoundQuery,
    Record,
    Role,
    Rule,
    Schema,
    Stacked,
    Summed,
    Traits,
    checks,
)
from ...typing import BoolArray, FloatArray, IntArray, Rng


@dataclass(frozen=True, eq=False)
class MomentState(Record):
    """Counts, means and variances, once they are there."""

    count: Annotated[FloatArray, Dims("F")]
    mean: Annotated[FloatArray, Dims("F")]
    variance: Annotated[FloatArray, Dims("F")]
    round: int


@dataclass(frozen=True, eq=False)
class Around(Record):
    """What to take squares around: the mean, once it is known."""

    mean: Annotated[FloatArray, Dims("F")]
    round: int


@dataclass(frozen=True, eq=False)
class ColumnSums(Summed):
    """How many values a column has, and the sum of them, or of their squares around the mean."""

    count: Annotated[FloatArray, Dims("F")]
    total: Annotated[FloatArray, Dims("F")]


@dataclass(frozen=True, eq=False)
class Moments(Algorithm[MomentState, Around, ColumnSums]):
    """Mean and variance of every column over all clients' rows, as if they were pooled.

    Two rounds, sums and then squares around the mean: sums of squares in one round lose all
    digits where a column lies far from zero.
    """

    # A client with fewer values in a column sends nothing about it.
    min_count: Annotated[int, Role.RECORDS] = 5
    whole_rows: bool = False  # rows with a gap are left out: else who has one is the difference

    key: ClassVar[str] = "moments"
    traits: ClassVar[Traits] = Traits(additive=True, over_missing=True, answered_once=True)

    def __post_init__(self) -> None:
        checks.integer(self, "min_count")
        checks.boolean(self, "whole_rows")

    def start(self, schema: Schema, rng: Rng) -> MomentState:
        nothing = np.zeros(schema.n_features)
        return MomentState(nothing, nothing, nothing, 0)

    def broadcast(self, state: MomentState) -> Around:
        return Around(state.mean, state.round)

    def client_step(self, down: Around, data: Data, rng: Rng) -> ColumnSums:
        there = _there(data.X, self.whole_rows)
        count = there.sum(axis=0).astype(float)
        values = np.where(there, data.X - down.mean, 0.0)
        total = (values**2 if down.round else values).sum(axis=0)
        return ColumnSums(count, total)

    def release(self, message: ColumnSums) -> ColumnSums:
        enough = message.count >= self.min_count
        return ColumnSums(
            np.where(enough, message.count, 0.0), np.where(enough, message.total, 0.0)
        )

    def server_step(self, state: MomentState, merged: ColumnSums, rng: Rng) -> MomentState:
        value = merged.total / np.maximum(merged.count, 1.0)
        if state.round == 0:
            return replace(state, count=merged.count, mean=value, round=1)
        return replace(state, variance=value, round=2)

    def done(self, state: MomentState) -> bool:
        return state.round == 2

    def model(self, state: MomentState) -> MomentState:
        return state

    def sizes(self, schema: Schema) -> dict[str, int]:
        return {"F": schema.n_features}

    @property
    def lossless(self) -> bool:
        return self.min_count == 1

    def rule(self, n_features: int) -> Rule:
        """Ours: the mean of one value is that value."""
        return Rule(min_samples=2)


def _there(X: FloatArray, whole_rows: bool) -> BoolArray:
    """Which values count."""
    there: BoolArray = ~np.isnan(X)
    return there & np.asarray(there.all(axis=1))[:, None] if whole_rows else there


@dataclass(frozen=True, eq=False)
class Edges(Record):
    """Where the bins begin and end, column by column."""

    low: Annotated[FloatArray, Dims("F")]
    high: Annotated[FloatArray, Dims("F")]


@dataclass(frozen=True, eq=False)
class Counts(Summed):
    """Values per column and bin."""

    counts: Annotated[FloatArray, Dims("F", "bins")]


@dataclass(frozen=True, eq=False)
class Histogram(OneRoundQuery[Edges, Counts]):
    """Counts of all clients' values in equal bins between given edges: quantiles, not extremes."""

    low: Annotated[FloatArray, Role.COLUMNS]  # (F,) of the columns that are asked for
    high: Annotated[FloatArray, Role.COLUMNS]  # (F,)
    n_bins: Annotated[int, Role.BINS] = 512
    # Bins with fewer values are merged with their neighbours.
    min_count: Annotated[int, Role.RECORDS] = 5
    places: Annotated[IntArray | None, Role.COLUMNS] = None  # (F,) among the rows'; None: all
    whole_rows: bool = False  # as those of `Moments`

    key: ClassVar[str] = "histogram"
    traits: ClassVar[Traits] = Traits(additive=True, over_missing=True, answered_once=True)

    def __post_init__(self) -> None:
        checks.integer(self, "n_bins", 2)
        checks.integer(self, "min_count")
        places = np.arange(len(self.low)) if self.places is None else np.asarray(self.places)
        if places.shape != self.low.shape or places.dtype.kind not in "iu" or (places < 0).any():
            raise ConfigError(f"{self.key}: places must be a whole number for each column")

    def broadcast(self, state: Empty) -> Edges:
        return Edges(self.low, self.high)

    def client_step(self, down: Edges, data: Data, rng: Rng) -> Counts:
        width = np.where(down.high > down.low, down.high - down.low, 1.0)
        if self.places is not None and self.places.max(initial=0) >= data.X.shape[1]:
            raise MessageError(f"{self.key}: there are {data.X.shape[1]} columns")
        rows = np.where(_there(data.X, self.whole_rows), data.X, np.nan)
        asked = rows if self.places is None else rows[:, self.places]
        place = (asked - down.low) / width * self.n_bins
        counts = np.zeros((asked.shape[1], self.n_bins))
        for f in range(asked.shape[1]):
            values = place[~np.isnan(place[:, f]), f]
            bins = np.clip(values, 0, self.n_bins - 1).astype(int)
            counts[f] = np.bincount(bins, minlength=self.n_bins)
        return Counts(counts)

    def release(self, message: Counts) -> Counts:
        return Counts(np.array([grouped(row, self.min_count) for row in message.counts]))

    def model(self, state: Counts) -> FloatArray:
        return state.counts

    def sizes(self, schema: Schema) -> dict[str, int]:
        return {"F": len(self.low), "bins": self.n_bins}

    def quantile(self, counts: FloatArray, share: float) -> FloatArray:
        """The value below which a share of each column lies, to within a bin."""
        rising = np.cumsum(counts, axis=1)
        wanted = share * rising[:, -1]
        bins = np.array(
            [np.searchsorted(r, w, side="left") for r, w in zip(rising, wanted, strict=True)]
        )
        found: FloatArray = self.low + (self.high - self.low) * (bins + share) / self.n_bins
        return found

    def rule(self, n_features: int) -> Rule:
        """Ours: a count of one tells where that one is."""
        return Rule(min_samples=2)


def grouped(counts: FloatArray, min_count: int) -> FloatArray:
    """Neighbouring bins together, until `min_count` stand behind each count, at their mean."""
    told = np.zeros_like(counts)
    held = moment = last = 0
    for place in np.flatnonzero(counts).tolist():
        held += int(counts[place])
        moment += place * int(counts[place])
        if held >= min_count:
            last = round(moment / held)
            told[last] += held
            held = moment = 0
    if told.any():  # the rest is too few to stand alone
        told[last] += held
    return told


@dataclass(frozen=True, eq=False)
class LocalMeans(Stacked):
    """A client's mean of each column, and how many values stand behind it."""

    mean: Annotated[FloatArray, Dims("M", "F")]
    count: Annotated[FloatArray, Dims("M", "F")]


@dataclass(frozen=True, eq=False)
class MedianOfMeans(OneRoundQuery[Empty, LocalMeans]):
    """The median over clients of their means: one client's odd values do not move it."""

    # Values that must stand behind a mean for it to be sent.
    min_count: Annotated[int, Role.RECORDS] = 5

    key: ClassVar[str] = "median-of-means"
    traits: ClassVar[Traits] = Traits(over_missing=True, answered_once=True)

    def __post_init__(self) -> None:
        checks.integer(self, "min_count", 2)

    def broadcast(self, state: Empty) -> Empty:
        return Empty()

    def client_step(self, down: Empty, data: Data, rng: Rng) -> LocalMeans:
        there = ~np.isnan(data.X)
        count = there.sum(axis=0).astype(float)
        count = np.where(count >= self.min_count, count, 0.0)
        total = np.where(there, data.X, 0.0).sum(axis=0)
        mean = np.where(count > 0, total / np.maximum(count, 1.0), 0.0)
        return LocalMeans(mean[None], count[None])

    def model(self, state: LocalMeans) -> FloatArray:
        """The median over clients; zero where none had enough to say."""
        known = np.where(state.count > 0, state.mean, np.nan)
        said = (state.count > 0).any(axis=0)
        median = np.zeros(known.shape[1])
        median[said] = np.nanmedian(known[:, said], axis=0)
        return median

    def sizes(self, schema: Schema) -> dict[str, int]:
        return {"F": schema.n_features}
