"""FKM: the authors' grids, and digits by writer."""

from functools import cache

import numpy as np

from fedclust.algorithms import make, make_seeding
from fedclust.clustering.rows import cluster
from fedclust.core import Plan, Schema, rounds, run
from fedclust.datasets import Dataset, fkm_grid, locally_absent
from fedclust.kernels import k_means, nearest
from fedclust.metrics import adjusted_rand_index, client_mean, silhouette, simplified_silhouette
from fedclust.typing import FloatArray

from .shared import Found, channel, data_set


@cache
def fkm_file(beta: float, noise: float, points: int) -> Dataset:
    """One of the authors' 55 sets."""
    data = data_set("fkm_synthetic")
    extra = data.extra
    here = (extra["beta"] == beta) & (extra["noise"] == noise)
    here &= extra["points_per_cluster"] == points
    return Dataset("fkm", data.X[here], np.asarray(data.y)[here], np.asarray(data.client)[here])


def fkm(seed: int, key: str, beta: float = 1.0, noise: float = 1.0, points: int = 50) -> Found:
    """The mean of the clients' own ARI, as published, the pooled ARI, and ARI by round."""
    return _fkm(seed, key, fkm_file(beta, noise, points))


def fkm_uneven(seed: int, key: str) -> Found:
    """Clients with 1, 4, 7, 10 and 16 clusters (Fig. 4), drawn anew."""
    data = fkm_grid(1.0, random_state=seed)
    order = np.random.default_rng(seed).permutation(16)
    holdings = [order[:n].tolist() for n in (16, 1, 4, 7, 10)]
    owner = locally_absent(data.y, holdings, seed)
    return _fkm(seed, key, Dataset("fkm-uneven", data.X, data.y, owner))


def _fkm(seed: int, key: str, data: Dataset) -> Found:
    X, y, owner = data.X, data.y, data.client

    def judged(centers: FloatArray) -> float:
        return client_mean(adjusted_rand_index, y, nearest(X, centers)[0], owner)

    if key == "central":
        centers = k_means(X, 16, np.random.default_rng(seed), restarts=10)
        return {
            "ARI": judged(centers),
            "ARI(pooled)": adjusted_rand_index(y, nearest(X, centers)[0]),
        }
    clients, curve = channel(X, owner), {}
    if key.startswith("k-fed"):
        centers = run(
            Plan(make("k-fed", 16, preset="reference"), seed=seed), clients, Schema(2)
        ).model
    else:
        preset = "reference" if key == "fkm, reference" else "default"
        seeding = make_seeding("fkm", 16, preset=preset)
        init = run(Plan(seeding, seed=seed), clients, Schema(2)).model
        chosen = make("fkm", 16, preset=preset, init=init, max_rounds=20, tol=0.0)
        for done in rounds(Plan(chosen, seed=seed), clients, Schema(2)):
            centers = done.state.centers
            curve[f"ARI@{done.number + 1}"] = judged(centers)
        for number in range(len(curve), 20):  # at rest: nothing changes any more
            curve[f"ARI@{number + 1}"] = judged(centers)
    pooled = adjusted_rand_index(y, nearest(X, centers)[0])
    return {"ARI": judged(centers), "ARI(pooled)": pooled, **curve}


def femnist(seed: int, key: str) -> Found:
    """Silhouettes of sixty clusters of the first ten writers' digits."""
    data = data_set("femnist_digits")
    here = np.asarray(data.client) < 10
    X, owner = data.X[here].astype(float) / 255, np.asarray(data.client)[here]
    if key == "central":
        centers = k_means(X, 60, np.random.default_rng(seed), restarts=10)
    elif key == "fkm":
        chosen = make("fkm", 60, max_rounds=20)
        centers = cluster(chosen, channel(X, owner), Schema(784), seed=seed).centers
    else:
        plan = Plan(make("k-fed", 60, preset="reference"), seed=seed)
        centers = run(plan, channel(X, owner), Schema(784)).model
    return {
        "silhouette": silhouette(X, nearest(X, centers)[0]),
        "simplified silhouette": simplified_silhouette(X, centers),
    }
