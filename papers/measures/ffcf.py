"""FFCF: the authors' files, and data like them."""

from typing import Any

import numpy as np

from fedclust.algorithms import make
from fedclust.core import Plan, Schema, run
from fedclust.datasets import ffcm_case3
from fedclust.metrics import osse, wsse
from fedclust.typing import FloatArray, IntArray

from .shared import Quantities, channel, coordinates, data_set

REVISION = 2


def ffcf(seed: int, config: int, key: str, preset: str) -> Quantities:
    """Errors within and outside clusters, and rounds, on the authors' files."""
    data = data_set("ffcf_case3")
    selected = data.extra["config"] == config
    X, owner = data.X[selected], np.asarray(data.client)[selected]
    settings: dict[str, Any] = {}
    if key != "ffcf":
        settings = {"init": np.random.default_rng(seed).random((4, 2)), "max_rounds": 100}
    chosen = make(key, 4, preset=preset, **settings)
    done = run(Plan(chosen, seed=seed), channel(X, owner), Schema(2))
    return {
        "within": wsse(X, done.model),
        "outside": osse(X, done.model),
        "rounds": done.n_rounds,
        "bytes": sum(done.sent.values()),
    }


def case_rows() -> tuple[FloatArray, IntArray]:
    """The rows and clients of the picture."""
    data = ffcm_case3(random_state=0)
    return data.X, np.asarray(data.client)


def picture(seed: int) -> Quantities:
    """The poster's picture: centres over three clients that lack two of four clusters each."""
    data = ffcm_case3(random_state=seed)
    plan = Plan(make("ffcf", 4), seed=seed)
    centers = run(plan, channel(data.X, data.client), Schema(2)).model
    return coordinates("center", centers)
