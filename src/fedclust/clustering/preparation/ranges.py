"""Bounds of columns that have none, estimated from counts of values in bins of all clients."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...algorithms.range_counts import RangeCounts, RangeState
from ...algorithms.range_grid import TAIL, WIDEST
from ...core import Channel, DataError, EmptyRound, Runner, Schema, run
from ...tiers import Privacy, Tier, tier_of
from ...typing import FloatArray, IntArray
from .column import Column

ESTIMATE = "estimate"
PURPOSE = "estimating bounds"
_SMALLEST_LOGGED = 1e-300  # a column with log has no smaller values


@dataclass(frozen=True)
class ColumnRange:
    """The estimated bounds of a column, and how many values lie beyond them."""

    column: Column  # with the bounds
    beyond: float  # values
    count: float  # values of the column


def widen(columns: Sequence[Column]) -> tuple[Column, ...]:
    """The columns with bounds that hold any value in place of those that are to be found."""
    return tuple(
        replace(
            column,
            low=_SMALLEST_LOGGED if column.log else -WIDEST,
            high=WIDEST,
            clip=True,
        )
        if column.box is None
        else column
        for column in columns
    )


def estimate_bounds(
    columns: Sequence[Column],
    channel: Channel,
    *,
    whole_rows: bool = False,
    min_count: int = TAIL,
    privacy: Privacy = "none",
    runner: Runner = run,
) -> tuple[ColumnRange, ...]:
    """Bounds of the columns that have none, over a channel to the `widen`ed columns, encoded.

    At least five values, or `min_count`, lie in the outermost bins or beyond them, so no bound is
    the value of a single record. With `whole_rows`, only rows without missing values count.
    """
    wide = widen(columns)
    boxes = [column.box for column in wide]
    low, high = np.vstack([box for box in boxes if box is not None]).T
    places = find_places(columns)
    tier, schema = tier_of(privacy), Schema(len(low), low=low, high=high)
    found = find_ranges(
        schema, places, channel, tier, whole_rows=whole_rows, min_count=min_count, runner=runner
    )
    names = [column.name for column in columns if column.box is None]
    _refuse_unknown(names, found, noisy=tier.noisy)
    unknown = iter(range(len(places)))
    return tuple(_with_bounds(c, found, next(unknown)) for c in columns if c.box is None)


def find_places(columns: Sequence[Column]) -> IntArray:
    """Positions of the encoded columns without bounds."""
    places, first = [], 0
    for column in columns:
        if column.box is None:
            places.append(first)
        first += len(column.encoded_names)
    return np.array(places, dtype=np.int64)


def find_ranges(
    schema: Schema,
    places: IntArray,
    channel: Channel,
    tier: Tier,
    *,
    whole_rows: bool = False,
    min_count: int = TAIL,
    runner: Runner = run,
) -> RangeState:
    """The ranges of some columns under a tier; NaN where there are too few values."""
    channel = tier.channel(channel)
    tail = max(TAIL, min_count)
    query = RangeCounts(1, *schema.box(), places, whole_rows, tail, tier.alike)
    noise = tier.noise(query, len(tuple(channel.clients()))) * float(np.sqrt(len(places)))
    query = replace(query, noise=noise)
    plan = replace(tier.plan(query, channel, schema), purpose=PURPOSE)
    try:
        found: RangeState = runner(plan, channel, schema).model
    except EmptyRound:
        unknown, none = np.full(len(places), np.nan), np.zeros(len(places))
        found = RangeState(0, True, unknown[:, None], unknown, unknown, none, none, none)
    return found


def _refuse_unknown(names: Sequence[str], found: RangeState, *, noisy: bool) -> None:
    few = [name for name, low in zip(names, found.low.tolist(), strict=True) if np.isnan(low)]
    if few:
        raise DataError(
            f"too few values to estimate the bounds of column {', '.join(map(repr, few))}"
            f"{' under this noise' if noisy else ''}; give low and high under [features]"
            f"{', or use a larger epsilon' if noisy else ''}"
        )


def _with_bounds(column: Column, found: RangeState, place: int) -> ColumnRange:
    low, high = _in_units(column, found.low[place]), _in_units(column, found.high[place])
    beyond = float(found.below[place] + found.above[place])
    return ColumnRange(
        replace(column, low=low, high=high, clip=True), beyond, float(found.count[place])
    )


def _in_units(column: Column, value: FloatArray | float) -> float:
    return float(np.exp(value)) if column.log else float(value)


def declared(column: Column) -> Column:
    """The column without estimated bounds."""
    return replace(column, low=None, high=None, clip=False) if column.clip else column


def limit_bounds(column: Column, own: tuple[float, float] | None) -> Column:
    """The column with estimated bounds that go no farther than the owner's."""
    if own is None or not column.clip or column.low is None or column.high is None:
        return column
    return replace(column, low=max(column.low, own[0]), high=min(column.high, own[1]))
