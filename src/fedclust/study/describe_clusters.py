"""Describe clusters from merged messages: sizes, features, a map, and quality."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..clustering.model import Model
from ..clustering.rows import SCORING, Clustering
from ..core import AnyAlgorithm, Channel, EmptyRound, Run, Runner, Schema
from ..metrics import ClientCounts, ClusterShapes, Evaluation, Profile, reported_indices
from ..metrics.profile import ClusterShapeSums, ProfileSums
from ..results import (
    ClusterMap,
    ClusterProfile,
    Ellipse,
    FeatureProfile,
    MapAxis,
    MapGrid,
    QualityRecord,
)
from ..tiers import Tier
from ..typing import FloatArray

_CELLS = (8, 32)  # minimum and maximum number of cells along a side of the map
_REACH = 3.5  # standard deviations around clusters that the map shows


Cells = tuple[tuple[int, ...], ...]  # counts of rows, a row of cells for each y


@dataclass(frozen=True, eq=False)
class ClusterQueries:
    """Queries about given centres, under the tier of the study."""

    channel: Channel
    schema: Schema
    tier: Tier
    runner: Runner
    min_count: int

    def run(self, algorithm: AnyAlgorithm, purpose: str) -> Run:
        """Run a plan that computes a statistic of the clusters."""
        plan = self.tier.plan(algorithm, self.channel, self.schema)
        return self.runner(replace(plan, purpose=purpose), self.channel, self.schema)

    @property
    def by_client(self) -> bool:
        """Whether answers may differ between clients."""
        return not self.tier.sums_only


class _ClientCounts(NamedTuple):
    """Counts of each client's rows, in clusters and in cells of the map."""

    sizes: Mapping[str, FloatArray]
    cells: Mapping[str, Cells]
    side: int  # cells along a side of the map


def sum_clusters(found: Clustering, queries: ClusterQueries) -> ProfileSums:
    """Sizes, means and spreads of the clusters, in the order of the centres."""
    C, P = found.centers.shape
    fuzzifier = found.algorithm.parameter("fuzzifier") if found.algorithm.soft else 0.0
    profile = Profile(C, found.centers, fuzzifier, queries.min_count)
    if not queries.tier.noisy:  # with noise, every answer would spend privacy budget
        with suppress(
            EmptyRound
        ):  # every cluster is too small, or its sums are too close to earlier ones
            sums: ProfileSums = queries.run(profile, "profile").model
            return sums
    return ProfileSums.zeros(C, P)


def describe_clusters(
    model: Model, sums: ProfileSums, queries: ClusterQueries
) -> tuple[tuple[ClusterProfile, ...], ClusterMap | None]:
    """Clusters in the units of the columns, their sizes at each client, and the map, if any."""
    drawn = None
    if model.centers.shape[1] > 1 and not queries.tier.noisy:
        with suppress(EmptyRound):  # every cluster is too small to be described
            drawn, sizes = _draw_map(model, sums, queries)
    if drawn is None:
        sizes = _count_sizes(model, queries)
    return _describe(model, sums, sizes), drawn


def _describe(
    model: Model, sums: ProfileSums, by_client: Mapping[str, FloatArray]
) -> tuple[ClusterProfile, ...]:
    held = np.maximum(sums.size, 1.0)[:, None]
    means = model.centers + sums.total / held
    spread = np.sqrt(np.maximum(sums.square / held - (sums.total / held) ** 2, 0.0))
    overall = _overall(model, sums)
    overall_spread = np.sqrt(_between(model, sums).diagonal() + _within(sums))
    if not sums.size.any():  # no client reported sums
        overall, overall_spread = np.full((2, len(overall)), np.nan)
    clusters = []
    for c, id in enumerate(model.ids):
        known = sums.size[c] > 0  # otherwise every client has too few rows of it
        own_spread = spread[c] if known else np.full(len(overall), np.nan)
        soft = known and model.fuzzifier is not None
        clusters.append(
            ClusterProfile(
                id=id,
                size=model.sizes[c],
                by_client={client: int(sizes[c]) or None for client, sizes in by_client.items()},
                features=_describe_features(model, means[c], own_spread, overall, overall_spread),
                entropy=float(sums.entropy[c] / sums.size[c]) if soft else None,
            )
        )
    return tuple(clusters)


