"""From columns as owners have them to rows that can be clustered, and back to their units."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from ...channels import LocalChannel
from ...core import (
    AnyAlgorithm,
    Channel,
    ConfigError,
    Data,
    DataError,
    EmptyRound,
    Runner,
    Schema,
    run,
)
from ...data.frames import columns_of
from ...results import build, to_json
from ...tiers import Privacy, tier_of
from ...typing import BoolArray, FloatArray
from .column import Column
from .statistics import Histogram, MedianOfMeans, Moments

SCALINGS = ("standard", "min-max", "none")
MISSING = ("drop", "mean", "median-of-means")
Found = Callable[[AnyAlgorithm], Any]  # what a statistic is over all clients
_TAILS = (0.01, 0.99)  # min-max without public bounds: quantiles, for extremes are people's values


@dataclass(frozen=True, eq=False)
class Preparation:
    """What both sides apply, once it is known: part of the model."""

    columns: tuple[Column, ...]
    offset: FloatArray  # (P,)
    scale: FloatArray  # (P,) above zero
    fill: FloatArray | None  # (P,) what stands for a missing value; None: such rows are left out

    def apply(self, table: Any, client: str = "this client") -> tuple[FloatArray, BoolArray]:
        """Rows ready to be clustered, and which of the table's rows they are."""
        return self.scale_rows(encoded(self.columns, table, client))

    def scale_rows(self, rows: FloatArray) -> tuple[FloatArray, BoolArray]:
        """The same from columns that are encoded already."""
        gaps = np.isnan(rows)
        kept: BoolArray = np.ones(len(rows), dtype=bool)
        if self.fill is None:
            kept = np.asarray(~gaps.any(axis=1))
            rows = rows[kept]
        else:
            rows = np.where(gaps, self.fill, rows)
        return np.ascontiguousarray((rows - self.offset) / self.scale), kept

    def in_units(self, centers: FloatArray) -> FloatArray:
        """Centres in the columns' own units; of a logarithm, its exponential."""
        found: FloatArray = centers * self.scale + self.offset
        for place, column in enumerate(self._by_encoded()):
            if column.log:
                found[:, place] = np.exp(found[:, place])
        return found

    def _by_encoded(self) -> list[Column]:
        return [column for column in self.columns for _ in column.encoded_names]

    @property
    def names(self) -> list[str]:
        """Names of the prepared columns."""
        return [name for column in self.columns for name in column.encoded_names]

    def schema(self) -> Schema:
        """Of prepared rows, with public bounds if every column has some."""
        boxes = [column.box for column in self.columns]
        known = [box for box in boxes if box is not None]
        if len(known) < len(boxes):
            return Schema(len(self.names))
        low, high = (np.vstack(known).T - self.offset) / self.scale
        return Schema(len(self.names), low=low, high=high)

    def as_config(self) -> dict[str, Any]:
        """Plain values, for a file."""
        config: dict[str, Any] = to_json(self)
        return config

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """Inverse of `as_config`."""
        return build(cls, config, "preparation")


def encoded(columns: Sequence[Column], table: Any, client: str) -> FloatArray:
    """A client's columns as numbers, gaps and all: nothing here needs to be known of others."""
    given = columns_of(table, client)
    absent = [column.name for column in columns if column.name not in given]
    if absent:
        raise DataError(f"{client}: there is no column {', '.join(map(repr, absent))}")
    parts = [column.encoded(given[column.name], client) for column in columns]
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
) -> Preparation:
    """Learn from all clients together what each will do to its rows.

    A client's table is a data frame, or a mapping of names to values.
    """
    _known(columns, scaling, missing)
    data = {
        name: Data(encoded(columns, table, f"client {name!r}"), np.empty(0))
        for name, table in tables.items()
    }
    return prepare_over(
        columns,
        LocalChannel(data),
        scaling=scaling,
        missing=missing,
        min_count=min_count,
        privacy=privacy,
    )


def by_bounds(columns: Sequence[Column]) -> Preparation:
    """Every column from 0 to 1 within its public bounds: nobody is asked, gaps are left out."""
    boxes = []
    for column in columns:
        box = column.box
        if box is None:
            raise ConfigError(f"column {column.name!r} has no public bounds: give low and high")
        boxes.append(box)
    low, high = np.vstack(boxes).T
    return Preparation(tuple(columns), low, high - low, None)


