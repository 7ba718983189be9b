"""What the report says of the clusters: all of it from merged messages, none of it from rows."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..clustering.model import Model
from ..clustering.rows import SCORING, Clustering
from ..core import AnyAlgorithm, Channel, EmptyRound, Run, Runner, Schema
from ..metrics import ClientCounts, ClusterShapes, Evaluation, Profile, reported_indices
from ..metrics.profile import ClusterShapeSums, ProfileSums
from ..privacy import Tier
from ..typing import FloatArray

_CELLS = (8, 32)  # along a side of the map: fewer where fewer rows would leave most of them empty
_REACH = 3.5  # standard deviations around clusters that the map shows


@dataclass(frozen=True, eq=False)
class Asker:
    """Questions about given centres, under the tier of the study."""

    channel: Channel
    schema: Schema
    tier: Tier
    runner: Runner
    min_count: int

    def __call__(self, algorithm: AnyAlgorithm, purpose: str) -> Run:
        """The run of a plan that asks for it."""
        plan = self.tier.plan(algorithm, self.channel, self.schema)
        return self.runner(replace(plan, purpose=purpose), self.channel, self.schema)

    @property
    def by_client(self) -> bool:
        """Whether clients may be told apart in an answer."""
        return not self.tier.sums_only


def profile_sums(found: Clustering, ask: Asker) -> ProfileSums:
    """Sizes, means and spreads of the clusters, in the order in which they were found."""
    C, P = found.centers.shape
    fuzzifier = vars(found.algorithm)["fuzzifier"] if found.algorithm.soft else 0.0
    asked = Profile(C, found.centers, fuzzifier, ask.min_count)
    if not ask.tier.noisy:  # where every answer would have to be paid for
        with suppress(EmptyRound):  # every cluster is too small, or too like what was told
            sums: ProfileSums = ask(asked, "profile").model
            return sums
    return ProfileSums.none(C, P)


def profile(model: Model, sums: ProfileSums, ask: Asker) -> dict[str, Any]:
    """Clusters in their own units, a map, and how many rows each client has where."""
    P, drawn = model.centers.shape[1], None
    if P > 1 and not ask.tier.noisy:
        with suppress(EmptyRound):  # every cluster is too small to be described
            drawn = _map(model, sums, ask)
    by_client = drawn.pop("sizes") if drawn else _sizes_only(model, ask)
    return {
        "minimum": ask.min_count,
        "clusters": _clusters(model, sums, by_client),
        "map": drawn,
    }


def _clusters(
    model: Model, sums: ProfileSums, by_client: Mapping[str, FloatArray]
) -> list[dict[str, Any]]:
    held = np.maximum(sums.size, 1.0)[:, None]
    means = model.centers + sums.total / held
    spread = np.sqrt(np.maximum(sums.square / held - (sums.total / held) ** 2, 0.0))
    overall = _overall(model, sums)
    overall_spread = np.sqrt(_between(model, sums).diagonal() + _within(sums))
    if not sums.size.any():  # nobody tells of all rows
        overall, overall_spread = np.full((2, len(overall)), np.nan)
    told = []
    for c, id in enumerate(model.ids):
        known = sums.size[c] > 0  # else: too few rows at every client, or none at all
        spoken = spread[c] if known else np.full(len(overall), np.nan)
        soft = known and model.fuzzifier is not None
        told.append(
            {
                "id": id,
                "size": model.sizes[c],
                "by_client": {client: int(sizes[c]) or None for client, sizes in by_client.items()},
                "features": _features(model, means[c], spoken, overall, overall_spread),
                "entropy": float(sums.entropy[c] / sums.size[c]) if soft else None,
            }
        )
    return told


def _overall(model: Model, sums: ProfileSums) -> FloatArray:
    """The mean of all rows that the sums speak of."""
    total: FloatArray = sums.size @ model.centers + sums.total.sum(axis=0)
    mean: FloatArray = total / max(sums.size.sum(), 1.0)
    return mean


def _between(model: Model, sums: ProfileSums) -> FloatArray:
    """Covariance of the clusters' means, by their rows."""
    held = np.maximum(sums.size, 1.0)[:, None]
    apart = model.centers + sums.total / held - _overall(model, sums)
    found: FloatArray = (apart.T * sums.size) @ apart / max(sums.size.sum(), 1.0)
    return found


def _within(sums: ProfileSums) -> FloatArray:
    """Variances of the columns within clusters."""
    held = np.maximum(sums.size, 1.0)[:, None]
    squares = np.maximum(sums.square - sums.total**2 / held, 0.0).sum(axis=0)
    found: FloatArray = squares / max(sums.size.sum(), 1.0)
    return found