def _overall(model: Model, sums: ProfileSums) -> FloatArray:
    """The mean of all rows in the sums."""
    total: FloatArray = sums.size @ model.centers + sums.total.sum(axis=0)
    mean: FloatArray = total / max(sums.size.sum(), 1.0)
    return mean


def _between(model: Model, sums: ProfileSums) -> FloatArray:
    """Covariance of the clusters' means, weighted by their rows."""
    held = np.maximum(sums.size, 1.0)[:, None]
    apart = model.centers + sums.total / held - _overall(model, sums)
    covariance: FloatArray = (apart.T * sums.size) @ apart / max(sums.size.sum(), 1.0)
    return covariance


def _within(sums: ProfileSums) -> FloatArray:
    """Variances of the columns within clusters."""
    held = np.maximum(sums.size, 1.0)[:, None]
    squares = np.maximum(sums.square - sums.total**2 / held, 0.0).sum(axis=0)
    variances: FloatArray = squares / max(sums.size.sum(), 1.0)
    return variances


def _describe_features(
    model: Model,
    mean: FloatArray,
    spread: FloatArray,
    overall: FloatArray,
    overall_spread: FloatArray,
) -> tuple[FeatureProfile, ...]:
    ready = model.preparation
    means, overalls = ready.in_units(mean[None])[0], ready.in_units(overall[None])[0]
    # Half the distance from one spread below to one above, which also works for logarithms.
    spreads, overall_spreads = (
        (ready.in_units((m + s)[None])[0] - ready.in_units((m - s)[None])[0]) / 2
        for m, s in ((mean, spread), (overall, overall_spread))
    )
    units = [column.unit for column in ready.columns for _ in column.encoded_names]
    effect = (mean - overall) / np.where(overall_spread > 0, overall_spread, 1.0)
    return tuple(
        FeatureProfile(
            name=name,
            unit=units[p],
            mean=float(means[p]),
            sd=_known(spreads[p]),
            overall_mean=_known(overalls[p]),
            overall_sd=_known(overall_spreads[p]),
            effect=_known(effect[p]),
        )
        for p, name in enumerate(ready.names)
    )


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _draw_map(
    model: Model, sums: ProfileSums, queries: ClusterQueries
) -> tuple[ClusterMap, Mapping[str, FloatArray]]:
    """The map, and the clusters' sizes at each client."""
    C, names = len(model.centers), model.preparation.names
    between, within = _between(model, sums), _within(sums)
    # Covariances within clusters are left out: they would need another query.
    axes = np.linalg.eigh(between + np.diag(within))[1][:, ::-1][:, :2]
    axes = axes * np.where(axes[np.abs(axes).argmax(axis=0), [0, 1]] < 0, -1.0, 1.0)
    shapes = ClusterShapes(C, model.centers, axes, queries.min_count)
    found: ClusterShapeSums = queries.run(shapes, "map").model
    ellipses = _draw_ellipses(model, found, axes)
    shares = _variance(model.centers @ axes, found) / max((between.trace() + within.sum()), 1e-300)
    low, high = _frame(ellipses, model.centers @ axes)
    counts = _count_rows(model, axes, (low, high), queries)
    first, second = (
        MapAxis(float(share), dict(zip(names, axis.tolist(), strict=True)))
        for share, axis in zip(shares, axes.T, strict=True)
    )
    x, y = (np.linspace(low[d], high[d], counts.side + 1).tolist() for d in (0, 1))
    grid = MapGrid(tuple(x), tuple(y), counts.cells)
    return ClusterMap((first, second), ellipses, grid), counts.sizes


