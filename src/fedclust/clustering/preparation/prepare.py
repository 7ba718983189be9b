"""Convert columns to rows for clustering, and centres back to the columns' units."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np

from ...algorithms.bounded import STEPS
from ...algorithms.bounded_moments import BoundedMoments
from ...channels import LocalChannel
from ...core import (
    AnyAlgorithm,
    Channel,
    ConfigError,
    Data,
    DataError,
    Empty,
    EmptyRound,
    Runner,
    Schema,
    run,
)
from ...data.frames import columns_of
from ...results import build, to_json
from ...tiers import Privacy, Tier, tier_of
from ...typing import BoolArray, FloatArray, IntArray
from .column import Column, clip_rows
from .statistics import Histogram, MedianOfMeans, Moments, group_all_bins

SCALINGS = ("standard", "min-max", "none")
MISSING = ("drop", "mean", "median-of-means", "partial")
RunStatistic = Callable[[AnyAlgorithm], Any]  # runs a statistic over all clients
CategoryWeight = float | Literal["auto"] | None  # of two rows of different categories; None: 2
_HALF = 0.5  # of the spread of numbers: the weight of categories
_TAILS = (0.01, 0.99)  # quantiles for min-max without public bounds: extremes are single values


@dataclass(frozen=True, eq=False)
class Preparation:
    """How rows are prepared, as learned from all clients; part of the model."""

    columns: tuple[Column, ...]
    offset: FloatArray  # (P,)
    scale: FloatArray  # (P,) above zero
    fill: FloatArray | None  # (P,) replaces missing values; None: such rows are dropped
    partial: bool = False  # missing cells stay, and only rows without any value are dropped

    def apply(self, table: Any, client: str = "this client") -> tuple[FloatArray, BoolArray]:
        """Prepared rows, and a mask of the table's rows that were kept."""
        columns, partial = self.columns, self.partial
        return self.scale_rows(encode_columns(columns, table, client, may_lack=partial))

    def scale_rows(self, rows: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Prepare rows that are already encoded."""
        rows = clip_rows(self.columns, rows)
        missing = np.isnan(rows)
        kept: BoolArray = np.ones(len(rows), dtype=bool)
        if self.partial:
            kept = np.asarray(~missing.all(axis=1))
            rows = rows[kept]
        elif self.fill is None:
            kept = np.asarray(~missing.any(axis=1))
            rows = rows[kept]
        else:
            rows = np.where(missing, self.fill, rows)
        return np.ascontiguousarray((rows - self.offset) / self.scale), kept

    def in_units(self, centers: FloatArray) -> FloatArray:
        """Centres in the columns' own units; logarithms are reversed."""
        in_units: FloatArray = centers * self.scale + self.offset
        for i, column in enumerate(self._by_encoded()):
            if column.log:
                in_units[:, i] = np.exp(in_units[:, i])
        return in_units

    def _by_encoded(self) -> list[Column]:
        return [column for column in self.columns for _ in column.encoded_names]

    @property
    def names(self) -> list[str]:
        """Names of the prepared columns."""
        return [name for column in self.columns for name in column.encoded_names]

    def schema(self) -> Schema:
        """Schema of prepared rows, with public bounds if every column has bounds."""
        encoded = replace(encoded_schema(self.columns), missing=self.partial)
        if any(column.categories for column in self.columns):
            encoded = replace(encoded, blocks=self._blocks(), height=1.0 / self.scale)
        if encoded.low is None or encoded.high is None:
            return encoded
        low, high = ((box - self.offset) / self.scale for box in (encoded.low, encoded.high))
        return replace(encoded, low=low, high=high)

    @property
    def heights(self) -> FloatArray:
        """(P,) how much larger a category is where a row has it; zero for numbers."""
        return np.where(self._blocks() > 0, 1.0 / self.scale, 0.0)

    @property
    def floor(self) -> FloatArray:
        """(P,) a category that a row does not have, and for numbers the value of zero."""
        floor: FloatArray = -self.offset / self.scale
        return floor

    def _blocks(self) -> IntArray:
        """For each prepared column 0 for a number, or the position from 1 of its categories."""
        places = [
            place if column.categories else 0
            for place, column in enumerate(self.columns, 1)
            for _ in column.encoded_names
        ]
        return np.array(places, dtype=np.int64)

    def as_config(self) -> dict[str, Any]:
        """Plain values, for a file."""
        config: dict[str, Any] = to_json(self)
        config["columns"] = [to_json(column.as_config()) for column in self.columns]
        if not self.partial:
            del config["partial"]
        return config

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """Inverse of `as_config`."""
        return build(cls, config, "preparation")


def encode_columns(
    columns: Sequence[Column],
    table: Any,
    client: str,
    dates: str | None = None,
    *,
    may_lack: bool = False,
) -> FloatArray:
    """Encode a client's columns as numbers, missing values as NaN; needs no other client.

    `dates` is the order of day and month in dates such as 03/04/2024. With `may_lack`, a column
    that the table does not have is missing in every row.
    """
    given = columns_of(table, client)
    absent = [column.name for column in columns if column.name not in given]
    if absent and not (may_lack and len(absent) < len(columns)):
        raise DataError(f"{client}: column {', '.join(map(repr, absent))} does not exist")
    n = len(next(iter(given.values()))) if given else 0
    parts = [
        column.encode(given[column.name], client, dates)
        if column.name in given
        else column.all_missing(n)
        for column in columns
    ]
    if len({len(part) for part in parts}) > 1:
        raise DataError(f"{client}: its columns have different lengths")
    return np.hstack(parts)


def prepare(
    columns: Sequence[Column],
    tables: Mapping[str, Any],
    *,
    scaling: str = "standard",
    missing: str = "drop",
    min_count: int = 5,
    privacy: Privacy = "none",
    category_weight: CategoryWeight = None,
) -> Preparation:
    """Learn from all clients how each prepares its rows.

    A client's table is a data frame, or a mapping of names to values.
    """
    _check_settings(columns, scaling, missing)
    lacks = missing == "partial"
    data = {
        name: Data(
            clip_rows(columns, encode_columns(columns, table, f"client {name!r}", may_lack=lacks)),
            np.empty(0),
        )
        for name, table in tables.items()
    }
    return prepare_over(
        columns,
        LocalChannel(data),
        scaling=scaling,
        missing=missing,
        min_count=min_count,
        privacy=privacy,
        category_weight=category_weight,
    )


def encoded_schema(columns: Sequence[Column]) -> Schema:
    """The shape of encoded rows, with public bounds if every column has them."""
    boxes = [column.box for column in columns]
    known = [box for box in boxes if box is not None]
    if len(known) < len(boxes):
        return Schema(sum(len(column.encoded_names) for column in columns))
    low, high = np.vstack(known).T
    return Schema(len(low), low=low, high=high)


def scale_by_bounds(
    columns: Sequence[Column], *, partial: bool = False, category_weight: CategoryWeight = None
) -> Preparation:
    """Scale every column to [0, 1] by its public bounds; no client is queried.

    Rows with missing values are dropped, or with `partial` only rows without any value. With
    `category_weight` "auto", numbers count as spread evenly over their bounds.
    """
    boxes = []
    for column in columns:
        box = column.box
        if box is None:
            raise ConfigError(f"column {column.name!r} has no public bounds; give low and high")
        boxes.append(box)
    low, high = np.vstack(boxes).T
    weight = _HALF / np.sqrt(12.0) if category_weight == "auto" else category_weight
    scale = _weigh_categories(columns, high - low, weight)
    return Preparation(tuple(columns), low, scale, None, partial)


def _weigh_categories(
    columns: Sequence[Column], scale: FloatArray, weight: float | None
) -> FloatArray:
    """The scale at which rows of different categories have this squared distance; None: 2."""
    if weight is None:
        return scale
    categories = np.array([bool(c.categories) for c in columns for _ in c.encoded_names])
    return np.where(categories, np.sqrt(2.0 / weight), scale)


def prepare_over(
    columns: Sequence[Column],
    channel: Channel,
    *,
    scaling: str = "standard",
    missing: str = "drop",
    min_count: int = 5,
    privacy: Privacy = "none",
    rounded: bool = False,
    category_weight: CategoryWeight = None,
    runner: Runner = run,
) -> Preparation:
    """`prepare` over a channel to encoded columns, with missing values as NaN.

    `category_weight` is the squared distance of rows of different categories, 2 by default, with
    "auto" half the mean spread of the numbers. With `rounded`, means and deviations are rounded so
    that `min_count` rows make no visible difference. It is for centres that leave rows out, which
    the mean of all rows would reveal.
    """
    _check_settings(columns, scaling, missing)
    tier, schema = tier_of(privacy), encoded_schema(columns)
    channel = tier.channel(channel)

    def run_statistic(statistic: AnyAlgorithm, purpose: str = "") -> Any:
        plan = replace(tier.plan(statistic, channel, schema), purpose=purpose)
        return runner(plan, channel, schema).model

    # Rows that are dropped later must not count: a difference of sums would reveal them.
    query = Moments(None if tier.exact else min_count, whole_rows=missing == "drop")
    if tier.sums_only:
        query = replace(query, low=schema.low, high=schema.high)
    if tier.noisy:
        moments = run_statistic(_with_noise(tier, channel, schema, whole_rows=missing == "drop"))
    else:
        moments = _learn_moments(columns, run_statistic, query, min_count, rounded=rounded)
    fill = None
    if missing not in ("drop", "partial"):
        fill = moments.mean
        if missing == "median-of-means":
            fill = run_statistic(
                MedianOfMeans(min_count=max(2, min_count)), "filling missing values"
            )
    offset, scale = _scale(columns, run_statistic, query, moments, scaling, min_count)
    if category_weight == "auto":
        category_weight = _weight_of(columns, np.sqrt(moments.variance) / scale)
    scale = _weigh_categories(columns, scale, category_weight)
    return Preparation(tuple(columns), offset, scale, fill, missing == "partial")


def _learn_moments(
    columns: Sequence[Column],
    run_statistic: RunStatistic,
    query: Moments,
    min_count: int,
    *,
    rounded: bool,
) -> Any:
    """Counts, means and variances; a refusal if some column has too few values."""
    try:
        moments = run_statistic(query)
    except EmptyRound:
        P = sum(len(column.encoded_names) for column in columns)
        _refuse_few(columns, np.zeros(P), min_count, query)
        raise
    _refuse_few(columns, moments.count, min_count, query)
    hot = [bool(column.categories) for column in columns for _ in column.encoded_names]
    return moments.coarsen(min_count, np.array(hot, dtype=float)) if rounded else moments


def _with_noise(tier: Tier, channel: Channel, schema: Schema, *, whole_rows: bool) -> AnyAlgorithm:
    """Means and variances with the noise that they must expect."""
    query = BoundedMoments(1, *schema.box(), whole_rows)
    n_clients = len(tuple(channel.clients()))
    noise = tier.noise(query, n_clients) * query.sensitivity(Empty()) / STEPS
    return replace(query, noise=noise)


def _weight_of(columns: Sequence[Column], spread: FloatArray) -> float:
    """Half the mean standard deviation of the numbers (Huang, 1998); 1 without numbers."""
    numbers = np.array([not c.categories for c in columns for _ in c.encoded_names])
    weight = _HALF * float(spread[numbers].mean()) if numbers.any() else 1.0
    return weight if weight > 0 else 1.0


def _check_settings(columns: Sequence[Column], scaling: str, missing: str) -> None:
    if scaling not in SCALINGS:
        raise ConfigError(f"scaling must be one of {', '.join(SCALINGS)}, got {scaling!r}")
    if missing not in MISSING:
        raise ConfigError(f"missing must be one of {', '.join(MISSING)}, got {missing!r}")
    if not columns:
        raise ConfigError("no columns to cluster by; give at least one")


def _refuse_few(
    columns: Sequence[Column], count: FloatArray, min_count: int, query: Moments
) -> None:
    """Refuse columns of so few values that their mean would reveal them."""
    names = [name for column in columns for name in column.encoded_names]
    few = [name for name, n in zip(names, count, strict=True) if n < min_count]
    if few and query.whole_rows:  # the same rows count for all columns
        raise DataError(
            f"fewer than min_count = {min_count} rows have a value in every column; leave out "
            'columns with many missing values, or set missing = "mean"'
        )
    if few:
        raise DataError(
            f"fewer than min_count = {min_count} values in column {', '.join(map(repr, few))}; "
            "leave it out"
        )


def _scale(
    columns: Sequence[Column],
    run_statistic: RunStatistic,
    query: Moments,
    moments: Any,
    scaling: str,
    min_count: int,
) -> tuple[FloatArray, FloatArray]:
    P = len(moments.mean)
    by_encoded = [column for column in columns for _ in column.encoded_names]
    numbers = np.array([not column.categories for column in by_encoded])
    offset: FloatArray = np.zeros(P)
    scale: FloatArray = np.ones(P)
    if scaling == "standard":
        offset, scale = moments.mean.copy(), np.sqrt(moments.variance)
    elif scaling == "min-max":
        low, high = _range(by_encoded, run_statistic, query, moments, min_count)
        offset, scale = low, high - low
    # Categories are already 0 and 1, and constant columns cannot be scaled.
    flat = scale <= 1e-12 * np.maximum(np.abs(offset), 1e-300)
    return np.where(numbers, offset, 0.0), np.where(numbers & ~flat, scale, 1.0)


def _range(
    columns: Sequence[Column],
    run_statistic: RunStatistic,
    query: Moments,
    moments: Any,
    min_count: int,
) -> tuple[FloatArray, FloatArray]:
    """Public bounds if given, else outer quantiles; never the extreme value of a record."""
    low: FloatArray = np.zeros(len(columns))
    high: FloatArray = np.ones(len(columns))
    unknown = []
    for i, column in enumerate(columns):
        box = column.box
        if box is None:
            unknown.append(i)
        else:
            low[i], high[i] = box[0]  # all categories have the same bounds
    if unknown:  # otherwise no query is needed
        mean, spread = moments.mean[unknown], 8.0 * np.sqrt(moments.variance[unknown])
        histogram = Histogram(
            mean - spread,
            mean + spread,
            min_count=query.min_count,
            places=np.array(unknown),
            whole_rows=query.whole_rows,
        )
        counts = group_all_bins(run_statistic(histogram), min_count)
        low[unknown], high[unknown] = (histogram.quantile(counts, share) for share in _TAILS)
    return low, high
