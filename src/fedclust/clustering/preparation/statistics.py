"""Statistics of columns over all clients, computed from sums.

Tables may have missing values (NaN) here; each column counts only the values it has.
"""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Self

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
from ...core.message import round_to_grid
from ...kernels.grid import Grid
from ...typing import BoolArray, FloatArray, IntArray, Rng

_ASIDE = 2.0**-20  # of a step: how far its borders lie beside multiples of it


@dataclass(frozen=True, eq=False)
class MomentState(Record):
    """Counts, means and variances, zero until they are known."""

    count: Annotated[FloatArray, Dims("F")]
    mean: Annotated[FloatArray, Dims("F")]
    variance: Annotated[FloatArray, Dims("F")]
    round: int

    def coarsen(self, min_count: int, heights: FloatArray) -> Self:
        """Round means and deviations so that `min_count` values make no visible difference.

        `heights` (F,) are those of categories, and zero for numbers.
        """
        spread = np.sqrt(self.variance)
        step = min_count * np.maximum(spread, heights) / np.maximum(self.count, 1.0)
        mean = round_means(self.mean, step, heights)
        spread = np.where(heights > 0, spread_of_shares(mean, heights), round_to(spread, step))
        return replace(self, mean=mean, variance=spread**2)


def round_means(
    mean: FloatArray, step: FloatArray, heights: FloatArray, low: FloatArray | float = 0.0
) -> FloatArray:
    """Round means; those of categories as shares, so that none and all are no shares of their own.

    Categories are `low`, or `heights` above it; numbers have no height.
    """
    safe = np.where(heights > 0, heights, 1.0)
    part = np.minimum(step / safe, 1.0)
    share = round_to(np.clip((mean - low) / safe, 0.0, 1.0 - part / 4), part)
    rounded: FloatArray = np.where(heights > 0, low + heights * share, round_to(mean, step))
    return rounded


def spread_of_shares(
    mean: FloatArray, heights: FloatArray, low: FloatArray | float = 0.0
) -> FloatArray:
    """The deviation of categories, which are `low` or `heights` above it, from their rounded mean.

    Their own deviation would say more of a category that few rows have than the mean does.
    """
    safe = np.where(heights > 0, heights, 1.0)
    share = np.clip((mean - low) / safe, 0.0, 1.0)
    spread: FloatArray = heights * np.sqrt(share * (1.0 - share))
    return spread


def round_to(values: FloatArray, step: FloatArray) -> FloatArray:
    """Round to the middles of steps; a step of zero does not round.

    Steps are lowered to powers of two: the result must not show a step that depends on the rows.
    Multiples of the step would leave the mean of centred data, which is zero, as it is. Such values
    lie on the border of two steps, where the last bit would decide, so borders are moved a little.
    """
    positive = np.isfinite(step) & (step > 0)
    safe = np.exp2(np.floor(np.log2(np.where(positive, step, 1.0)) + _ASIDE))
    middles = (np.floor(values / safe + _ASIDE) + 0.5) * safe
    rounded: FloatArray = np.where(positive, middles, values)
    return rounded


@dataclass(frozen=True, eq=False)
class Around(Record):
    """The mean that is subtracted from values; zero in the first round."""

    mean: Annotated[FloatArray, Dims("F")]
    round: int


@dataclass(frozen=True, eq=False)
class ColumnSums(Summed):
    """Number of values per column, and their sum or their sum of squares around the mean."""

    count: Annotated[FloatArray, Dims("F")]
    total: Annotated[FloatArray, Dims("F")]

    def on_grid(self, grid: Grid) -> Self:
        """Round as `Moments` does; it has done so where its rows have a grid."""
        if self.count.dtype == np.int64:
            return self
        counts = round_to_grid(self.count, grid.mass)
        return type(self)(counts, round_to_grid(self.total, _steps(grid)))

    def off_grid(self, grid: Grid) -> Self:
        return type(self)(self.count / grid.mass, self.total / _steps(grid))


def _steps(grid: Grid) -> FloatArray:
    """Steps per unit of a column's differences, of which none exceeds the width of its bounds."""
    return grid.unit / 2.0


