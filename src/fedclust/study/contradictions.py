"""What in a study cannot be: settings that exclude one another, and what a tier cannot protect.

Each is told as the key to mend, and what to do. Whatever a run would refuse later, after clients
were asked, belongs here.
"""

from collections.abc import Iterator

from ..algorithms import make_seeding
from ..core import ConfigError
from ..privacy import Tier
from ..protection import refused_limits
from .asked import asked_algorithm
from .contents import Study
from .keys import RECORD_STARTS
from .split import exposed, inconsistent

Wrong = Iterator[tuple[tuple[str, str], str]]
_DRAWN = ("uniform", "cells")  # starts within public bounds
_CELL_ROUNDS = (1, 3)  # of a start by cells, for up to three columns and for more
_DESCRIBED = 8  # questions for scales, profile, map and counts, at most


def contradictions(study: Study) -> Wrong:
    """Settings that cannot be met together."""
    if study.data["split"] == "columns":
        yield from inconsistent(study)
        return
    asked, least = study.clustering, study.sampling["min_clients"]
    try:
        algorithm = asked_algorithm(asked, 2)
    except ConfigError as problem:
        yield ("clustering", "algorithm"), str(problem)
        return
    if asked["init"] != "auto" and "init" not in vars(algorithm):
        yield ("clustering", "init"), f'{algorithm.key} needs no start: init = "auto"'
    if asked["init"] in RECORD_STARTS:
        words = f'init = "{asked["init"]}" is a start over split columns; choose another'
        yield ("clustering", "init"), words
    if asked["k_range"] is not None and asked["n_clusters"] != "auto":
        yield ("clustering", "k_range"), 'k_range has no meaning unless n_clusters = "auto"'
    if study.clients and least > len(study.clients):
        words = f"min_clients = {least}, but there are {len(study.clients)} clients"
        yield ("sampling", "min_clients"), words
    if asked["init"] in _DRAWN and not study.bounded:
        words = (
            f'init = "{asked["init"]}" draws within public bounds: give every feature low and high '
            "under [features], or another init"
        )
        yield ("clustering", "init"), words


def unprotected(tier: Tier, study: Study) -> Wrong:
    """What the tier cannot protect."""
    if study.data["split"] == "columns":
        yield from exposed(tier, study)
        return
    asked, name = study.clustering, f"tier = {tier.name!r}"
    if asked["n_clusters"] == "auto" and tier.limits_queries:
        words = f"{name} answers too few questions for a sweep: give n_clusters a number"
        yield ("clustering", "n_clusters"), words
    if asked["n_init"] > 1 and tier.noisy:
        yield ("clustering", "n_init"), f"{name} pays for every start: n_init must be 1"
    if ("privacy", "min_count") in study.given and tier.noisy:
        words = f"min_count has no meaning for {name}: noise stands behind every number"
        yield ("privacy", "min_count"), words
    for part in (_run, _start, _cohort, _questions, _scale):
        yield from part(tier, study)


def meaningless_across(study: Study) -> Iterator[str]:
    """What each client says for itself, once the clients are on machines of their own.

    A study that was tried in one process has such keys: they are no mistake, but must be known.
    """
    for key in ("id", "gaps", "batch_rows"):
        if ("data", key) in study.given:
            yield f"[data] {key} of the study is not used: each client.toml has its own"
    if ("outputs", "labels_in") in study.given:
        yield "[outputs] labels_in of the study is not used: labels stay with each client"
    if ("outputs", "labels") in study.given and study.outputs["labels"] not in ("csv", "none"):
        yield '[outputs] labels of the study: clients on other machines write "csv", or "none"'


def _run(tier: Tier, study: Study) -> Wrong:
    """The algorithm, and the end that was asked for."""
    asked = study.clustering
    algorithm = asked_algorithm(asked, 2)
    try:
        tier.check(algorithm)
    except ConfigError as problem:
        yield ("clustering", "algorithm"), str(problem)
    for key, words in refused_limits(tier, algorithm, asked["max_rounds"], asked["tol"]):
        yield ("clustering", key), words


def _scale(tier: Tier, study: Study) -> Wrong:
    """Where sums are hidden, no scale is learned."""
    name = f"tier = {tier.name!r}"
    if not tier.sums_only:
        return
    if not study.bounded:
        words = f"{name} needs public bounds: give every feature low and high under [features]"
        yield ("privacy", "tier"), words
    if study.data["scaling"] not in (None, "min-max"):
        yield ("data", "scaling"), f'{name} scales by public bounds only: scaling = "min-max"'
    if study.data["missing"] != "drop":
        yield ("data", "missing"), f'{name} knows no means to fill gaps with: missing = "drop"'


def _start(tier: Tier, study: Study) -> Wrong:
    """Seeds are messages, too; those that are drawn, or counted in cells, are no client's own."""
    init = study.clustering["init"]
    if init in ("auto", *_DRAWN):
        return
    try:
        tier.check(make_seeding(init, 2))
    except ConfigError as problem:
        yield ("clustering", "init"), str(problem)


def _cohort(tier: Tier, study: Study) -> Wrong:
    """Masks cancel in the sum over everybody, and hide nobody among two."""
    fewest = vars(tier).get("min_cohort")
    if fewest is None:
        return
    if study.sampling["fraction"] < 1:
        words = f"tier = {tier.name!r} asks every client in every round: fraction must be 1"
        yield ("sampling", "fraction"), words
    if study.clients and len(study.clients) < fewest:
        n = len(study.clients)
        words = f"tier = {tier.name!r} needs {fewest} clients or more, and there are {n}"
        yield ("privacy", "tier"), words


def _questions(tier: Tier, study: Study) -> Wrong:
    """Several starts must not run out of questions half way: clients count them for good."""
    n_init, most = study.clustering["n_init"], vars(tier).get("max_queries")
    if n_init == 1 or most is None:
        return
    algorithm = asked_algorithm(study.clustering, 2)
    rounds = min(vars(algorithm).get("max_rounds", 1), tier.most_rounds(algorithm) or 1)
    names = [name for column in study.features or () for name in column.encoded_names]
    start = _CELL_ROUNDS[len(names) > 3] if tier.sums_only else 1
    asked = n_init * (start + rounds + 1) + _DESCRIBED
    if asked > most:
        words = (
            f"tier = {tier.name!r} answers {most} questions, and {n_init} starts of up to {rounds} "
            f"rounds may ask {asked}: give a smaller n_init or max_rounds"
        )
        yield ("clustering", "n_init"), words
