"""Seed, cluster, score: plans run one after the other over one channel.

Seeding, scoring and restarts are runs like any other; this is the order in which they make a
clustering.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from ..algorithms import make_seeding
from ..algorithms.cell_seeding import CellSeeding
from ..algorithms.seeding import UniformSeeding
from ..core import (
    ALL_CLIENTS,
    Algorithm,
    AnyAlgorithm,
    Channel,
    ClientSampling,
    ConfigError,
    EmptyRound,
    Plan,
    RoundSummary,
    Run,
    Runner,
    Schema,
    derived,
    run,
)
from ..core.channel import Wrapper
from ..metrics import Evaluation
from ..tiers import Guarantee, Privacy, Tier, tier_of
from ..typing import FloatArray

SCORING = "scoring"  # the purpose of plans whose outcome is a number for centres
Init = str | FloatArray | AnyAlgorithm


@dataclass(frozen=True, eq=False)
class Clustering:
    """The best of a few runs, and what all of them cost."""

    algorithm: AnyAlgorithm  # with the start it was given
    run: Run
    inertia: float  # pooled, from a federated run; NaN where that would cost privacy
    sent: Mapping[str, int]  # bytes each client sent in all runs: seeding, clustering, scoring
    guarantee: Guarantee  # of the tier it ran under

    @property
    def centers(self) -> FloatArray:
        """The centres found."""
        return cast(FloatArray, self.run.model)

    @property
    def history(self) -> tuple[RoundSummary, ...]:
        """The rounds of the best run."""
        return self.run.history

    @property
    def caveat(self) -> str:
        """What limits the use of the result, beside its guarantee; mostly nothing."""
        sure = getattr(self.run.state, "sure", np.ones(0))  # of noisy weights
        lost, n = int((sure == 0).sum()), len(sure)
        if lost == 0:
            return ""
        return (
            f"{'all' if lost == n else f'{lost} of {n}'} clusters have so few rows that noise "
            "hides them: do not rely on their centres; more rows, fewer clusters or a larger "
            "epsilon help (fedclust budget)"
        )

    @property
    def converged(self) -> bool:
        """Whether the run ended because the centres rested, not because rounds ran out."""
        if not self.algorithm.has_parameter("max_rounds"):
            return True
        longer = replace(cast(Any, self.algorithm), max_rounds=self.run.n_rounds + 1)
        return bool(longer.done(self.run.state))


def cluster(
    algorithm: AnyAlgorithm,
    channel: Channel,
    schema: Schema,
    *,
    init: Init = "auto",
    n_init: int = 1,
    privacy: Privacy = "none",
    sampling: ClientSampling = ALL_CLIENTS,
    seed: int = 0,
    runner: Runner = run,
) -> Clustering:
    """Seed and run `n_init` times; the lowest pooled inertia wins (DWF's RequestScore).

    Seeding asks as many clients as a round does; scores are compared, so they ask everybody.
    """
    tier = tier_of(privacy)
    _check_starts(n_init, tier)
    everybody = ClientSampling(min_clients=sampling.min_clients)
    channel = tier.channel(channel)
    found: list[Clustering] = []
    sent: dict[str, int] = {}
    for attempt in range(n_init):
        ready, seeding = run_seeding(
            algorithm,
            channel,
            schema,
            init=init,
            privacy=tier,
            sampling=sampling,
            seed=derived(seed, "seeding", attempt),
            runner=runner,
        )
        plan = tier.plan(ready, channel, schema, derived(seed, "clustering", attempt))
        done = runner(plan, channel, schema, sampling=sampling)
        scores = []
        if not tier.noisy:
            scoring = _scoring(done, channel, schema, tier)
            scores = [runner(scoring, channel, schema, sampling=everybody)]
        for part in (*seeding, done, *scores):
            for client, size in part.sent.items():
                sent[client] = sent.get(client, 0) + size
        inertia = scores[0].model if scores else float("nan")
        found.append(Clustering(ready, done, inertia, sent, tier.guarantee))
    return min(found, key=lambda one: one.inertia)


def _check_starts(n_init: int, tier: Tier) -> None:
    if n_init < 1:
        raise ConfigError(f"n_init must be at least 1, got {n_init}")
    if tier.noisy and n_init > 1:
        raise ConfigError(
            f"n_init must be 1 with privacy={tier.name!r}, got {n_init}: each start would cost as "
            "much again"
        )


def _scoring(done: Run, channel: Channel, schema: Schema, tier: Tier) -> Plan:
    """The plan for the pooled inertia of what a run found."""
    plan = tier.plan(Evaluation(len(done.model), done.model), channel, schema)
    return replace(plan, purpose=SCORING)


def run_seeding(
    algorithm: AnyAlgorithm,
    channel: Channel,
    schema: Schema,
    *,
    init: Init = "auto",
    privacy: Privacy = "none",
    sampling: ClientSampling = ALL_CLIENTS,
    seed: int = 0,
    runner: Runner = run,
) -> tuple[AnyAlgorithm, list[Run]]:
    """The algorithm as it runs, with its start centres, and the runs it took to find them."""
    tier, n_clients = tier_of(privacy), len(tuple(channel.clients()))
    auto = isinstance(init, str) and init == "auto"
    algorithm = tier.adapt(algorithm, schema, n_clients)
    if not algorithm.has_parameter("init"):
        if not auto:
            raise ConfigError(f"{algorithm.key} needs no start: leave init='auto'")
        return algorithm, []
    if auto and algorithm.parameter("init") is not None:
        return algorithm, []
    if isinstance(init, str):
        init = _seeding(init, algorithm, schema, tier, n_clients)
    if not isinstance(init, Algorithm):
        return _starting_at(algorithm, as_centers(init)), []
    if isinstance(init, UniformSeeding):  # which asks nobody
        plan = Plan(init, seed=seed)
    else:
        plan = tier.plan(init, channel, schema, seed)
    plan = replace(plan, purpose="start")
    done = _seeding_run(plan, channel, schema, sampling, runner)
    return _starting_at(algorithm, done.model), [done]


def _seeding(
    init: str, algorithm: AnyAlgorithm, schema: Schema, tier: Tier, n_clients: int
) -> AnyAlgorithm:
    """The seeding of a name; "auto" is what suits the tier, and then the algorithm."""
    if init in ("auto", "cells"):
        found = tier.seeding(algorithm, schema, n_clients)
        if found is not None or init == "cells":
            return found or CellSeeding(algorithm.n_clusters, *schema.box())
        init = str(algorithm.seeding)
    return make_seeding(init, algorithm.n_clusters)


def as_centers(init: Any) -> FloatArray:
    """Start centres as an array, from anything that NumPy reads as one."""
    try:
        return np.asarray(init, dtype=np.float64)
    except (TypeError, ValueError):
        raise ConfigError(
            "init must be 'auto', the name of a seeding, a seeding made by make_seeding, or an "
            f"array of start centres; got {type(init).__name__}"
        ) from None


def _starting_at(algorithm: AnyAlgorithm, centers: FloatArray) -> AnyAlgorithm:
    return cast(AnyAlgorithm, replace(cast(Any, algorithm), init=centers))


def _seeding_run(
    plan: Plan, channel: Channel, schema: Schema, sampling: ClientSampling, runner: Runner
) -> Run:
    """One run; where a single client is asked and has too little to say, another is."""
    clients = sorted(channel.clients())
    ways: list[tuple[Channel, ClientSampling]] = [(channel, sampling)]
    if plan.algorithm.traits.one_client:
        order = plan.rng("order", 0).permutation(len(clients))
        ways = [(_Only(channel, clients[i]), ALL_CLIENTS) for i in order]
    for way, who in ways:
        try:
            return runner(plan, way, schema, sampling=who)
        except EmptyRound:
            continue
    raise EmptyRound(
        f"init={plan.algorithm.key!r}: no client has rows enough to propose a start without "
        "sending one; give bounds and init='uniform', or the centres themselves"
    )


class _Only(Wrapper):
    """The same channel, with one client behind it."""

    def __init__(self, channel: Channel, client: str) -> None:
        super().__init__(channel)
        self._client = client

    def clients(self) -> tuple[str, ...]:
        return (self._client,)