@dataclass(frozen=True, eq=False)
class Moments(Algorithm[MomentState, Around, ColumnSums]):
    """Mean and variance of every column, equal to those of the pooled rows.

    It takes two rounds: sums, then squares around the mean. Sums of squares in one round would
    lose all digits if a column is far from zero.
    """

    # A client with fewer values in a column sends zeros for it; None: all values count.
    min_count: Annotated[int | None, Role.RECORDS] = 5
    whole_rows: bool = False  # only rows without a missing value count
    # Public bounds, for sums of integers: the first differences are from their middle.
    low: Annotated[FloatArray | None, Role.COLUMNS] = None  # (F,)
    high: Annotated[FloatArray | None, Role.COLUMNS] = None  # (F,)

    key: ClassVar[str] = "moments"
    traits: ClassVar[Traits] = Traits(additive=True, missing=True)

    def __post_init__(self) -> None:
        if self.min_count is not None:
            checks.integer(self, "min_count")
        checks.boolean(self, "whole_rows")

    def start(self, schema: Schema, rng: Rng) -> MomentState:
        zeros = np.zeros(schema.n_features)
        middle = zeros
        if self.low is not None and self.high is not None:
            middle = self.low + (self.high - self.low) / 2.0
        return MomentState(zeros, middle, zeros, 0)

    @property
    def _width(self) -> FloatArray | float:
        """By which squares are divided, so that they are no larger than differences."""
        return 1.0 if self.low is None or self.high is None else self.high - self.low

    def broadcast(self, state: MomentState) -> Around:
        return Around(state.mean, state.round)

    def client_step(self, down: Around, data: Data, rng: Rng) -> ColumnSums:
        present = _is_present(data.X, self.whole_rows)
        count = present.sum(axis=0).astype(float)
        values = np.where(present, data.X - down.mean, 0.0)
        values = values**2 / self._width if down.round else values
        if data.grid is not None:  # each record is rounded once, so any split gives the same bits
            steps = np.rint(values * _steps(data.grid)).astype(np.int64)
            counts = np.rint(count * data.grid.mass).astype(np.int64)
            return ColumnSums(counts, steps.sum(axis=0))
        return ColumnSums(count, values.sum(axis=0))

    def release(self, message: ColumnSums) -> ColumnSums:
        if self.min_count is None:
            return message
        enough = message.count >= self.min_count
        return ColumnSums(
            np.where(enough, message.count, 0.0), np.where(enough, message.total, 0.0)
        )

    def server_step(self, state: MomentState, merged: ColumnSums, rng: Rng) -> MomentState:
        value = merged.total / np.maximum(merged.count, 1.0)
        if state.round == 0:
            return replace(state, count=merged.count, mean=state.mean + value, round=1)
        return replace(state, variance=value * self._width, round=2)

    def done(self, state: MomentState) -> bool:
        return state.round == 2

    def model(self, state: MomentState) -> MomentState:
        return state

    def sizes(self, schema: Schema) -> dict[str, int]:
        return {"F": schema.n_features}

    @property
    def lossless(self) -> bool:
        return self.min_count in (None, 1)

    def rule(self, n_features: int) -> Rule:
        """Our own rule: never disclose the mean of a single value."""
        return Rule(min_samples=2)


def _is_present(X: FloatArray, whole_rows: bool) -> BoolArray:
    """Which values are counted."""
    present: BoolArray = ~np.isnan(X)
    return present & np.asarray(present.all(axis=1))[:, None] if whole_rows else present


@dataclass(frozen=True, eq=False)
class Edges(Record):
    """First and last bin edge of each column."""

    low: Annotated[FloatArray, Dims("F")]
    high: Annotated[FloatArray, Dims("F")]


@dataclass(frozen=True, eq=False)
class Counts(Summed):
    """Number of values by column and bin."""

    counts: Annotated[FloatArray, Dims("F", "bins")]


