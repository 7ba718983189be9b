"""Conflicts between the settings of a study, and settings that a tier cannot protect.

Whatever a run would refuse later, after clients have answered, must be checked here.
"""

from collections.abc import Iterator
from dataclasses import fields

from ..algorithms import make_seeding
from ..algorithms.range_counts import ROUNDS as RANGE_ROUNDS
from ..client.consent import VERTICAL_KEYS
from ..clustering.auto import needs_summary, refuse_few_queries
from ..clustering.rows import AUTO, OTHER_STARTS, SUMMARY
from ..clustering.summary import count_micro, count_queries
from ..core import AnyAlgorithm, ConfigError
from ..data.settings import FileSettings
from ..tiers import TIERS, Tier
from .settings import (
    RECORD_STARTS,
    ClusteringSettings,
    Conflict,
    Study,
    make_algorithm,
    make_columns_algorithm,
)

_DRAWN = ("uniform", "cells")  # initialisations that need public bounds
_CELL_ROUNDS = (1, 3)  # of the initialisation by cells, for up to three columns and for more
_SPLIT = 'split = "columns"'
_COLUMN_KEYS = ("lossless", *VERTICAL_KEYS)
_DESCRIBED = 8  # maximum number of queries for scales, profile, map and counts


def find_name_conflicts(study: Study) -> Iterator[Conflict]:
    """More names than clusters; a cluster without a name gets one from its features."""
    n, most = len(study.names.names), study.n_clusters[1]
    if n > most:
        words = f"names has {n} names, but there are at most {most} clusters; leave some out"
        yield Conflict(("clusters", "names"), words)


def find_row_conflicts(study: Study) -> Iterator[Conflict]:
    """Settings that cannot be met together over split rows."""
    settings, least = study.clustering, study.sampling.min_clients
    try:
        algorithm = make_algorithm(settings, 2)
    except ConfigError as problem:
        yield Conflict(("clustering", "algorithm"), str(problem))
        return
    yield from _weight_conflicts(study, algorithm)
    yield from find_name_conflicts(study)
    if settings.init != "auto" and not algorithm.has_parameter("init"):
        yield Conflict(
            ("clustering", "init"), f'{algorithm.key} has no initialisation; use init = "auto"'
        )
    if settings.init in RECORD_STARTS:
        words = f'init = "{settings.init}" is for split columns; choose another init'
        yield Conflict(("clustering", "init"), words)
    if settings.k_range is not None and settings.n_clusters != "auto":
        yield Conflict(
            ("clustering", "k_range"), 'k_range is used only with n_clusters = "auto"; leave it out'
        )
    if study.clients and least > len(study.clients):
        words = f"min_clients = {least}, but there are {len(study.clients)} clients"
        yield Conflict(("sampling", "min_clients"), words)
    if settings.init in _DRAWN and not study.bounded:
        words = (
            f'init = "{settings.init}" draws within public bounds; give every feature low and high '
            "under [features], or choose another init"
        )
        yield Conflict(("clustering", "init"), words)


def _weight_conflicts(study: Study, algorithm: AnyAlgorithm) -> Iterator[Conflict]:
    """A weight of categories where there are no distances."""
    traits = algorithm.traits
    if study.data.category_weight is not None and traits.categories and not traits.weighs:
        words = f"{algorithm.key} has no distances that weigh categories; leave it out"
        yield Conflict(("data", "category_weight"), words)


def find_unprotected_rows(tier: Tier, study: Study) -> Iterator[Conflict]:
    """Settings that the tier cannot protect over split rows."""
    settings = study.clustering
    if settings.n_clusters == "auto":
        yield from _auto_conflicts(tier, study)
    yield from (Conflict(*conflict) for conflict in tier.conflicts(study))
    algorithm = make_algorithm(settings, 2)
    yield from _algorithm_conflicts(tier, study, algorithm)
    yield from _init_conflicts(tier, study)
    yield from _client_conflicts(tier, study)
    yield from _query_conflicts(tier, study, algorithm)
    yield from _scaling_conflicts(tier, study)


def _auto_conflicts(tier: Tier, study: Study) -> Iterator[Conflict]:
    """Check that the number of clusters can be chosen."""
    place, name = ("clustering", "n_clusters"), f"tier = {tier.name!r}"
    if not needs_summary(tier):
        return
    if tier.noisy:
        if study.clustering.max_rounds is not None:
            words = f'n_clusters = "auto" with {name} has one round; leave out max_rounds'
            yield Conflict(("clustering", "max_rounds"), words)
        if study.clustering.init not in AUTO:
            words = f'n_clusters = "auto" with {name} has its own start; use init = "auto"'
            yield Conflict(("clustering", "init"), words)
        return
    if study.clustering.n_init > 1:
        words = "the summary gives one start; leave out n_init"
        yield Conflict(("clustering", "n_init"), f'n_clusters = "auto" with {name}: {words}')
    if reason := refuse_few_queries(tier, study.n_clusters[1], count_ranges(study)):
        yield Conflict(place, f'n_clusters = "auto" with {name}: {reason}')


