"""LLF: split rows and columns of eight data sets."""

from functools import cache

import numpy as np

from fedclust.algorithms import make, make_seeding
from fedclust.channels import LocalChannel
from fedclust.core import AnyAlgorithm, ClientSampling, Plan, Schema, run
from fedclust.datasets import dirichlet
from fedclust.kernels import kmeans_plusplus, match_centers, nearest
from fedclust.metrics import soft_davies_bouldin, xie_beni
from fedclust.typing import FloatArray, IntArray

from .shared import Quantities, channel, load_scaled, rand_index

REVISION = 3
STARTS = 10
CLIENTS = 20


def llf(
    seed: int,
    name: str,
    key: str,
    gamma: float = 1.0,
    start: str = "random",
    alpha: float = 0.0,
    n_rounds: int = 30,
) -> Quantities:
    """The five quantities of Tables III and V, and the tolerance index by round.

    The authors have ten starts; further runs of ours take them again, with other splits.
    """
    X, y, k = load_scaled(name)
    schema = Schema(X.shape[1])
    owner = dirichlet(y, CLIENTS, alpha, seed) if alpha else _alike(y, seed // STARTS)
    clients, sampling = channel(X, owner), ClientSampling(fraction=gamma)
    init = _authors_draw(seed % STARTS, k, X.shape[1])
    if start == "seeded" and key != "c2f-fcm":  # C2F-FCM seeds at the server, in its first round
        seeding = make_seeding("careful", k, restarts=1)
        init = run(Plan(seeding, seed=seed), clients, schema, sampling=sampling).model
    plan = Plan(_configure(key, k, init, n_rounds, all_clients=gamma == 1), seed=seed)
    done = run(plan, clients, schema, sampling=sampling)
    central = _pooled(name, seed % STARTS if start == "random" else seed, start, n_rounds)
    labels = nearest(X, done.model)[0]
    quantities = {
        "displacement": float(np.linalg.norm(match_centers(done.model, central) - central)),
        "ARI(sum)": rand_index(nearest(X, central)[0], labels),
        "ARI(true)": rand_index(y, labels),
        "XB": xie_beni(X, done.model),
        "SDB": soft_davies_bouldin(X, done.model),
    }
    return quantities | {f"tolerance@{line.round + 1}": line.shift for line in done.history}


def _alike(y: IntArray, number: int) -> IntArray:
    """Clients with the same share of each class, as in the authors' code, whose seed is 2."""
    from sklearn.model_selection import StratifiedKFold

    owner = np.empty(len(y), dtype=np.int64)
    folds = StratifiedKFold(CLIENTS, shuffle=True, random_state=2 + number)
    for client, (_, rows) in enumerate(folds.split(y, y)):
        owner[rows] = client
    return owner


def _configure(
    key: str, k: int, init: FloatArray, n_rounds: int, *, all_clients: bool
) -> AnyAlgorithm:
    if key == "gdf-fcm":
        return make(key, k, init=init, preset="reference", max_rounds=n_rounds)
    if key != "c2f-fcm":
        return make(key, k, init=init, max_rounds=n_rounds, tol=0.0)
    tol = 1e-12 if all_clients else 0.0  # with all, it rests after a few rounds
    return make(key, k, init=init, preset="baseline", max_rounds=n_rounds, tol=tol)


def _authors_draw(seed: int, k: int, n_features: int) -> FloatArray:
    """Uniform centres, from the generator of the authors' code."""
    drawn: FloatArray = np.random.RandomState(seed).rand(k, n_features)
    return drawn


@cache
def _pooled(name: str, seed: int, start: str, n_rounds: int) -> FloatArray:
    """Fuzzy c-means over all rows, from the same kind of start."""
    X, _, k = load_scaled(name)
    if start == "random":
        init = _authors_draw(seed, k, X.shape[1])
    else:
        init = kmeans_plusplus(X, k, np.random.default_rng(seed))
    chosen = make("llf-fcm", k, init=init, max_rounds=n_rounds, tol=0.0)
    pooled: FloatArray = run(Plan(chosen), channel(X, np.zeros(len(X))), Schema(X.shape[1])).model
    return pooled


def vertical(seed: int, cuts: tuple[int, ...]) -> Quantities:
    """Vertical LLF-FCM on pendigits: change of the distances by round, and ARI."""
    X, y, k = load_scaled("pendigits")
    records = np.random.default_rng(seed).choice(len(X), k, replace=False)
    chosen = make("vertical-llf-fcm", k, init=records, max_rounds=31, tol=0.0)
    owners = LocalChannel(
        {f"o{i:02d}": part for i, part in enumerate(np.split(X, list(cuts), axis=1))}
    )
    done = run(Plan(chosen), owners, Schema(16, n_records=len(X)))
    quantities = {"ARI(true)": rand_index(y, done.model.argmax(axis=1))}
    return quantities | {f"change@{line.round}": line.shift for line in done.history[1:]}
