"""Seed, cluster, score: plans run one after the other over one channel.

Seeding, scoring and restarts are runs like any other; this is the order in which they make a
clustering.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from .algorithms import make_seeding
from .core import (
    EVERYONE,
    AnyAlgorithm,
    Channel,
    ConfigError,
    Participation,
    Plan,
    Run,
    Schema,
    TooFewClients,
    Transform,
    derived,
    run,
)
from .metrics import Evaluation
from .privacy import transforms_for
from .typing import FloatArray

Privacy = str | tuple[Transform, ...]
Init = str | FloatArray | AnyAlgorithm


@dataclass(frozen=True, eq=False)
class Clustering:
    """The best of a few runs, and what all of them cost."""

    algorithm: AnyAlgorithm  # with the start it was given
    run: Run
    inertia: float  # pooled, from a federated run
    sent: Mapping[str, int]  # bytes each client sent in all runs: seeding, clustering, scoring

    @property
    def centers(self) -> FloatArray:
        """The centres found."""
        return cast(FloatArray, self.run.model)


def cluster(
    algorithm: AnyAlgorithm,
    channel: Channel,
    schema: Schema,
    *,
    init: Init = "auto",
    n_init: int = 1,
    privacy: Privacy = "none",
    participation: Participation = EVERYONE,
    seed: int = 0,
) -> Clustering:
    """Seed and run `n_init` times; the lowest pooled inertia wins (DWF's RequestScore)."""
    found: list[Clustering] = []
    sent: dict[str, int] = {}
    for attempt in range(n_init):
        ready, seeding = seeded(
            algorithm, channel, schema, init, privacy, derived(seed, "seeding", attempt)
        )
        transforms = transforms_for(ready, schema.n_features, privacy)
        plan = Plan(ready, transforms, derived(seed, "clustering", attempt))
        done = run(plan, channel, schema, participation=participation)
        score = run(Plan(Evaluation(len(done.model), done.model)), channel, schema)
        for part in (*seeding, done, score):
            for client, size in part.sent.items():
                sent[client] = sent.get(client, 0) + size
        found.append(Clustering(ready, done, score.model, sent))
    return min(found, key=lambda one: one.inertia)


def seeded(
    algorithm: AnyAlgorithm,
    channel: Channel,
    schema: Schema,
    init: Init,
    privacy: Privacy,
    seed: int,
) -> tuple[AnyAlgorithm, list[Run]]:
    """The algorithm with its start centres, and the runs it took to find them."""
    auto = isinstance(init, str) and init == "auto"
    if "init" not in vars(algorithm):
        if not auto:
            raise ConfigError(f"{algorithm.key} needs no start: leave init='auto'")
        return algorithm, []
    if isinstance(init, np.ndarray):
        return _starting_at(algorithm, init), []
    if auto and vars(algorithm)["init"] is not None:
        return algorithm, []
    if isinstance(init, str):
        init = make_seeding(str(algorithm.seeding) if auto else init, algorithm.n_clusters)
    done = _seeding_run(init, channel, schema, privacy, seed)
    return _starting_at(algorithm, done.model), [done]


def _starting_at(algorithm: AnyAlgorithm, centers: FloatArray) -> AnyAlgorithm:
    return cast(AnyAlgorithm, replace(cast(Any, algorithm), init=centers))


def _seeding_run(
    seeding: AnyAlgorithm, channel: Channel, schema: Schema, privacy: Privacy, seed: int
) -> Run:
    """One run; where a single client is asked and has too little to say, another is."""
    transforms = transforms_for(seeding, schema.n_features, privacy)
    tries = 10 * len(list(channel.clients())) if seeding.one_client else 1
    for attempt in range(tries):
        try:
            return run(Plan(seeding, transforms, derived(seed, attempt)), channel, schema)
        except TooFewClients:
            continue
    raise TooFewClients(
        f"init={seeding.key!r}: no client has rows enough to propose a start without sending one; "
        "give bounds and init='uniform', or the centres themselves"
    )
