"""Studies over split columns: their algorithm, and conflicts between their settings."""

from collections.abc import Iterator
from typing import cast

from ..algorithms import make
from ..clustering.columns import AnyRecordAlgorithm
from ..core import ConfigError
from ..tiers import TIERS, Tier
from .settings import (
    RECORD_STARTS,
    ClusteringSettings,
    Conflict,
    Study,
    given_parameters,
    make_algorithm,
)

KEYS = {"lossless": "", "llf-cm": "vertical-llf-cm", "llf-fcm": "vertical-llf-fcm"}
_SPLIT = 'split = "columns"'


def columns_algorithm(clustering: ClusteringSettings) -> AnyRecordAlgorithm:
    """The algorithm over split columns, with all parameters that [clustering] gives."""
    n_clusters = cast(int, clustering.n_clusters)  # "auto" is refused before
    like = make_algorithm(clustering, n_clusters)  # refuses contradictory parameters
    parameters = given_parameters(clustering)
    return cast(AnyRecordAlgorithm, make(KEYS[like.key], n_clusters, **parameters))


def find_column_conflicts(study: Study) -> Iterator[Conflict]:
    """Settings that conflict over split columns."""
    yield from _of_clustering(study.clustering)
    yield from _of_data(study)
    n_clients, least = len(study.clients), study.sampling.min_clients
    if study.sampling.fraction < 1:
        words = f"{_SPLIT} needs every client in every round; set fraction = 1"
        yield Conflict(("sampling", "fraction"), words)
    if n_clients and least > n_clients:
        words = f"min_clients = {least}, but there are {n_clients} clients"
        yield Conflict(("sampling", "min_clients"), words)
    if least < 2:
        words = f"{_SPLIT} needs two clients or more; set min_clients to their number"
        yield Conflict(("sampling", "min_clients"), words)


def _of_clustering(clustering: ClusteringSettings) -> Iterator[Conflict]:
    if clustering.algorithm not in KEYS:
        words = f"{clustering.algorithm} is for split rows; with {_SPLIT} use {', '.join(KEYS)}"
        yield Conflict(("clustering", "algorithm"), words)
    elif clustering.n_clusters == "auto":
        words = f"n_clusters must be a number with {_SPLIT}: trying several would disclose more"
        yield Conflict(("clustering", "n_clusters"), words)
    else:
        try:
            columns_algorithm(clustering)
        except ConfigError as problem:
            yield Conflict(("clustering", "algorithm"), str(problem))
    if clustering.k_range is not None:
        yield Conflict(
            ("clustering", "k_range"), 'k_range is used only with n_clusters = "auto"; leave it out'
        )
    if clustering.init not in ("auto", *RECORD_STARTS):
        words = f"with {_SPLIT} init must be auto (k-means++), {' or '.join(RECORD_STARTS)}"
        yield Conflict(("clustering", "init"), words)


def _of_data(study: Study) -> Iterator[Conflict]:
    data = study.data
    if data.batch_rows:
        yield Conflict(
            ("data", "batch_rows"), f"{_SPLIT} needs all rows in memory; leave out batch_rows"
        )
    if data.missing == "median-of-means":
        words = f"with {_SPLIT} each column has one client; use missing = drop or mean"
        yield Conflict(("data", "missing"), words)
    if data.scaling == "min-max" and not study.bounded:
        words = f"{_SPLIT} scales by min-max within public bounds; give every feature low and high"
        yield Conflict(("data", "scaling"), words)
    if data.id in [column.name for column in study.features or ()]:
        yield Conflict(("data", "id"), f"the id {data.id!r} cannot be a feature")


def find_unprotected_columns(tier: Tier, study: Study) -> Iterator[Conflict]:
    """Settings that the tier cannot protect over split columns."""
    name, data = f"tier = {tier.name!r}", study.data
    columns_tier = tier.for_columns()
    if columns_tier is None:
        known = " and ".join(key for key, kind in TIERS.items() if kind().for_columns() is not None)
        words = f"{name} means nothing where columns are split; there are {known}"
        yield Conflict(("privacy", "tier"), words)
        return
    for key in study.privacy.parameters:
        yield Conflict(("privacy", key), f"{key} is not used with {_SPLIT}; leave it out")
    if not tier.sums_only:
        return
    fewest = columns_tier.fewest_clients
    if study.sampling.min_clients < fewest:
        words = f"{name} hides owners among {fewest} or more: set tier to none, or find more owners"
        yield Conflict(("privacy", "tier"), words)
    if not study.bounded:
        words = f"{name} needs public bounds; give every feature low and high under [features]"
        yield Conflict(("privacy", "tier"), words)
    if data.scaling not in (None, "min-max"):
        yield Conflict(
            ("data", "scaling"), f'{name} scales by public bounds; use scaling = "min-max"'
        )
