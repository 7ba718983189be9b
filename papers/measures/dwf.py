"""DWF: blobs, MNIST and FEMNIST with a hundred clients."""

from collections.abc import Callable
from functools import cache, lru_cache, partial
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from fedclust.algorithms import make, make_seeding
from fedclust.core import AnyAlgorithm, ClientSampling, Plan, Schema, run
from fedclust.datasets import by_k_means, dwf_blobs
from fedclust.kernels import nearest
from fedclust.metrics import majority_accuracy, score, v_measure
from fedclust.typing import Array, FloatArray, IntArray, Rng

from .shared import Quantities, channel, coordinates, data_set, pooled_k_means

REVISION = 2
TOY_MEANS = np.array([[0.0, 0.0], [5.0, 0.0], [0.0, 5.0]])
SHARES = {"IID": 1.0, "half-IID": 0.5, "non-IID": 0.0}
MNIST_ROWS = 10_000  # the paper used the first 10,000 training images: only they give its k-means
_KEPT = 400  # splits and starts that a process keeps: several tasks share them


class Rows(NamedTuple):
    """Rows, labels, number of clusters, and the clients if the data set comes with them."""

    X: FloatArray
    y: IntArray
    k: int
    owner: IntArray | None = None


def dwf(
    seed: int, name: str, split: str, key: str, n_clients: int = 100, n_sampled: int = 100
) -> Quantities:
    """Score, accuracy and v-measure of all rows, and rounds."""
    X, y, k, _ = _rows(name, split)
    if key == "scikit-learn":
        centers, n_rounds = pooled_k_means(X, k, seed, restarts=1), 0
    else:
        init = None if key == "k-fed" else _start(seed, name, split, n_clients)
        owner = _owners(seed, name, split, n_clients)
        centers, n_rounds = _federated(seed, key, X, owner, k, n_sampled / n_clients, init)
    labels = nearest(X, centers)[0]
    return {
        "score": score(X, centers),
        "accuracy": majority_accuracy(y, labels),
        "v-measure": v_measure(y, labels),
        "rounds": n_rounds,
    }


@lru_cache(_KEPT)
def _owners(seed: int, name: str, split: str, n_clients: int) -> IntArray:
    """The client of each row."""
    rows = _rows(name, split)
    if rows.owner is not None:
        return rows.owner
    return by_k_means(rows.X, n_clients, SHARES[split], seed)


@lru_cache(_KEPT)
def _start(seed: int, name: str, split: str, n_clients: int) -> FloatArray:
    """Where DWF and EWF start. The authors' initialiser asks every client, in a round or not."""
    rows = _rows(name, split)
    clients = channel(rows.X, _owners(seed, name, split, n_clients))
    seeding = make_seeding("one-shot", rows.k, preset="reference")
    init: FloatArray = run(Plan(seeding, seed=seed), clients, Schema(rows.X.shape[1])).model
    return init


def _federated(
    seed: int,
    key: str,
    X: FloatArray,
    owner: IntArray,
    k: int,
    fraction: float,
    init: FloatArray | None,
) -> tuple[FloatArray, int]:
    """Centres and rounds."""
    clients, schema = channel(X, owner), Schema(X.shape[1])
    if init is None:
        chosen = make("one-shot", k, preset="baseline")
    else:
        chosen = _iterative(key, X.dtype)(k, init=init)
    sampling = ClientSampling(fraction=fraction)
    done = run(Plan(chosen, seed=seed), clients, schema, sampling=sampling)
    return done.model, done.n_rounds


def _iterative(key: str, dtype: np.dtype[Any]) -> Callable[..., AnyAlgorithm]:
    """DWF or EWF as in the paper; for images the same algorithm with clients that remember."""
    if dtype == np.float32 and find_spec("numba") is not None:
        from .remembering import REMEMBERING

        return REMEMBERING[key].reference
    return partial(make, key, preset="reference")


@cache
def _rows(name: str, split: str) -> Rows:
    """The rows of an experiment; images in single precision, to halve the time."""
    if name == "synthetic":
        blobs = dwf_blobs()
        return Rows(blobs.X, np.asarray(blobs.y), 5)
    if name == "mnist":
        images = data_set("mnist")
        return Rows(_pixels(images.X[:MNIST_ROWS]), np.asarray(images.y)[:MNIST_ROWS], 20)
    part = {"IID": "iid", "half-IID": "half_iid"}[split]
    files = data_set("femnist_dwf").extra
    return Rows(_pixels(files[f"X_{part}"]), files[f"y_{part}"], 64, files[f"client_{part}"])


def _pixels(images: Array) -> FloatArray:
    return images.astype(np.float32) / np.float32(255)


def absent_client(seed: int, equal: bool, relocate: bool) -> Quantities:
    """Fig. 1: three blobs, one client each, one of them not sampled: where the centres go.

    fedclust never relocates an empty centre; the two scenarios that do are computed here.
    """
    rng = np.random.default_rng(seed)
    blobs = _blobs(rng)
    start = TOY_MEANS + rng.normal(0, 0.4, (3, 2))
    if relocate:
        moved = _with_relocation(blobs[:2], start, equal)
    else:
        clients = channel(np.vstack(blobs[:2]), np.repeat([0, 1], 40))
        chosen = make("ewf" if equal else "dwf", 3, init=start, max_rounds=1)
        moved = run(Plan(chosen), clients, Schema(2)).model
    return {
        "absent": float(np.linalg.norm(moved[2] - start[2])),
        "present": float(np.linalg.norm(moved[:2] - start[:2])),
        **coordinates("start", start),
        **coordinates("end", moved),
    }


def toy_rows() -> tuple[FloatArray, IntArray]:
    """The rows and clients of the first run of Fig. 1."""
    return np.vstack(_blobs(np.random.default_rng(0))), np.repeat([0, 1, 2], 40)


def _blobs(rng: Rng) -> list[FloatArray]:
    return [rng.normal(mean, 0.3, (40, 2)) for mean in TOY_MEANS]


def _with_relocation(clients: list[FloatArray], start: FloatArray, equal: bool) -> FloatArray:
    """One round in which a client moves an empty centre to its row that is farthest from all."""
    trained, held = [], []
    for X in clients:
        centers = start.copy()
        held.append(np.bincount(nearest(X, start)[0], minlength=3))
        for _ in range(5):
            labels, d2 = nearest(X, centers)
            far = X[np.argsort(-d2)]
            centers = np.array(
                [X[labels == c].mean(axis=0) if (labels == c).any() else far[c] for c in range(3)]
            )
        trained.append(centers)
    weight = np.ones((len(clients), 3)) if equal else np.array(held, dtype=float)
    weight[:, weight.sum(axis=0) == 0] = 1.0  # Eq. 4
    moved: FloatArray = np.einsum("mc,mcf->cf", weight / weight.sum(axis=0), np.array(trained))
    return moved
