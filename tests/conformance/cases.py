"""What the conformance suite runs on: every algorithm and every seeding, ready to go."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from fedclust.algorithms import ALGORITHMS, SEEDINGS, make, make_seeding
from fedclust.channels import LocalChannel
from fedclust.core import AnyAlgorithm, Data, Message, Plan, Request, Run, Schema, run
from fedclust.tiers import transforms_for
from fedclust.typing import FloatArray

K = 3
KEYS = list(ALGORITHMS)
SEEDING_KEYS = [key for key in SEEDINGS if key not in ALGORITHMS]
ALL_KEYS = KEYS + SEEDING_KEYS
LOSSLESS = [key for key in KEYS if make(key, K).lossless]
MANY_ROUNDS = [key for key in KEYS if make(key, K).has_parameter("max_rounds")]

SCHEMA = Schema(2, low=np.full(2, -8.0), high=np.full(2, 8.0))


def algorithm(key: str, n_clusters: int = K, **settings: Any) -> AnyAlgorithm:
    """The algorithm or seeding of that key, with a fixed start where it takes one."""
    if key not in ALGORITHMS:
        return make_seeding(key, n_clusters, **settings)
    if key in MANY_ROUNDS and "init" not in settings:
        settings["init"] = np.random.default_rng(7).normal(scale=4, size=(n_clusters, 2))
    return make(key, n_clusters, **settings)


def table(n: int = 90, seed: int = 0) -> FloatArray:
    """Three clusters with some overlap."""
    rng = np.random.default_rng(seed)
    centers = np.array([[-4.0, 0.0], [4.0, 0.0], [0.0, 5.0]])
    return rng.normal(centers[rng.integers(0, 3, n)], 1.2)


def split(X: FloatArray, owner: Any, weight: Any = None) -> dict[str, Data]:
    """Rows by owner; every owner named has a place, even without rows."""
    owner = np.asarray(owner)
    return {
        f"c{int(o):03d}": Data.of(X[owner == o], None if weight is None else weight[owner == o])
        for o in range(int(owner.max()) + 1)
    }


def federation(n: int = 90, n_clients: int = 3, seed: int = 0) -> dict[str, Data]:
    """A small federation, rows dealt in turn."""
    return split(table(n, seed), np.arange(n) % n_clients)


class Recorder(LocalChannel):
    """A channel that keeps what every client sent, and what every client was sent."""

    def __init__(self, data: dict[str, Data], *, strict: bool = False) -> None:
        super().__init__(data, strict=strict)
        self.up: list[tuple[Request, str, Message]] = []
        self.down: list[Request] = []

    def ask(self, plan: Plan, request: Request) -> Iterator[tuple[str, Message]]:
        self.down.append(request)
        for client, message in super().ask(plan, request):
            self.up.append((request, client, message))
            yield client, message


def trace(plan: Plan, data: dict[str, Data], schema: Schema = SCHEMA) -> bytes:
    """All bytes sent up in a run, and its outcome: what a change of any setting must change."""
    channel = Recorder(data)
    done = run(plan, channel, schema)
    sent = [a.tobytes() for *_, message in channel.up for a in message.arrays().values()]
    return b"".join([*sent, done.model.tobytes(), str(done.n_rounds).encode()])


def fit(key: str, data: dict[str, Data], seed: int = 0, **settings: Any) -> Run:
    """Run an algorithm with the rule that estimators give it by default."""
    chosen = algorithm(key, **settings)
    plan = Plan(chosen, transforms_for(chosen, 2, "none"), seed)
    return run(plan, LocalChannel(data), SCHEMA)
