"""Choose the number of clusters by one sweep over all clients' rows."""

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
from .likelihood import choose_by_likelihood
from .runs import Runs
from .score import Choice, Score
from .sweep import Step, explain_refusal, sweep


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
    near: float = rule.NEAR,
    few: float = 0.0,
    on_step: Callable[[int, int, int], None] | None = None,
    runner: Runner = run,
) -> Choice:
    """Compute evidence for every number of clusters in `ks`, and recommend one.

    Parameters
    ----------
    algorithm
        Any algorithm over split rows; its ``n_clusters`` is ignored. If it takes no initial
        centres, the lossless algorithm of its kind is used instead.
    init
        Initialisation at the largest k: a seeding, or as many centres.
    near
        Largest difference of a silhouette close to the best.
    few
        Share of the rows: a smaller group is no reason for one more cluster.
    on_step
        Called as ``on_step(k, done, total)`` after each k, from the largest down.
    """
    ascending = _check_ks(ks, schema)
    usable, replacement = _with_init(algorithm)
    usable = usable.over_cells() if schema.missing else usable
    tier = tier_of(privacy)
    if tier.limits_queries:
        raise ConfigError(
            f"privacy={tier.name!r} allows no sweep over k: "
            f"{explain_refusal(tier, usable, ascending)}; set the number of clusters, or choose "
            "it on other data without this tier"
        )
    runs = Runs(channel, schema, tier, sampling, seed, runner)
    if algorithm.traits.likelihood:
        return choose_by_likelihood(usable, ascending, runs, init, on_step)
    steps: list[Step] = []
    for step in sweep(usable, ascending, runs, init):
        k = len(step.centers)
        steps.insert(0, step)
        if step.table is not None:
            _check_rows(ascending[-1], step.table.sum())
        if on_step is not None and k > 1:
            on_step(k, len(steps), len(ascending))
    scores = _scores(steps)
    chosen = rule.pick(scores, near, few)
    cloud = _cloud(steps, chosen.n_clusters, seed)
    verdict = rule.verdict(scores, chosen, cloud)
    return Choice(
        scores,
        verdict.recommended,
        verdict.why + replacement,
        verdict.weak,
        rule.favourites(scores),
        runs.sent,
        runs.rounds,
        runs.work,
    )


def _check_ks(ks: Iterable[int], schema: Schema) -> list[int]:
    wanted: list[object] = list(ks)
    for k in wanted:
        if type(k) is bool or not isinstance(k, Integral) or k < 2:
            raise ConfigError(f"ks must be integers of at least 2, got {k!r}")
    if not wanted:
        raise ConfigError("ks is empty; give the numbers of clusters to try, such as range(2, 16)")
    ascending = sorted({int(k) for k in wanted if isinstance(k, Integral)})
    if schema.n_records is not None:
        _check_rows(ascending[-1], schema.n_records)
    return ascending


def _check_rows(k: int, n_rows: float) -> None:
    if k >= n_rows:
        raise ConfigError(f"ks includes {k}, but there are only {n_rows:.0f} rows; use smaller ks")


def _with_init(algorithm: AnyAlgorithm) -> tuple[AnyAlgorithm, str]:
    """An algorithm that takes initial centres, and a note if it is not the given one."""
    if algorithm.partition == "vertical":
        raise ConfigError(f"{algorithm.key}: choosing k needs split rows, not split columns")
    if algorithm.has_parameter("init"):
        return algorithm, ""
    if algorithm.soft:
        usable = make("llf-fcm", algorithm.n_clusters, fuzzifier=algorithm.parameter("fuzzifier"))
    else:
        usable = make("llf-cm", algorithm.n_clusters)
    return usable, f" Tried with {usable.key}, because {algorithm.key} takes no initial centres."


def _scores(steps: list[Step]) -> tuple[Score, ...]:
    """Scores of all steps but the first, which is a single cluster."""
    ks = [len(step.centers) for step in steps]
    elbows = rule.elbow(ks, [step.indices[inertia.name] for step in steps])
    return tuple(_score(step, elbow) for step, elbow in zip(steps[1:], elbows[1:], strict=True))


def _cloud(steps: list[Step], k: int, seed: int) -> float:
    # Usually the step with the most clusters, but fuzzy centres may coincide for large k.
    best = min(steps, key=lambda step: step.indices[inertia.name])
    n_rows = best.sizes.sum() if best.table is None else best.table.sum()
    return rule.one_cloud(best.centers, best.sizes, best.indices[inertia.name], n_rows, k, seed)


def _score(step: Step, elbow: float) -> Score:
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
        smallest=float(step.sizes.min() / max(step.sizes.sum(), 1e-300)),
    )