def find_ignored_settings(study: Study) -> Iterator[str]:
    """Warnings about settings that have no effect across machines.

    A study that was first run in one process has such keys, so they are not errors.
    """
    for key in (field.name for field in fields(FileSettings)):
        if ("data", key) in study.given:
            yield f"[data] {key} of the study is not used: each client.toml sets its own"
    if any(study.own_data.values()):
        yield "[clients] says how files are read, which is not used: each client.toml sets its own"
    if ("outputs", "labels_in") in study.given:
        yield "[outputs] labels_in of the study is not used: labels stay with each client"
    if ("outputs", "labels") in study.given and study.outputs.labels not in ("csv", "none"):
        yield '[outputs] labels of the study: clients on other machines write "csv", or "none"'


def _algorithm_conflicts(tier: Tier, study: Study, algorithm: AnyAlgorithm) -> Iterator[Conflict]:
    """Check the algorithm and its limits."""
    settings = study.clustering
    try:
        tier.check(algorithm)
    except ConfigError as problem:
        yield Conflict(("clustering", "algorithm"), str(problem))
    for key, words in tier.refused_limits(algorithm, settings.max_rounds, settings.tol):
        yield Conflict(("clustering", key), words)
    if study.data.missing == "partial":
        try:
            tier.check_missing(missing=True)
            algorithm.over_cells()
        except ConfigError as problem:
            yield Conflict(("data", "missing"), str(problem))


def _scaling_conflicts(tier: Tier, study: Study) -> Iterator[Conflict]:
    """Check scaling and missing values where only sums leave: a scale is a sum, too."""
    name = f"tier = {tier.name!r}"
    if not tier.sums_only:
        return
    if not study.bounded:
        words = (
            f"{name} needs public bounds; give every feature low and high under [features], or set "
            '[data] bounds = "estimate"'
        )
        yield Conflict(("privacy", "tier"), words)
    if study.estimates and study.features is None:
        words = f'{name} with bounds = "estimate" needs the columns by name; list them'
        yield Conflict(("data", "bounds"), words)
    if study.data.scaling == "none":
        words = f'{name} needs columns on one scale; use scaling = "min-max" or "standard"'
        yield Conflict(("data", "scaling"), words)
    allowed = ("drop", "mean", "partial")
    if study.data.missing not in allowed:
        listed = ", ".join(f'"{one}"' for one in allowed)
        words = (
            f'missing = "{study.data.missing}" is not available with {name}; use one of {listed}'
        )
        yield Conflict(("data", "missing"), words)


def _init_conflicts(tier: Tier, study: Study) -> Iterator[Conflict]:
    """Check the initialisation, unless it is drawn or counted in cells."""
    init = study.clustering.init
    if init == SUMMARY and tier.noisy:
        words = f'init = "{SUMMARY}" takes exact sums, and tier = {tier.name!r} adds noise'
        yield Conflict(("clustering", "init"), f"{words}; leave it out")
    elif init == SUMMARY and study.clustering.n_clusters != "auto":
        words = refuse_few_queries(tier, study.n_clusters[1], count_ranges(study))
        if study.clustering.n_init > 1:
            words = "the summary gives one start; leave out n_init"
        if words:
            yield Conflict(("clustering", "init"), f'init = "{SUMMARY}": {words}')
    if init in (*OTHER_STARTS, *_DRAWN):
        return
    try:
        tier.check(make_seeding(init, 2))
    except ConfigError as problem:
        yield Conflict(("clustering", "init"), str(problem))


def _client_conflicts(tier: Tier, study: Study) -> Iterator[Conflict]:
    """Check the number of clients: masks cancel only over all clients, and need at least three."""
    fewest = tier.fewest_clients
    if tier.masks and study.sampling.fraction < 1:
        words = f"tier = {tier.name!r} needs every client in every round; set fraction = 1"
        yield Conflict(("sampling", "fraction"), words)
    if study.clients and len(study.clients) < fewest:
        n = len(study.clients)
        words = f"tier = {tier.name!r} needs {fewest} clients or more, but there are {n}"
        yield Conflict(("privacy", "tier"), words)


def _query_conflicts(tier: Tier, study: Study, algorithm: AnyAlgorithm) -> Iterator[Conflict]:
    """Check that all restarts fit into the query limit, which clients never reset."""
    n_init, most = study.clustering.n_init, tier.query_limit
    if n_init == 1 or most is None:
        return
    rounds, needed = limit_rounds(tier, algorithm), count_requests(study, tier)
    if needed > most:
        words = (
            f"tier = {tier.name!r} allows {most} queries, but {n_init} restarts of up to {rounds} "
            f"rounds can need {needed}; choose a smaller n_init or max_rounds"
        )
        yield Conflict(("clustering", "n_init"), words)


