"""One scale for all clients over split rows, learned from all of them."""

from collections.abc import Sequence
from typing import NamedTuple

from ..client.requests import EncodedRows
from ..clustering.preparation import (
    Column,
    ColumnRange,
    Preparation,
    estimate_bounds,
    prepare_over,
    scale_by_bounds,
    widen,
)
from ..clustering.preparation.prepare import CategoryWeight
from ..core import Runner
from ..tiers import Tier
from .pool import ClientPool
from .settings import Study, make_algorithm


class Scale(NamedTuple):
    """How rows are prepared, and the bounds that were estimated for it."""

    preparation: Preparation
    ranges: tuple[ColumnRange, ...]


def learn_scale(
    study: Study, pool: ClientPool, columns: Sequence[Column], tier: Tier, runner: Runner
) -> Scale:
    """Estimate bounds where the study says so, and learn how rows are prepared."""
    ranges: tuple[ColumnRange, ...] = ()
    if study.estimates:
        ranges = _find_ranges(study, pool, columns, tier, runner)
        found = {one.column.name: one.column for one in ranges}
        columns = [found.get(column.name, column) for column in columns]
    return Scale(_learn_preparation(study, pool, columns, tier, runner), ranges)


def _find_ranges(
    study: Study, pool: ClientPool, columns: Sequence[Column], tier: Tier, runner: Runner
) -> tuple[ColumnRange, ...]:
    """Bounds of the columns that have none, from counts of all clients' values."""
    form = EncodedRows(widen(columns), study.partial)
    if not any(column.clip for column in form.columns):  # all columns that were found have bounds
        return ()
    return estimate_bounds(
        columns,
        pool.over(form, form.schema),
        whole_rows=study.data.missing == "drop",
        min_count=study.privacy.min_count,
        privacy=tier,
        runner=runner,
    )


def _learn_preparation(
    study: Study, pool: ClientPool, columns: Sequence[Column], tier: Tier, runner: Runner
) -> Preparation:
    scaling = study.data.scaling or ("min-max" if tier.sums_only else "standard")
    fills = study.data.missing not in ("drop", "partial")
    algorithm = make_algorithm(study.clustering, study.n_clusters[0])
    weight: CategoryWeight = "auto" if algorithm.traits.weighs else None
    weight = study.data.category_weight or weight
    if tier.sums_only and scaling == "min-max" and not fills:  # no client is queried
        return scale_by_bounds(columns, partial=study.partial, category_weight=weight)
    encoded = EncodedRows(tuple(columns), study.partial)
    means_of_all = algorithm.soft or (algorithm.lossless and tier.exact)
    return prepare_over(
        columns,
        pool.over(encoded, encoded.schema),
        scaling=scaling,
        missing=study.data.missing,
        min_count=study.privacy.min_count,
        privacy=tier,
        rounded=tier.sums_only or not means_of_all,  # results show the scale
        category_weight=weight,
        runner=runner,
    )
