"""FFCF: the authors' files."""

from typing import Any

import numpy as np

from fedclust.algorithms import make
from fedclust.core import Plan, Schema, run
from fedclust.metrics import osse, wsse

from .shared import Quantities, channel, data_set


def ffcf(seed: int, config: int, key: str, preset: str) -> Quantities:
    """Errors within and outside clusters, and rounds, on the authors' files."""
    data = data_set("ffcf_case3")
    selected = data.extra["config"] == config
    X, owner = data.X[selected], np.asarray(data.client)[selected]
    settings: dict[str, Any] = {}
    if key != "ffcf":
        settings = {"init": np.random.default_rng(seed).random((4, 2)), "max_rounds": 100}
    done = run(
        Plan(make(key, 4, preset=preset, **settings), seed=seed), channel(X, owner), Schema(2)
    )
    return {
        "within": wsse(X, done.model),
        "outside": osse(X, done.model),
        "rounds": done.n_rounds,
        "bytes": sum(done.sent.values()),
    }
