"""DWF: blobs and MNIST with a hundred clients."""

from functools import cache

import numpy as np

from fedclust.algorithms import make, make_seeding
from fedclust.channels import LocalChannel
from fedclust.core import ClientSampling, Data, Plan, Schema, run
from fedclust.datasets import by_k_means, dwf_blobs
from fedclust.kernels import k_means, nearest
from fedclust.metrics import majority_accuracy, score, v_measure
from fedclust.typing import FloatArray, IntArray

from .shared import Quantities, channel, data_set

SMALL_STEP = {"max_rounds": 300}  # for 60,000 images: the centres hardly move after that
SHARES = {"IID": 1.0, "half-IID": 0.5, "non-IID": 0.0}


def dwf(
    seed: int, name: str, split: str, key: str, n_clients: int = 100, n_sampled: int = 100
) -> Quantities:
    """Score, accuracy and v-measure of all rows, and rounds."""
    X, y, k = _rows(name)
    F = X.shape[1]
    n_rounds = 0
    if key == "k-means":
        centers = k_means(X, k, np.random.default_rng(seed), restarts=1)
    else:
        owner = (
            np.asarray(data_set("mnist").client)
            if split == "writers"
            else by_k_means(X, n_clients, SHARES[split], seed)
        )
        clients, sampling = channel(X, owner), ClientSampling(fraction=n_sampled / n_clients)
        seeding = make_seeding("one-shot", k, preset="reference")
        first = run(Plan(seeding, seed=seed), clients, Schema(F), sampling=sampling)
        centers, n_rounds = first.model, first.n_rounds
        if key != "one-shot":
            settings = {} if name == "synthetic" else SMALL_STEP
            chosen = make(key, k, preset="reference", init=centers, **settings)
            done = run(Plan(chosen, seed=seed), clients, Schema(F), sampling=sampling)
            centers, n_rounds = done.model, done.n_rounds
    labels = nearest(X, centers)[0]
    return {
        "score": score(X, centers),
        "accuracy": majority_accuracy(y, labels),
        "v-measure": v_measure(y, labels),
        "rounds": n_rounds,
    }


@cache
def _rows(name: str) -> tuple[FloatArray, IntArray, int]:
    """Rows, labels, number of clusters; images in single precision, to halve the time."""
    if name == "synthetic":
        data = dwf_blobs()
        return data.X, np.asarray(data.y), 5
    images = data_set("mnist")
    return images.X.astype(np.float32) / np.float32(255), np.asarray(images.y), 20


def absent_client(seed: int, key: str) -> Quantities:
    """Fig. 1: three blobs, one client each, one not sampled: how far its centre moves."""
    rng = np.random.default_rng(seed)
    means = np.array([[0.0, 0.0], [5.0, 0.0], [0.0, 5.0]])
    blobs = {f"c{i}": Data.of(rng.normal(a, 0.3, (40, 2))) for i, a in enumerate(means)}
    start = means + rng.normal(0, 0.4, (3, 2))
    present = {name: blobs[name] for name in ("c0", "c1")}
    moved = run(
        Plan(make(key, 3, init=start, max_rounds=1)), LocalChannel(present), Schema(2)
    ).model
    return {
        "absent": float(np.linalg.norm(moved[2] - start[2])),
        "present": float(np.linalg.norm(moved[:2] - start[:2])),
    }