def prepare_over(
    columns: Sequence[Column],
    channel: Channel,
    *,
    scaling: str = "standard",
    missing: str = "drop",
    min_count: int = 5,
    privacy: Privacy = "none",
    runner: Runner = run,
) -> Preparation:
    """The same over a channel to the clients' encoded columns, gaps and all."""
    _known(columns, scaling, missing)
    P = sum(len(column.encoded_names) for column in columns)

    tier, schema = tier_of(privacy), Schema(P)

    def found(statistic: AnyAlgorithm, purpose: str = "") -> Any:
        plan = replace(tier.plan(statistic, channel, schema), purpose=purpose)
        return runner(plan, channel, schema).model

    # Where clients guard differences, rows that are left out later must not be in the scale.
    asked = Moments(min_count=min_count, whole_rows=tier.guards and missing == "drop")
    try:
        moments = found(asked)
    except EmptyRound:
        raise DataError(
            f"no client has {min_count} values in any column: fewer would tell of single people"
        ) from None
    names = [name for column in columns for name in column.encoded_names]
    _refuse_unknown(names, moments.count)
    fill = None
    if missing != "drop":
        fill = moments.mean
        if missing == "median-of-means":
            fill = found(MedianOfMeans(min_count=max(2, min_count)), "filling gaps")
    offset, scale = _scale(columns, found, asked, moments, scaling)
    return Preparation(tuple(columns), offset, scale, fill)


def _known(columns: Sequence[Column], scaling: str, missing: str) -> None:
    if scaling not in SCALINGS:
        raise ConfigError(f"scaling must be one of {', '.join(SCALINGS)}, got {scaling!r}")
    if missing not in MISSING:
        raise ConfigError(f"missing must be one of {', '.join(MISSING)}, got {missing!r}")
    if not columns:
        raise ConfigError("there is no column to cluster by")


def _refuse_unknown(names: Sequence[str], count: FloatArray) -> None:
    empty = [name for name, n in zip(names, count, strict=True) if n == 0]
    if empty:
        raise DataError(
            f"no client has values enough in column {', '.join(map(repr, empty))}; leave it out"
        )


def _scale(
    columns: Sequence[Column], found: Found, asked: Moments, moments: Any, scaling: str
) -> tuple[FloatArray, FloatArray]:
    P = len(moments.mean)
    by_encoded = [column for column in columns for _ in column.encoded_names]
    numbers = np.array([not column.categories for column in by_encoded])
    offset: FloatArray = np.zeros(P)
    scale: FloatArray = np.ones(P)
    if scaling == "standard":
        offset, scale = moments.mean.copy(), np.sqrt(moments.variance)
    elif scaling == "min-max":
        low, high = _range(by_encoded, found, asked, moments)
        offset, scale = low, high - low
    # Categories are 0 and 1 already, and what does not vary cannot be stretched.
    flat = scale <= 1e-12 * np.maximum(np.abs(offset), 1e-300)
    return np.where(numbers, offset, 0.0), np.where(numbers & ~flat, scale, 1.0)


def _range(
    columns: Sequence[Column], found: Found, asked: Moments, moments: Any
) -> tuple[FloatArray, FloatArray]:
    """Public bounds where there are any, else outer quantiles; never somebody's extreme value."""
    low: FloatArray = np.zeros(len(columns))
    high: FloatArray = np.ones(len(columns))
    unknown = []
    for place, column in enumerate(columns):
        box = column.box
        if box is None:
            unknown.append(place)
        else:
            low[place], high[place] = box[0]  # of categories, all are the same
    if unknown:  # else nobody is asked
        mean, spread = moments.mean[unknown], 8.0 * np.sqrt(moments.variance[unknown])
        binned = Histogram(
            mean - spread,
            mean + spread,
            min_count=asked.min_count,
            places=np.array(unknown),
            whole_rows=asked.whole_rows,
        )
        counts = found(binned)
        low[unknown], high[unknown] = (binned.quantile(counts, share) for share in _TAILS)
    return low, high
