"""All algorithms on all data sets."""

from functools import cache

import numpy as np

from fedclust.algorithms import make
from fedclust.clustering.rows import cluster
from fedclust.core import Schema
from fedclust.datasets import dirichlet, fkm_grid, load
from fedclust.kernels import nearest
from fedclust.kernels.search import fuzzy_objective
from fedclust.typing import FloatArray, IntArray

from .shared import Quantities, channel, load_scaled, rand_index


def versus_pooled(seed: int, name: str, key: str, soft: bool) -> Quantities:
    """An algorithm with defaults, 20 clients, Dirichlet 0.5: how close to pooling, and costs."""
    X, y, k = _load_scaled(name)
    owner = dirichlet(y, 20, 0.5, seed)
    pooled, best = _pool(name, soft)
    clustering = cluster(make(key, k), channel(X, owner), Schema(X.shape[1]), seed=seed)
    labels = nearest(X, clustering.centers)[0]
    return {
        "objective": _evaluate(X, clustering.centers, soft) / best,
        "ARI(pooled)": rand_index(pooled, labels),
        "ARI(true)": rand_index(y, labels),
        "rounds": clustering.run.n_rounds,
        "bytes": sum(clustering.sent.values()) / 20,
    }


@cache
def _pool(name: str, soft: bool) -> tuple[IntArray, float]:
    """Labels and objective of the pooled result: the best of three starts."""
    X, _, k = _load_scaled(name)
    algorithm = make("llf-fcm" if soft else "llf-cm", k)
    everybody = channel(X, np.zeros(len(X)))
    found = [cluster(algorithm, everybody, Schema(X.shape[1]), seed=seed) for seed in range(3)]
    best = min(found, key=lambda clustering: _evaluate(X, clustering.centers, soft))
    return nearest(X, best.centers)[0], _evaluate(X, best.centers, soft)


def _evaluate(X: FloatArray, centers: FloatArray, soft: bool) -> float:
    """The objective of fuzzy c-means (m = 2), or the inertia, of centres over all rows."""
    if soft:
        return fuzzy_objective(X, centers, 2.0, np.ones(len(X)))
    return float((nearest(X, centers)[1]).sum())


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
