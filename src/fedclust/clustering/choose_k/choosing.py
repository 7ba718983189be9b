"""How many clusters? One sweep over all clients' rows, none of which leaves."""

from collections.abc import Callable, Iterable
from numbers import Integral

import numpy as np

from ...algorithms import make
from ...core import (
    ALL_CLIENTS,
    AnyAlgorithm,
    Channel,
    ClientSampling,
    ConfigError,
    Runner,
    Schema,
    run,
)
from ...metrics import adjusted_rand_of_table, inertia
from ...tiers import Privacy, tier_of
from ..rows import Init
from . import rule
from .runs import Runs
from .score import Choice, Score
from .sweep import Found, sweep


def choose(
    algorithm: AnyAlgorithm,
    channel: Channel,
    schema: Schema,
    ks: Iterable[int] = range(2, 16),
    *,
    init: Init = "auto",
    privacy: Privacy = "none",
    sampling: ClientSampling = ALL_CLIENTS,
    seed: int = 0,
    on_step: Callable[[int, int, int], None] | None = None,
    runner: Runner = run,
) -> Choice:
    """Evidence for every number of clusters in `ks`, and a recommendation.

    Parameters
    ----------
    algorithm
        Any algorithm over split rows; its ``n_clusters`` does not matter. One that takes no start
        cannot go from k to k - 1: the lossless algorithm of its kind goes instead.
    init
        The start at the largest k: a seeding, or that many centres.
    on_step
        Called as ``on_step(k, done, total)`` when a k is done; the largest comes first.
    """
    wanted = _checked(ks, schema)
    able, instead = _with_a_start(algorithm)
    tier = tier_of(privacy)
    if tier.limits_queries:
        raise ConfigError(
            f"privacy={tier.name!r} answers too few questions for a sweep: give a number of "
            "clusters, or choose it on data that may be seen"
        )
    runs = Runs(channel, schema, tier, sampling, seed, runner)
    found: list[Found] = []
    for step in sweep(able, wanted, runs, init):
        k = len(step.centers)
        found.insert(0, step)
        if step.table is not None:
            _enough_rows(wanted[-1], step.table.sum())
        if on_step is not None and k > 1:
            on_step(k, len(found), len(wanted))
    scores = _scores(found)
    chosen = rule.pick(scores)
    cloud = _cloud(found, chosen.n_clusters, seed)
    said = rule.verdict(scores, chosen, cloud)
    return Choice(
        scores,
        said.recommended,
        said.why + instead,
        said.weak,
        rule.favourites(scores),
        runs.sent,
        runs.rounds,
        runs.work,
    )


def _checked(ks: Iterable[int], schema: Schema) -> list[int]:
    wanted: list[object] = list(ks)
    for k in wanted:
        if type(k) is bool or not isinstance(k, Integral) or k < 2:
            raise ConfigError(f"ks must be whole numbers of at least 2, got {k!r}")
    if not wanted:
        raise ConfigError("ks is empty: give the numbers of clusters to try, such as range(2, 16)")
    ascending = sorted({int(k) for k in wanted if isinstance(k, Integral)})
    if schema.n_records is not None:
        _enough_rows(ascending[-1], schema.n_records)
    return ascending


def _enough_rows(k: int, n_rows: float) -> None:
    if k >= n_rows:
        raise ConfigError(f"ks goes up to {k}, but there are {n_rows:.0f} rows in all; try fewer")


def _with_a_start(algorithm: AnyAlgorithm) -> tuple[AnyAlgorithm, str]:
    """An algorithm that starts from centres, and what to say if it is not the one given."""
    if algorithm.partition == "vertical":
        raise ConfigError(f"{algorithm.key}: k is chosen over split rows only, not split columns")
    if "init" in vars(algorithm):
        return algorithm, ""
    if algorithm.soft:
        able = make("llf-fcm", algorithm.n_clusters, fuzzifier=vars(algorithm)["fuzzifier"])
    else:
        able = make("llf-cm", algorithm.n_clusters)
    return able, f"; tried with {able.key}, since {algorithm.key} takes no start"


def _scores(found: list[Found]) -> tuple[Score, ...]:
    """Scores of all but the first, which is a single cluster."""
    ks = [len(step.centers) for step in found]
    elbows = rule.elbow(ks, [step.indices[inertia.name] for step in found])
    return tuple(_score(step, elbow) for step, elbow in zip(found[1:], elbows[1:], strict=True))


def _cloud(found: list[Found], k: int, seed: int) -> float:
    # Most often that of the most clusters; but fuzzy centres may fall together where k is large.
    best = min(found, key=lambda step: step.indices[inertia.name])
    n_rows = best.sizes.sum() if best.table is None else best.table.sum()
    return rule.one_cloud(best.centers, best.sizes, best.indices[inertia.name], n_rows, k, seed)


def _score(step: Found, elbow: float) -> Score:
    stability = weakest = np.nan
    if step.table is not None:
        stability = adjusted_rand_of_table(step.table)
        weakest = rule.weakest_cluster(step.table)
    return Score(
        n_clusters=len(step.centers),
        centers=step.centers,
        indices=step.indices,
        elbow=float(elbow),
        stability=float(stability),
        weakest_cluster=float(weakest),
    )