def _variance(centers: FloatArray, found: ClusterShapeSums) -> FloatArray:
    """Variance of all rows along the two axes."""
    n, held = max(found.size.sum(), 1.0), np.maximum(found.size, 1.0)[:, None]
    means = centers + found.total / held
    own = found.square.diagonal(axis1=1, axis2=2).sum(axis=0) - (found.total**2 / held).sum(axis=0)
    apart = means - found.size @ means / n
    variance: FloatArray = (np.maximum(own, 0.0) + found.size @ apart**2) / n
    return variance


def _draw_ellipses(model: Model, found: ClusterShapeSums, axes: FloatArray) -> tuple[Ellipse, ...]:
    drawn = []
    for c, id in enumerate(model.ids):
        if found.size[c] == 0:
            continue
        mean = found.total[c] / found.size[c]
        spread = found.square[c] / found.size[c] - np.outer(mean, mean)
        values, vectors = np.linalg.eigh(spread)
        a, b = np.sqrt(np.maximum(values[::-1], 0.0)).tolist()
        angle = float(np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1])))
        x, y = (model.centers[c] @ axes + mean).tolist()
        drawn.append(Ellipse(id=id, center=(x, y), radii=(a, b), angle=angle))
    return tuple(drawn)


def _frame(ellipses: Sequence[Ellipse], centers: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The part of the plane that the map shows: clusters and their surroundings, not all rows."""
    middles = np.array([e.center for e in ellipses] or centers)
    reach = _REACH * np.array([[max(e.radii)] for e in ellipses] or [[1.0]])
    low, high = (middles - reach).min(axis=0), (middles + reach).max(axis=0)
    flat = high - low < 1e-9
    return np.where(flat, low - 1.0, low), np.where(flat, high + 1.0, high)


def _count_rows(
    model: Model, axes: FloatArray, frame: tuple[FloatArray, FloatArray], queries: ClusterQueries
) -> _ClientCounts:
    n_rows = sum(n or 0 for n in model.sizes)
    side = int(np.clip(np.sqrt(n_rows / (2 * queries.min_count)), *_CELLS))
    if not queries.by_client:
        return _ClientCounts({}, {}, side)
    counts = ClientCounts(len(model.ids), model.centers, axes, *frame, side, queries.min_count)
    done = queries.run(counts, "counts")
    clients = sorted(c for c, size in done.sent.items() if size)  # stacked in the order of ids
    sizes = dict(zip(clients, done.model.sizes, strict=True))
    cells = {
        client: tuple(map(tuple, grid.reshape(side, side).T.astype(int).tolist()))
        for client, grid in zip(clients, done.model.cells, strict=True)
    }
    return _ClientCounts(sizes, cells, side)


def _count_sizes(model: Model, queries: ClusterQueries) -> Mapping[str, FloatArray]:
    """The clusters' sizes at each client, where no map is drawn."""
    P, far = model.centers.shape[1], np.full(2, 1e6)
    return _count_rows(model, np.eye(P, 2), (-far, far), queries).sizes


def measure_quality(
    found: Clustering, pooled: FloatArray | None, queries: ClusterQueries
) -> tuple[QualityRecord, ...]:
    """Indices of the centres, and of the centres of pooled rows, if those are known."""
    if len(found.centers) < 2 or queries.tier.noisy or queries.tier.guards:
        return ()
    fuzzifier = found.algorithm.parameter("fuzzifier", 2.0)
    indices = reported_indices(len(found.centers))

    def scores(centers: FloatArray) -> dict[str, float]:
        names = tuple(index.name for index in indices)
        evaluation = Evaluation(len(centers), centers, names, fuzzifier)
        values: dict[str, float] = queries.run(evaluation, SCORING).model.indices
        return values

    values = scores(found.centers)
    expected: Mapping[str, float] = {}
    if pooled is not None:
        expected = values if pooled is found.centers else scores(pooled)
    return tuple(
        QualityRecord(
            index=index.name,
            value=values[index.name],
            pooled=expected.get(index.name),
            better=index.better,
        )
        for index in indices
    )
