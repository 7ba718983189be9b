"""One client, asked through its gate."""

from typing import Any

import numpy as np

from fedclust.algorithms import make
from fedclust.algorithms.centers import Centers
from fedclust.core import (
    Data,
    Message,
    Plan,
    Request,
    Transform,
    respond,
)
from fedclust.privacy import ClientPolicy
from fedclust.typing import FloatArray


def rows(n: int = 60, seed: int = 0) -> FloatArray:
    return np.random.default_rng(seed).random((n, 2))


def answer(
    policy: ClientPolicy | None,
    centers: Any = ((0.2, 0.2), (0.8, 0.8)),
    *,
    round: int = 0,
    cohort: tuple[str, ...] = ("a", "b", "c"),
    transforms: tuple[Transform, ...] = (),
    X: FloatArray | None = None,
    seed: int = 0,
) -> Message:
    plan = Plan(make("llf-cm", 2), transforms, seed)
    data = Data(rows() if X is None else X, np.empty(0), policy=policy)
    down = Centers(np.array(centers, dtype=float))
    return respond(plan, Request(round, cohort, down), "a", data)
