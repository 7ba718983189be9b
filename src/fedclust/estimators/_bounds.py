"""Bounds of an estimator's features: public ones, or estimated from counts of all clients."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..algorithms.range_grid import WIDEST
from ..channels import LocalChannel
from ..clustering.preparation import ESTIMATE
from ..clustering.preparation.ranges import find_ranges
from ..core import ConfigError, Data, DataError, Runner, Schema
from ..tiers import Tier
from ..typing import FloatArray
from ._rows import Rows


def is_estimate(bounds: Any) -> bool:
    """Whether bounds are to be estimated."""
    return isinstance(bounds, str) and bounds == ESTIMATE


def given_bounds(bounds: Any, tier: Tier, F: int) -> tuple[FloatArray | None, FloatArray | None]:
    """Public bounds of F features; a refusal if the tier needs them and there are none."""
    if bounds is None and tier.sums_only:
        raise ConfigError(
            f"privacy={tier.name!r} needs public bounds of the features; pass bounds=(low, "
            f"high), each a number or {F} numbers, which must not be computed from the data, or "
            f"bounds={ESTIMATE!r}"
        )
    if bounds is None or is_estimate(bounds):
        return None, None
    try:
        low, high = (np.broadcast_to(np.asarray(b, dtype=float), (F,)) for b in bounds)
    except (TypeError, ValueError):
        raise ConfigError(
            f"bounds must be (low, high), each a number or {F} numbers, or {ESTIMATE!r}"
        ) from None
    if not (np.isfinite(low).all() and np.isfinite(high).all() and (low < high).all()):
        raise ConfigError(
            "bounds: low and high must be finite, and low below high, in every column"
        )
    return low, high


def check_within(rows: Mapping[str, Data], schema: Schema, names: Sequence[str]) -> None:
    """Refuse rows beyond public bounds: the server takes their sums for those of a liar."""
    if schema.low is None or schema.high is None:
        return
    for client, data in rows.items():
        if not len(data):
            continue
        lowest, highest = data.extent
        for j in np.flatnonzero((lowest < schema.low) | (highest > schema.high)).tolist():
            raise DataError(
                f"client {client!r}: column {names[j]!r} has values outside its public bounds "
                f"[{schema.low[j]:g}, {schema.high[j]:g}]; widen them or correct the data"
            )


def estimated_bounds(
    rows: Mapping[str, Data], schema: Schema, tier: Tier, runner: Runner
) -> tuple[FloatArray, FloatArray]:
    """Bounds from counts in bins; columns of categories are from 0 to 1."""
    F, blocks = schema.n_features, schema.blocks
    numbers = np.ones(F, dtype=bool) if blocks is None else np.asarray(blocks == 0)
    low, high = np.where(numbers, -WIDEST, 0.0), np.where(numbers, WIDEST, 1.0)
    wide = {name: replace(data, X=np.clip(data.X, low, high)) for name, data in rows.items()}
    places = np.flatnonzero(numbers)
    if not len(places):
        return low, high
    wide_schema = Schema(F, low=low, high=high, missing=True)
    found = find_ranges(wide_schema, places, LocalChannel(wide), tier, runner=runner)
    if np.isnan(found.low).any():
        listed = ", ".join(map(str, places[np.isnan(found.low)].tolist()))
        raise DataError(
            f"too few values to estimate the bounds of column {listed}"
            f"{' under this noise' if tier.noisy else ''}; pass bounds=(low, high)"
        )
    low[places], high[places] = found.low, found.high
    return low, high


def clip(rows: Rows, low: FloatArray, high: FloatArray, device: str) -> Rows:
    """The rows with values beyond the bounds moved to the nearest bound, on a device."""
    clients = {
        name: replace(data, X=np.clip(data.X, low, high)) for name, data in rows.by_client.items()
    }
    clipped = replace(rows, by_client=clients, tables=[np.clip(X, low, high) for X in rows.tables])
    return clipped.put_on(device)
