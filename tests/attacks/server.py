"""A server that follows the protocol and keeps everything it sees."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes, load_iris, load_wine

from fedclust.algorithms import make
from fedclust.algorithms.bounded import STEPS
from fedclust.algorithms.bounded_c_means import CentersAndReach
from fedclust.algorithms.micro_clusters import MicroClusters, MicroSeeding, RivalSteps
from fedclust.channels import LocalChannel
from fedclust.clustering.rows import cluster
from fedclust.core import Data, Message, Plan, Refusal, Request, Schema, TooFewClients
from fedclust.privacy import FixedPoint
from fedclust.typing import FloatArray

LOADERS = {"iris": (load_iris, 3), "wine": (load_wine, 3), "diabetes": (load_diabetes, 5)}
EVERYBODY = "all together"


@dataclass(frozen=True, eq=False)
class Look:
    """Counts and sums that one sender reported, at centres the server had chosen."""

    who: str
    centers: FloatArray  # (C, F)
    count: FloatArray  # (C,)
    total: FloatArray  # (C, F)


def table(name: str) -> tuple[FloatArray, int]:
    """A data set in the unit cube, and a number of clusters for it."""
    load, k = LOADERS[name]
    X = np.asarray(load().data, dtype=float)
    return (X - X.min(axis=0)) / np.ptp(X, axis=0), k


def dealt(X: FloatArray, n_clients: int, seed: int) -> dict[str, FloatArray]:
    """Rows to clients at random, in equal shares."""
    order = np.random.default_rng(seed).permutation(len(X))
    return {f"c{i:02d}": X[part] for i, part in enumerate(np.array_split(order, n_clients))}


class CuriousServer(LocalChannel):
    """The way to the clients, with a notebook."""

    def __init__(self, data: Any) -> None:
        super().__init__(data, strict=True)
        self.notes: list[tuple[Plan, Request, str, Message]] = []

    def ask(self, plan: Plan, request: Request) -> Iterator[tuple[str, Message]]:
        for client, message in super().ask(plan, request):
            self.notes.append((plan, request, client, message))
            yield client, message

    def looks(self, *, rounded: bool = True) -> list[Look]:
        """Sums at centres: of every client as they came, and of all clients together.

        Sums of small groups in the default start are rounded, which misleads differences.
        """
        found: list[Look] = []
        rounds: dict[int, list[tuple[Plan, Request, str, Message]]] = {}
        for note in self.notes:
            if hasattr(note[1].down, "centers") and note[0].algorithm.key != "evaluation":
                rounds.setdefault(id(note[1]), []).append(note)
        for asked in rounds.values():
            plan, request = asked[0][:2]
            if not rounded and isinstance(plan.algorithm, MicroClusters | MicroSeeding):
                continue
            merged = type(asked[0][3]).merge([message for *_, message in asked])
            for who, message in [*((who, m) for *_, who, m in asked), (EVERYBODY, merged)]:
                found += _split_starts(plan, _look(plan, request, who, message))
        return found


def _split_starts(plan: Plan, look: Look) -> list[Look]:
    """One look for each of several starts that were compared; none if only scores were sent."""
    if not isinstance(plan.algorithm, RivalSteps):
        return [look]
    k = plan.algorithm.n_clusters
    return [
        Look(look.who, look.centers[i : i + k], look.count[i : i + k], look.total[i : i + k])
        for i in range(0, len(look.count), k)
    ]


def _look(plan: Plan, request: Request, who: str, message: Any) -> Look:
    centers = np.asarray(request.down.arrays()["centers"])
    if isinstance(request.down, CentersAndReach):  # noised: sums around centres, in the cube
        algorithm: Any = plan.algorithm
        sums = message.values.reshape(len(centers), -1) / STEPS
        count = sums[:, 0] / (request.down.reach / 2)
        total = count[:, None] * centers + sums[:, 1:] * algorithm.unit
        return Look(who, centers, count, total)
    for transform in plan.transforms:
        if isinstance(transform, FixedPoint):
            message = message.off_grid(transform.grid)
    return Look(who, centers, np.asarray(message.weight), np.asarray(message.total))


def watched(
    data: dict[str, Any],
    k: int,
    privacy: Any,
    *,
    key: str = "llf-cm",
    n_init: int = 1,
    seed: int = 0,
    start: str = "auto",
    **settings: Any,
) -> tuple[CuriousServer, Any]:
    """What a server keeps of a clustering, as far as clients let it go, and the outcome."""
    server = CuriousServer(data)
    first = next(iter(data.values()))
    X = first.X if isinstance(first, Data) else first
    F = X.shape[1]
    schema = Schema(F, low=np.zeros(F), high=np.ones(F))
    found = None
    with suppress(Refusal, TooFewClients):
        chosen = make(key, k, **settings)
        how: dict[str, Any] = {"n_init": n_init, "init": start, "privacy": privacy, "seed": seed}
        found = cluster(chosen, server, schema, **how)
    return server, found


def exact(found: FloatArray, X: FloatArray, within: float = 1e-6) -> int:
    """How many different records of X are among the vectors found."""
    if len(found) == 0:
        return 0
    gap = np.abs(found[:, None] - X).max(axis=2)
    return int((gap.min(axis=0) <= within).sum())
