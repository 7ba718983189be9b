"""Describe clusters from merged messages: sizes, features, a map, and quality."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from ..algorithms.mixture_fit import Fit
from ..clustering.model import Model
from ..clustering.preparation import ColumnRange
from ..clustering.rows import SCORING, Clustering
from ..core import EmptyRound
from ..metrics import (
    ClientCells,
    ClientCounts,
    Evaluation,
    adjusted_rand_of_table,
    reported_indices,
)
from ..metrics.likelihood import BIC, ICL, LOG_LIKELIHOOD
from ..results import (
    ClusterMap,
    ClusterProfile,
    EstimatedBounds,
    FeatureProfile,
    MissingCells,
    QualityRecord,
    Withheld,
)
from ..tiers import Tier
from ..typing import BoolArray, FloatArray
from .cluster_statistics import (
    ClusterQueries,
    ClusterStatistics,
    ClusterTotals,
    compute_statistics,
)
from .describe_map import draw_map
from .precision import Precision
from .withholding import choose_withheld_counts


@dataclass(frozen=True, eq=False)
class ClusterDescription:
    """What results say of the clusters."""

    clusters: tuple[ClusterProfile, ...]
    map: ClusterMap | None
    withheld: Withheld | None  # None: there are no counts by client
    rounded: bool  # means and spreads are rounded
    centers: FloatArray  # (C, P) as published; NaN where they are withheld
    agreement: float | None  # of clusters and clients


def describe_clusters(
    model: Model, totals: ClusterTotals, queries: ClusterQueries
) -> ClusterDescription:
    """Clusters in the units of the columns, their sizes at each client, and the map, if any."""
    every = queries.tier.publishes_all
    statistics = compute_statistics(model, totals, queries.min_count, publishes_all=every)
    drawn = None
    if model.centers.shape[1] > 1 and statistics.size.any():
        with suppress(EmptyRound):  # clients withhold the shapes of all clusters
            drawn = draw_map(model, statistics, totals.coverage, queries)
    by_client, withheld, agreement = _count_by_client(model, totals, queries)
    clusters = tuple(
        ClusterProfile(
            id=id,
            size=model.sizes[c],
            by_client={client: counts[c] for client, counts in by_client.items()},
            features=_describe_features(model, totals, statistics, c, queries.min_count),
            entropy=_known(statistics.entropy[c]) if _is_mixed(model, statistics, c) else None,
        )
        for c, id in enumerate(model.ids)
    )
    return ClusterDescription(
        clusters, drawn, withheld, statistics.rounded, statistics.center, agreement
    )


def mark_unreliable(
    clusters: tuple[ClusterProfile, ...], reliable: BoolArray
) -> tuple[ClusterProfile, ...]:
    """The clusters with a mark at those whose centres are mostly noise."""
    return tuple(
        replace(cluster, reliable=bool(sure))
        for cluster, sure in zip(clusters, reliable, strict=True)
    )


def _is_mixed(model: Model, statistics: ClusterStatistics, c: int) -> bool:
    """Whether the entropy of a cluster's memberships is known, and may be shown."""
    return model.soft and bool(statistics.shown[c])


Counts = Mapping[str, tuple[int | None, ...]]


def _count_by_client(
    model: Model, totals: ClusterTotals, queries: ClusterQueries
) -> tuple[Counts, Withheld | None, float | None]:
    """Rows of each client in each cluster, how much is withheld, and how far clusters are clients.

    They are counted only where totals cover all rows: the difference between incomplete totals and
    counts would show what clients withheld.
    """
    if totals.coverage != "all" or queries.tier.sums_only:
        return {}, None, None
    done = queries.run(ClientCounts(len(model.ids), model.centers, model.density), "counts")
    clients = sorted(c for c, size in done.sent.items() if size)  # stacked in the order of ids
    counts = done.model.sizes.astype(int)
    used = [queries.used.get(client) for client in clients]
    if tuple(counts.sum(axis=0).tolist()) != totals.sizes or counts.sum(axis=1).tolist() != used:
        return {}, None, None  # a client did not reply, or its rows have changed
    hidden = choose_withheld_counts(counts, queries.min_count)
    shown = {
        client: tuple(None if h else int(n) for n, h in zip(row, mask, strict=True))
        for client, row, mask in zip(clients, counts, hidden, strict=True)
    }
    # Two digits show no single row, and are enough to see whether clusters are clients.
    agreement = round(adjusted_rand_of_table(counts), 2) if len(counts) > 1 else None
    return shown, Withheld(int(hidden.sum()), int(counts[hidden].sum())), agreement


