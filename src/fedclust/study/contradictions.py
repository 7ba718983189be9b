"""Conflicts between the settings of a study, and settings that a tier cannot protect.

Whatever a run would refuse later, after clients have answered, must be checked here.
"""

from collections.abc import Iterator

from ..algorithms import make_seeding
from ..core import AnyAlgorithm, ConfigError
from ..tiers import Tier
from .settings import RECORD_STARTS, Conflict, Study, make_algorithm

_DRAWN = ("uniform", "cells")  # initialisations that need public bounds
_CELL_ROUNDS = (1, 3)  # of the initialisation by cells, for up to three columns and for more
_DESCRIBED = 8  # maximum number of queries for scales, profile, map and counts


def find_row_conflicts(study: Study) -> Iterator[Conflict]:
    """Settings that cannot be met together over split rows."""
    asked, least = study.clustering, study.sampling.min_clients
    try:
        algorithm = make_algorithm(asked, 2)
    except ConfigError as problem:
        yield Conflict(("clustering", "algorithm"), str(problem))
        return
    if asked.init != "auto" and not algorithm.has_parameter("init"):
        yield Conflict(
            ("clustering", "init"), f'{algorithm.key} has no initialisation; use init = "auto"'
        )
    if asked.init in RECORD_STARTS:
        words = f'init = "{asked.init}" is for split columns; choose another init'
        yield Conflict(("clustering", "init"), words)
    if asked.k_range is not None and asked.n_clusters != "auto":
        yield Conflict(
            ("clustering", "k_range"), 'k_range is used only with n_clusters = "auto"; leave it out'
        )
    if study.clients and least > len(study.clients):
        words = f"min_clients = {least}, but there are {len(study.clients)} clients"
        yield Conflict(("sampling", "min_clients"), words)
    if asked.init in _DRAWN and not study.bounded:
        words = (
            f'init = "{asked.init}" draws within public bounds; give every feature low and high '
            "under [features], or choose another init"
        )
        yield Conflict(("clustering", "init"), words)


def find_unprotected_rows(tier: Tier, study: Study) -> Iterator[Conflict]:
    """Settings that the tier cannot protect over split rows."""
    asked, name = study.clustering, f"tier = {tier.name!r}"
    if asked.n_clusters == "auto" and tier.limits_queries:
        words = (
            f"n_clusters must be a number with {name}: trying several would exceed its query limit"
        )
        yield Conflict(("clustering", "n_clusters"), words)
    yield from (Conflict(*conflict) for conflict in tier.conflicts(study))
    algorithm = make_algorithm(asked, 2)
    yield from _run(tier, study, algorithm)
    yield from _start(tier, study)
    yield from _cohort(tier, study)
    yield from _queries(tier, study, algorithm)
    yield from _scale(tier, study)


def find_ignored_settings(study: Study) -> Iterator[str]:
    """Warnings about settings that have no effect across machines.

    A study that was first run in one process has such keys, so they are not errors.
    """
    for key in ("id", "na_values", "batch_rows"):
        if ("data", key) in study.given:
            yield f"[data] {key} of the study is not used: each client.toml sets its own"
    if ("outputs", "labels_in") in study.given:
        yield "[outputs] labels_in of the study is not used: labels stay with each client"
    if ("outputs", "labels") in study.given and study.outputs.labels not in ("csv", "none"):
        yield '[outputs] labels of the study: clients on other machines write "csv", or "none"'


def _run(tier: Tier, study: Study, algorithm: AnyAlgorithm) -> Iterator[Conflict]:
    """The algorithm and its limits."""
    asked = study.clustering
    try:
        tier.check(algorithm)
    except ConfigError as problem:
        yield Conflict(("clustering", "algorithm"), str(problem))
    for key, words in tier.refused_limits(algorithm, asked.max_rounds, asked.tol):
        yield Conflict(("clustering", key), words)


def _scale(tier: Tier, study: Study) -> Iterator[Conflict]:
    """Check scaling and missing values where sums are masked: no scale can be learned."""
    name = f"tier = {tier.name!r}"
    if not tier.sums_only:
        return
    if not study.bounded:
        words = f"{name} needs public bounds; give every feature low and high under [features]"
        yield Conflict(("privacy", "tier"), words)
    if study.data.scaling not in (None, "min-max"):
        yield Conflict(
            ("data", "scaling"), f'{name} scales by public bounds; use scaling = "min-max"'
        )
    if study.data.missing != "drop":
        yield Conflict(
            ("data", "missing"),
            f'missing = "{study.data.missing}" is not available with {name}; use "drop"',
        )


def _start(tier: Tier, study: Study) -> Iterator[Conflict]:
    """Check the initialisation, unless it is drawn or counted in cells."""
    init = study.clustering.init
    if init in ("auto", *_DRAWN):
        return
    try:
        tier.check(make_seeding(init, 2))
    except ConfigError as problem:
        yield Conflict(("clustering", "init"), str(problem))


def _cohort(tier: Tier, study: Study) -> Iterator[Conflict]:
    """Check the number of clients: masks cancel only over all clients, and need at least three."""
    fewest = tier.fewest_clients
    if tier.masks and study.sampling.fraction < 1:
        words = f"tier = {tier.name!r} needs every client in every round; set fraction = 1"
        yield Conflict(("sampling", "fraction"), words)
    if study.clients and len(study.clients) < fewest:
        n = len(study.clients)
        words = f"tier = {tier.name!r} needs {fewest} clients or more, but there are {n}"
        yield Conflict(("privacy", "tier"), words)


def _queries(tier: Tier, study: Study, algorithm: AnyAlgorithm) -> Iterator[Conflict]:
    """Check that all restarts fit into the query limit, which clients never reset."""
    n_init, most = study.clustering.n_init, tier.query_limit
    if n_init == 1 or most is None:
        return
    rounds = min(algorithm.parameter("max_rounds", 1), tier.most_rounds(algorithm) or 1)
    names = [name for column in study.features or () for name in column.encoded_names]
    start = _CELL_ROUNDS[len(names) > 3] if tier.sums_only else 1
    asked = n_init * (start + rounds + 1) + _DESCRIBED
    if asked > most:
        words = (
            f"tier = {tier.name!r} allows {most} queries, but {n_init} restarts of up to {rounds} "
            f"rounds can need {asked}; choose a smaller n_init or max_rounds"
        )
        yield Conflict(("clustering", "n_init"), words)