@dataclass(frozen=True, eq=False)
class Histogram(OneRoundQuery[Edges, Counts]):
    """Counts of all clients' values in equal bins, for quantiles without extremes."""

    low: Annotated[FloatArray, Role.COLUMNS]  # (F,) of the queried columns
    high: Annotated[FloatArray, Role.COLUMNS]  # (F,)
    n_bins: Annotated[int, Role.BINS] = 512
    # A client merges bins of fewer values with their neighbours; None: it sends all as they are.
    min_count: Annotated[int | None, Role.RECORDS] = 5
    places: Annotated[IntArray | None, Role.COLUMNS] = None  # (F,) column indices; None: all
    whole_rows: bool = False  # as in `Moments`

    key: ClassVar[str] = "histogram"
    traits: ClassVar[Traits] = Traits(additive=True, missing=True)

    def __post_init__(self) -> None:
        checks.integer(self, "n_bins", 2)
        if self.min_count is not None:
            checks.integer(self, "min_count")
        places = np.arange(len(self.low)) if self.places is None else np.asarray(self.places)
        if places.shape != self.low.shape or places.dtype.kind not in "iu" or (places < 0).any():
            raise ConfigError(f"{self.key}: places must be a non-negative integer for each column")

    def broadcast(self, state: Empty) -> Edges:
        return Edges(self.low, self.high)

    def client_step(self, down: Edges, data: Data, rng: Rng) -> Counts:
        width = np.where(down.high > down.low, down.high - down.low, 1.0)
        if self.places is not None and self.places.max(initial=0) >= data.X.shape[1]:
            raise MessageError(
                f"{self.key}: places exceed the {data.X.shape[1]} columns of this client"
            )
        rows = np.where(_is_present(data.X, self.whole_rows), data.X, np.nan)
        queried = rows if self.places is None else rows[:, self.places]
        position = (queried - down.low) / width * self.n_bins
        counts = np.zeros((queried.shape[1], self.n_bins))
        for f in range(queried.shape[1]):
            values = position[~np.isnan(position[:, f]), f]
            bins = np.clip(values, 0, self.n_bins - 1).astype(int)
            counts[f] = np.bincount(bins, minlength=self.n_bins)
        return Counts(counts)

    def release(self, message: Counts) -> Counts:
        if self.min_count is None:
            return message
        return Counts(group_all_bins(message.counts, self.min_count))

    def model(self, state: Counts) -> FloatArray:
        return state.counts

    def sizes(self, schema: Schema) -> dict[str, int]:
        return {"F": len(self.low), "bins": self.n_bins}

    def quantile(self, counts: FloatArray, share: float) -> FloatArray:
        """Quantile of each column, to within a bin."""
        cumulative = np.cumsum(counts, axis=1)
        wanted = share * cumulative[:, -1]
        bins = np.array(
            [np.searchsorted(r, w, side="left") for r, w in zip(cumulative, wanted, strict=True)]
        )
        quantiles: FloatArray = self.low + (self.high - self.low) * (bins + share) / self.n_bins
        return quantiles

    def rule(self, n_features: int) -> Rule:
        """Our own rule: a count of one would disclose the position of a record."""
        return Rule(min_samples=2)


def group_all_bins(counts: FloatArray, min_count: int) -> FloatArray:
    """Merge bins of every column until each has at least `min_count` values."""
    return np.array([group_bins(row, min_count) for row in counts])


def group_bins(counts: FloatArray, min_count: int) -> FloatArray:
    """Merge neighbouring bins into their mean bin until each has at least `min_count` values."""
    merged = np.zeros_like(counts)
    pending = moment = last = 0
    for i in np.flatnonzero(counts).tolist():
        pending += int(counts[i])
        moment += i * int(counts[i])
        if pending >= min_count:
            last = round(moment / pending)
            merged[last] += pending
            pending = moment = 0
    if merged.any():  # the remaining values are too few for a bin of their own
        merged[last] += pending
    return merged


@dataclass(frozen=True, eq=False)
class LocalMeans(Stacked):
    """A client's mean of each column, and the number of values in it."""

    mean: Annotated[FloatArray, Dims("M", "F")]
    count: Annotated[FloatArray, Dims("M", "F")]


@dataclass(frozen=True, eq=False)
class MedianOfMeans(OneRoundQuery[Empty, LocalMeans]):
    """Median over clients of their means; outliers at one client hardly affect it."""

    # Minimum number of values in a mean that is sent.
    min_count: Annotated[int, Role.RECORDS] = 5

    key: ClassVar[str] = "median-of-means"
    traits: ClassVar[Traits] = Traits(missing=True)

    def __post_init__(self) -> None:
        checks.integer(self, "min_count", 2)

    def broadcast(self, state: Empty) -> Empty:
        return Empty()

    def client_step(self, down: Empty, data: Data, rng: Rng) -> LocalMeans:
        present = ~np.isnan(data.X)
        count = present.sum(axis=0).astype(float)
        count = np.where(count >= self.min_count, count, 0.0)
        total = np.where(present, data.X, 0.0).sum(axis=0)
        mean = np.where(count > 0, total / np.maximum(count, 1.0), 0.0)
        return LocalMeans(mean[None], count[None])

    def model(self, state: LocalMeans) -> FloatArray:
        """Median over clients; zero if no client has enough values."""
        known = np.where(state.count > 0, state.mean, np.nan)
        any_known = (state.count > 0).any(axis=0)
        median = np.zeros(known.shape[1])
        median[any_known] = np.nanmedian(known[:, any_known], axis=0)
        return median

    def sizes(self, schema: Schema) -> dict[str, int]:
        return {"F": schema.n_features}
