"""The number of clusters of a study with n_clusters = "auto"."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..clustering.auto import choose_clusters
from ..clustering.choose_k import Choice
from ..core import Channel, Runner, Schema
from .settings import Study, make_algorithm

_ROWS_PER_CLUSTER = 5  # on average, at least


def choose_in_range(
    study: Study,
    channel: Channel,
    schema: Schema,
    n_rows: int | None,
    runner: Runner,
    common: Mapping[str, Any],
) -> Choice:
    """Choose within the range of the study, as far as there are rows enough."""
    (low, high), top = study.n_clusters, study.n_clusters[1]
    if n_rows is not None:  # otherwise the summary shows how many rows there are
        top = max(low, min(high, n_rows // _ROWS_PER_CLUSTER - 1))
    algorithm = make_algorithm(study.clustering, top)
    ks = range(low, top + 1)
    choice = choose_clusters(algorithm, channel, schema, ks, runner=runner, **common)
    if top == high:
        return choice
    more = f" A k above {top} would leave fewer than {_ROWS_PER_CLUSTER} rows per cluster."
    return replace(choice, why=choice.why + more)