def count_requests(study: Study, tier: Tier) -> int:
    """The most rounds and other requests of a study over split rows."""
    settings = study.clustering
    before = count_ranges(study)
    rounds = limit_rounds(tier, make_algorithm(settings, study.n_clusters[1]))
    if settings.n_clusters == "auto" and needs_summary(tier):
        requests = count_queries(count_micro(study.n_clusters[1])) + rounds + 1 + _DESCRIBED
        requests += before
        return requests if tier.query_limit is None else min(requests, tier.query_limit)
    names = [name for column in study.features or () for name in column.encoded_names]
    start = _CELL_ROUNDS[len(names) > 3] if tier.sums_only else 1
    if settings.init == SUMMARY:
        start = count_queries(count_micro(study.n_clusters[1]))
    return before + settings.n_init * (start + rounds + 1) + _DESCRIBED


def count_ranges(study: Study) -> int:
    """The most queries for estimated bounds."""
    return RANGE_ROUNDS if study.estimates else 0


def limit_rounds(tier: Tier, algorithm: AnyAlgorithm) -> int:
    """The most rounds of one run: those of the algorithm, or fewer under a tier that ends it."""
    most = tier.most_rounds(algorithm)
    longest = int(algorithm.parameter("max_rounds", 1))
    return longest if most is None else min(longest, most)


def find_column_conflicts(study: Study) -> Iterator[Conflict]:
    """Settings that conflict over split columns."""
    yield from _column_clustering_conflicts(study.clustering)
    yield from _column_data_conflicts(study)
    yield from find_name_conflicts(study)
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


def _column_clustering_conflicts(clustering: ClusteringSettings) -> Iterator[Conflict]:
    if clustering.algorithm not in _COLUMN_KEYS:
        words = (
            f"{clustering.algorithm} is for split rows; with {_SPLIT} use {', '.join(_COLUMN_KEYS)}"
        )
        yield Conflict(("clustering", "algorithm"), words)
    elif clustering.n_clusters == "auto":
        words = f"n_clusters must be a number with {_SPLIT}: trying several would disclose more"
        yield Conflict(("clustering", "n_clusters"), words)
    else:
        try:
            make_columns_algorithm(clustering)
        except ConfigError as problem:
            yield Conflict(("clustering", "algorithm"), str(problem))
    if clustering.k_range is not None:
        yield Conflict(
            ("clustering", "k_range"), 'k_range is used only with n_clusters = "auto"; leave it out'
        )
    if clustering.init not in ("auto", "k-means++", *RECORD_STARTS):
        words = f"with {_SPLIT} init must be k-means++, {' or '.join(RECORD_STARTS)}"
        yield Conflict(("clustering", "init"), words)


def _column_data_conflicts(study: Study) -> Iterator[Conflict]:
    data = study.data
    if data.bounds is not None:
        words = (
            f"with {_SPLIT} each owner scales its columns by its own [bounds] in client.toml, or "
            "by their range; leave it out"
        )
        yield Conflict(("data", "bounds"), words)
    if data.batch_rows:
        yield Conflict(
            ("data", "batch_rows"), f"{_SPLIT} needs all rows in memory; leave out batch_rows"
        )
    if data.missing in ("median-of-means", "partial"):
        words = f"with {_SPLIT} each column has one client; use missing = drop or mean"
        yield Conflict(("data", "missing"), words)
    if data.id in [column.name for column in study.features or ()]:
        yield Conflict(("data", "id"), f"the id {data.id!r} cannot be a feature")


def find_unprotected_columns(tier: Tier, study: Study) -> Iterator[Conflict]:
    """Settings that the tier cannot protect over split columns."""
    name, data = f"tier = {tier.name!r}", study.data
    columns_tier = tier.for_columns()
    if columns_tier is None:
        known = " or ".join(key for key, kind in TIERS.items() if kind().for_columns() is not None)
        words = f"{name} is not available with {_SPLIT}; use {known}"
        yield Conflict(("privacy", "tier"), words)
        return
    for key in study.privacy.parameters:
        yield Conflict(("privacy", key), f"{key} is not used with {_SPLIT}; leave it out")
    if not tier.sums_only:
        return
    fewest = columns_tier.fewest_clients
    if study.sampling.min_clients < fewest:
        words = f'{name} needs {fewest} clients or more; set tier = "none", or add clients'
        yield Conflict(("privacy", "tier"), words)
    if data.scaling not in (None, "min-max"):
        words = f'{name} scales every column to the range of its owner; use scaling = "min-max"'
        yield Conflict(("data", "scaling"), words)
