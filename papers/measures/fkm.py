"""FKM: the authors' grids, and digits by writer."""

from functools import cache

import numpy as np

from fedclust.algorithms import make, make_seeding
from fedclust.core import Plan, Schema, rounds, run
from fedclust.datasets import Dataset
from fedclust.kernels import nearest, sq_distances
from fedclust.metrics import client_mean, silhouette
from fedclust.typing import FloatArray, IntArray

from .shared import Quantities, channel, data_set, pooled_k_means, rand_index

REVISION = 3
ROUNDS = 20  # of the authors' 100: after these, their stored means change by at most .004
LOCAL = range(4, 17)  # numbers of local clusters that the informed k-FED tries


@cache
def fkm_file(beta: float, noise: float, points: int) -> Dataset:
    """One of the authors' 55 data sets."""
    data = data_set("fkm_synthetic")
    extra = data.extra
    selected = (extra["beta"] == beta) & (extra["noise"] == noise)
    selected &= extra["points_per_cluster"] == points
    return Dataset(
        "fkm", data.X[selected], np.asarray(data.y)[selected], np.asarray(data.client)[selected]
    )


def fkm(
    seed: int,
    key: str,
    beta: float = 1.0,
    noise: float = 1.0,
    points: int = 50,
    weights: tuple[float, float, int] | None = None,
) -> Quantities:
    """ARI as published, by round: the mean over clients if federated, pooled if central.

    `weights` is another file, whose rows per client are the weights of the mean.
    """
    sizes = np.bincount(np.asarray(fkm_file(*weights).client)) if weights else None
    return _fkm(seed, key, fkm_file(beta, noise, points), sizes=sizes)


def fkm_uneven(seed: int, key: str, n_local: int = 16) -> Quantities:
    """Clients with 1, 4, 7, 10 and 16 clusters (Fig. 4), from the authors' file."""
    return _fkm(seed, key, data_set("fkm_fig4"), n_local)


def informed(seed: int, beta: float) -> Quantities:
    """k-FED with every number of local clusters; the paper reports the best."""
    data = fkm_file(beta, 1.0, 50)
    clients = channel(data.X, data.client)
    found = {}
    for n_local in LOCAL:
        chosen = make("k-fed", 16, preset="reference", n_local=n_local)
        centers = run(Plan(chosen, seed=seed), clients, Schema(2)).model
        found[f"ARI@{n_local}"] = _mean_of_clients(data, centers)
    return found


def _mean_of_clients(data: Dataset, centers: FloatArray, sizes: IntArray | None = None) -> float:
    """The published metric: the mean of each client's own ARI, weighted by its rows."""
    labels = nearest(data.X, centers)[0]
    if sizes is None:
        return client_mean(rand_index, data.y, labels, data.client)
    own = [np.asarray(data.client) == client for client in range(len(sizes))]
    y = np.asarray(data.y)
    values = [rand_index(y[rows], labels[rows]) for rows in own]
    return float(np.average(values, weights=sizes))


def _fkm(
    seed: int, key: str, data: Dataset, n_local: int = 16, sizes: IntArray | None = None
) -> Quantities:
    clients, schema = channel(data.X, data.client), Schema(2)
    curve: dict[str, float] = {}
    if key == "scikit-learn":
        centers = pooled_k_means(data.X, 16, seed, restarts=10)
    elif key == "k-fed":
        plan = Plan(make("k-fed", 16, preset="reference", n_local=n_local), seed=seed)
        centers = run(plan, clients, schema).model
    else:
        by_round = _by_round(seed, key, data)
        centers = by_round[-1]
        curve = {f"ARI@{n + 1}": _mean_of_clients(data, at) for n, at in enumerate(by_round)}
    pooled = rand_index(np.asarray(data.y), nearest(data.X, centers)[0])
    ari = pooled if key == "scikit-learn" else _mean_of_clients(data, centers, sizes)
    return {"ARI": ari, "ARI(pooled)": pooled, **curve}


def _by_round(seed: int, preset: str, data: Dataset) -> list[FloatArray]:
    """The server's centres in each round; the first are those of the seeds."""
    clients, k, schema = channel(data.X, data.client), 16, Schema(2)
    seeding = make_seeding("fkm", k, preset=preset)
    found = [run(Plan(seeding, seed=seed), clients, schema).model]
    chosen = make("fkm", k, preset=preset, init=found[0], max_rounds=ROUNDS - 1, tol=0.0)
    found += [done.state.centers for done in rounds(Plan(chosen, seed=seed), clients, schema)]
    return found + [found[-1]] * (ROUNDS - len(found))  # converged: nothing changes after this


def digits(seed: int, key: str, n_local: int = 60) -> Quantities:
    """Silhouettes of sixty clusters of digits by ten writers."""
    data = data_set("femnist_digits")
    selected = np.asarray(data.client) < 10
    X, owner = data.X[selected].astype(float) / 255, np.asarray(data.client)[selected]
    clients, schema = channel(X, owner), Schema(784)
    if key == "scikit-learn":
        centers = pooled_k_means(X, 60, seed, restarts=10)
    elif key == "fkm":
        seeding = make_seeding("fkm", 60, preset="reference")
        init = run(Plan(seeding, seed=seed), clients, schema).model
        chosen = make("fkm", 60, preset="reference", init=init, max_rounds=ROUNDS - 1)
        centers = run(Plan(chosen, seed=seed), clients, schema).model
    else:
        plan = Plan(make("k-fed", 60, preset="reference", n_local=n_local), seed=seed)
        centers = run(plan, clients, schema).model
    labels = nearest(X, centers)[0]
    return {"silhouette": silhouette(X, labels), "simplified silhouette": _of_means(X, labels)}


def _of_means(X: FloatArray, labels: IntArray) -> float:
    """The authors' simplified silhouette: distances to the means of all rows of a cluster.

    The centres of k-FED are not these means.
    """
    label = np.unique(labels, return_inverse=True)[1]
    means = np.array([X[label == c].mean(axis=0) for c in range(label.max() + 1)])
    distance, row = np.sqrt(sq_distances(X, means)), np.arange(len(X))
    own = distance[row, label]
    distance[row, label] = np.inf
    other = distance.min(axis=1)
    return float(np.mean((other - own) / np.maximum(other, own)))


def rows_of_writers(seed: int) -> Quantities:
    """Images of each of the ten writers (Fig. 7)."""
    owner = np.asarray(data_set("femnist_digits").client)
    return {f"rows@{i + 1}": int((owner == i).sum()) for i in range(10)}