def describe_missing(model: Model, queries: ClusterQueries) -> MissingCells | None:
    """The share of missing cells by client and column; None where the tier hides it.

    Shares of few missing cells, or of few observed ones, would show single rows.
    """
    if not queries.schema.missing or queries.tier.sums_only:
        return None
    done = queries.run(ClientCells(), "missing cells")
    clients = sorted(c for c, size in done.sent.items() if size)  # stacked in the order of ids
    shares: dict[str, tuple[float | None, ...]] = {}
    for client, observed, n in zip(clients, done.model.observed, done.model.rows, strict=True):
        few = [0 < m < queries.min_count for m in (*observed, *(n - observed))]
        hidden = np.asarray(np.reshape(few, (2, -1)).any(axis=0))
        shares[client] = tuple(
            None if hide or n == 0 else round(float(1 - seen / n), 2)
            for hide, seen in zip(hidden, observed, strict=True)
        )
    return MissingCells(columns=tuple(model.preparation.names), shares=shares)


def _describe_features(
    model: Model,
    totals: ClusterTotals,
    statistics: ClusterStatistics,
    c: int,
    minimum: int,
) -> tuple[FeatureProfile, ...]:
    ready = model.preparation
    mean, spread = statistics.mean[c], statistics.spread[c]
    overall, overall_spread = statistics.overall_mean, statistics.overall_spread
    if totals.sizes[c] is None:  # nothing is known but the centre
        mean, spread = model.centers[c], np.full(len(mean), np.nan)
    elif not statistics.shown[c]:
        mean, spread = np.full((2, len(mean)), np.nan)
    elif statistics.cells.shape[1] > 1:  # a mean of few observed cells would show them
        few = statistics.cells[c] < minimum
        mean, spread = (np.where(few, np.nan, v) for v in (mean, spread))
    if not statistics.size.any():
        overall, overall_spread = np.full((2, len(mean)), np.nan)
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
            mean=_known(means[p]),
            sd=_known(spreads[p]),
            overall_mean=_known(overalls[p]),
            overall_sd=_known(overall_spreads[p]),
            effect=_known(effect[p]),
        )
        for p, name in enumerate(ready.names)
    )


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def warn_of_small_clusters(model: Model, minimum: int, *, publishes_all: bool) -> str:
    """A warning if a cluster has very few rows; usually empty."""
    pairs = zip(model.ids, model.sizes, strict=True)
    small = [str(id) for id, size in pairs if size and size < minimum]
    if not small:
        return ""
    one = len(small) == 1
    which = (
        f"cluster {small[0]} has"
        if one
        else f"clusters {', '.join(small[:-1])} and {small[-1]} have"
    )
    if publishes_all:
        return (
            f"{which} fewer than {minimum} rows, so model.json shows nearly the values of single "
            "rows as a centre; choose fewer clusters, or share model.json only with people who may "
            "see them"
        )
    what = "its centre is" if one else "their centres are"
    return (
        f"{which} fewer than {minimum} rows, so {what} withheld, and model.json gives new rows to "
        "the other clusters; choose fewer clusters"
    )


def _measure_fit(fit: Fit, digits: Precision) -> tuple[QualityRecord, ...]:
    """How well a mixture fits the rows of all clients, which is that of pooled rows."""
    values = {LOG_LIKELIHOOD: fit.loglik, BIC: fit.bic, ICL: fit.icl}
    return tuple(
        QualityRecord(
            index=measure.name,
            value=digits.round_sum(value),
            pooled=digits.round_sum(value),
            better=measure.better,
        )
        for measure, value in values.items()
    )


def measure_quality(
    found: Clustering, pooled: FloatArray | None, queries: ClusterQueries, digits: Precision
) -> tuple[QualityRecord, ...]:
    """Indices of the centres, and of the centres of pooled rows, if those are known."""
    if len(found.centers) < 2 or queries.tier.noisy:
        return ()
    if found.fit is not None:
        return _measure_fit(found.fit, digits)
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
            value=digits.round(values[index.name]),
            pooled=digits.round(expected.get(index.name)),
            better=index.better,
        )
        for index in indices
    )


def describe_bounds(
    ranges: Sequence[ColumnRange], tier: Tier, min_count: int
) -> tuple[EstimatedBounds, ...]:
    """Estimated bounds, and how many values lie beyond, rounded where results are."""
    return tuple(
        EstimatedBounds(
            name=column.encoded_names[0],
            unit=column.unit,
            low=float(column.low or 0.0),
            high=float(column.high or 0.0),
            beyond=_count_beyond(one.beyond, tier, min_count),
        )
        for one in ranges
        for column in (one.column,)
    )


def _count_beyond(n: float, tier: Tier, min_count: int) -> int | None:
    if tier.noisy or tier.alike > 1:
        return None
    step = 1 if tier.publishes_all else max(1, min_count)
    return int(n / step + 0.5) * step
