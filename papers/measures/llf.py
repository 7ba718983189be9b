"""LLF: split rows and columns of eight data sets."""

from typing import Any

import numpy as np

from fedclust.algorithms import make, make_seeding
from fedclust.channels import LocalChannel
from fedclust.core import ClientSampling, Plan, Schema, run
from fedclust.datasets import dirichlet, iid
from fedclust.kernels import kmeans_plusplus, match_centers, nearest
from fedclust.metrics import adjusted_rand_index, soft_davies_bouldin, xie_beni
from fedclust.typing import FloatArray

from .shared import Quantities, channel, load_scaled


def llf(
    seed: int, name: str, key: str, gamma: float = 1.0, start: str = "random", alpha: float = 0.0
) -> Quantities:
    """The five quantities of Tables III and V, and the tolerance index by round."""
    X, y, k = load_scaled(name)
    F = X.shape[1]
    owner = dirichlet(y, 20, alpha, seed) if alpha else iid(len(X), 20, 42)
    clients, sampling = channel(X, owner), ClientSampling(fraction=gamma)
    rng = np.random.default_rng(seed)
    settings: dict[str, Any] = {"max_rounds": 30, "tol": 0.0}
    if key == "gdf-fcm":
        settings = {"preset": "reference"}
    elif key == "c2f-fcm":  # one k-means++ start at the server, as in scikit-learn today
        settings["restarts"] = 1
    if start == "random":
        init: FloatArray = np.random.RandomState(seed).rand(k, F)
        central_init = init
    else:
        seeding = make_seeding("careful", k)
        init = run(Plan(seeding, seed=seed), clients, Schema(F), sampling=sampling).model
        central_init = kmeans_plusplus(X, k, rng)
    plan = Plan(make(key, k, init=init, **settings), seed=seed)
    pooled = make("llf-fcm", k, init=central_init, max_rounds=30, tol=0.0)
    central = run(Plan(pooled), channel(X, np.zeros(len(X))), Schema(F)).model
    done = run(plan, clients, Schema(F), sampling=sampling)
    labels = nearest(X, done.model)[0]
    quantities = {
        "displacement": float(np.linalg.norm(match_centers(done.model, central) - central)),
        "ARI(sum)": adjusted_rand_index(nearest(X, central)[0], labels),
        "ARI(true)": adjusted_rand_index(y, labels),
        "XB": xie_beni(X, done.model),
        "SDB": soft_davies_bouldin(X, done.model),
    }
    return quantities | {f"tolerance@{line.round + 1}": line.shift for line in done.history}


def vertical(seed: int, cuts: tuple[int, ...]) -> Quantities:
    """Vertical LLF-FCM on pendigits: change of the distances by round, and ARI."""
    X, y, k = load_scaled("pendigits")
    records = np.random.default_rng(seed).choice(len(X), k, replace=False)
    chosen = make("vertical-llf-fcm", k, init=records, max_rounds=31, tol=0.0)
    owners = LocalChannel(
        {f"o{i:02d}": part for i, part in enumerate(np.split(X, list(cuts), axis=1))}
    )
    done = run(Plan(chosen), owners, Schema(16, n_records=len(X)))
    quantities = {"ARI(true)": adjusted_rand_index(y, done.model.argmax(axis=1))}
    return quantities | {f"change@{line.round}": line.shift for line in done.history[1:]}
