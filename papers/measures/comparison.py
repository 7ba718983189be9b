"""All algorithms on all data sets."""

from functools import cache

import numpy as np

from fedclust.algorithms import make
from fedclust.clustering.rows import cluster
from fedclust.core import Schema
from fedclust.datasets import dirichlet, fkm_grid, load
from fedclust.kernels import nearest
from fedclust.metrics import adjusted_rand_index
from fedclust.typing import FloatArray, IntArray

from .shared import Quantities, channel, load_scaled


def versus_pooled(seed: int, name: str, key: str, soft: bool) -> Quantities:
    """An algorithm with defaults, 20 clients, Dirichlet 0.5: agreement with pooling, costs."""
    X, y, k = _load_scaled(name)
    owner = dirichlet(y, 20, 0.5, seed)
    best = cluster(
        make("llf-fcm" if soft else "llf-cm", k),
        channel(X, np.zeros(len(X))),
        Schema(X.shape[1]),
        init="careful",
        n_init=3,
        seed=seed,
    )
    algorithm = make(key, k)
    init = "careful" if algorithm.seeding == "micro-clusters" else "auto"
    clustering = cluster(algorithm, channel(X, owner), Schema(X.shape[1]), init=init, seed=seed)
    labels = nearest(X, clustering.centers)[0]
    return {
        "ARI(pooled)": adjusted_rand_index(nearest(X, best.centers)[0], labels),
        "ARI(true)": adjusted_rand_index(y, labels),
        "rounds": clustering.run.n_rounds,
        "bytes": sum(clustering.sent.values()) / 20,
    }


@cache
def _load_scaled(name: str) -> tuple[FloatArray, IntArray, int]:
    if name == "fkm":
        data = fkm_grid(1.0, random_state=0)
    elif name == "penguins":
        data = load("penguins")
    else:
        return load_scaled(name)
    X = (data.X - data.X.min(axis=0)) / np.ptp(data.X, axis=0)
    return X, np.asarray(data.y), len(np.unique(np.asarray(data.y)))