def _features(
    model: Model,
    mean: FloatArray,
    spread: FloatArray,
    overall: FloatArray,
    overall_spread: FloatArray,
) -> list[dict[str, Any]]:
    ready = model.preparation
    means, overalls = ready.in_units(mean[None])[0], ready.in_units(overall[None])[0]
    # Half of what lies between one spread below and above: of a logarithm, too.
    spreads, overall_spreads = (
        (ready.in_units((m + s)[None])[0] - ready.in_units((m - s)[None])[0]) / 2
        for m, s in ((mean, spread), (overall, overall_spread))
    )
    units = [column.unit for column in ready.columns for _ in column.encoded_names]
    effect = (mean - overall) / np.where(overall_spread > 0, overall_spread, 1.0)
    return [
        {
            "name": name,
            "unit": units[p],
            "mean": float(means[p]),
            "sd": _known(spreads[p]),
            "overall_mean": _known(overalls[p]),
            "overall_sd": _known(overall_spreads[p]),
            "effect": _known(effect[p]),
        }
        for p, name in enumerate(ready.names)
    ]


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _map(model: Model, sums: ProfileSums, ask: Asker) -> dict[str, Any]:
    C = len(model.centers)
    between, within = _between(model, sums), _within(sums)
    # How columns vary together within clusters nobody tells: it takes sums over all rows.
    axes = np.linalg.eigh(between + np.diag(within))[1][:, ::-1][:, :2]
    axes = axes * np.where(axes[np.abs(axes).argmax(axis=0), [0, 1]] < 0, -1.0, 1.0)
    found: ClusterShapeSums = ask(ClusterShapes(C, model.centers, axes, ask.min_count), "map").model
    ellipses = _ellipses(model, found, axes)
    shares = _variance(model.centers @ axes, found) / max((between.trace() + within.sum()), 1e-300)
    low, high = _frame(ellipses, model.centers @ axes)
    counted, cells = _presence(model, axes, (low, high), ask)
    names = model.preparation.names
    return {
        "axes": [
            {"share": float(share), "loadings": dict(zip(names, axis.tolist(), strict=True))}
            for share, axis in zip(shares, axes.T, strict=True)
        ],
        "ellipses": ellipses,
        "grid": {
            "x": np.linspace(low[0], high[0], cells + 1).tolist(),
            "y": np.linspace(low[1], high[1], cells + 1).tolist(),
            "clients": counted["cells"],
        },
        "sizes": counted["sizes"],
    }


def _variance(centers: FloatArray, found: ClusterShapeSums) -> FloatArray:
    """Of all rows, along the two axes."""
    n, held = max(found.size.sum(), 1.0), np.maximum(found.size, 1.0)[:, None]
    means = centers + found.total / held
    own = found.square.diagonal(axis1=1, axis2=2).sum(axis=0) - (found.total**2 / held).sum(axis=0)
    apart = means - found.size @ means / n
    variance: FloatArray = (np.maximum(own, 0.0) + found.size @ apart**2) / n
    return variance


def _ellipses(model: Model, found: ClusterShapeSums, axes: FloatArray) -> list[dict[str, Any]]:
    drawn = []
    for c, id in enumerate(model.ids):
        if found.size[c] == 0:
            continue
        mean = found.total[c] / found.size[c]
        spread = found.square[c] / found.size[c] - np.outer(mean, mean)
        values, vectors = np.linalg.eigh(spread)
        radii = np.sqrt(np.maximum(values[::-1], 0.0))
        angle = float(np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1])))
        center = model.centers[c] @ axes + mean
        drawn.append({"id": id, "center": center.tolist(), "radii": radii.tolist(), "angle": angle})
    return drawn


def _frame(
    ellipses: Sequence[Mapping[str, Any]], centers: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The part of the plane that is shown: clusters and their reach, not anybody's extremes."""
    middles = np.array([e["center"] for e in ellipses] or centers)
    reach = _REACH * np.array([[max(e["radii"])] for e in ellipses] or [[1.0]])
    low, high = (middles - reach).min(axis=0), (middles + reach).max(axis=0)
    flat = high - low < 1e-9
    return np.where(flat, low - 1.0, low), np.where(flat, high + 1.0, high)


def _presence(
    model: Model, axes: FloatArray, frame: tuple[FloatArray, FloatArray], ask: Asker
) -> tuple[dict[str, dict[str, Any]], int]:
    """Counts of each client's rows, and how many cells a side of the map has."""
    side = int(np.clip(np.sqrt(sum(n or 0 for n in model.sizes) / (2 * ask.min_count)), *_CELLS))
    if not ask.by_client:
        return {"sizes": {}, "cells": {}}, side
    asked = ClientCounts(len(model.ids), model.centers, axes, *frame, side, ask.min_count)
    done = ask(asked, "counts")
    clients = sorted(c for c, size in done.sent.items() if size)  # stacked in the order of ids
    counted = {
        "sizes": dict(zip(clients, done.model.sizes, strict=True)),
        # Rows of the picture are the second axis.
        "cells": {
            client: grid.reshape(side, side).T.astype(int).tolist()
            for client, grid in zip(clients, done.model.cells, strict=True)
        },
    }
    return counted, side


def _sizes_only(model: Model, ask: Asker) -> dict[str, FloatArray]:
    """Where no map is drawn clients still have sizes."""
    P, far = model.centers.shape[1], np.full(2, 1e6)
    counted, _ = _presence(model, np.eye(P, 2), (-far, far), ask)
    return counted["sizes"]


def quality(found: Clustering, pooled: FloatArray | None, ask: Asker) -> list[dict[str, Any]]:
    """Indices of the centres found, and of those that pooling would have given, if known."""
    if len(found.centers) < 2 or ask.tier.noisy or ask.tier.guards:
        return []
    fuzzifier = vars(found.algorithm).get("fuzzifier", 2.0)
    indices = reported_indices(len(found.centers))

    def scores(centers: FloatArray) -> dict[str, float]:
        asked = Evaluation(len(centers), centers, tuple(i.name for i in indices), fuzzifier)
        values: dict[str, float] = ask(asked, SCORING).model.indices
        return values

    values = scores(found.centers)
    expected: Mapping[str, float] = {}
    if pooled is not None:
        expected = values if pooled is found.centers else scores(pooled)
    return [
        {
            "index": index.name,
            "value": values[index.name],
            "pooled": expected.get(index.name),
            "better": index.better,
        }
        for index in indices
    ]
