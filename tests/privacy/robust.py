"""Four stealthy clients of twenty: agreement with the run without them, by means and by medians.

``python -m privacy.robust`` in the folder ``tests`` prints the table of docs/privacy.md.
"""

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from fedclust.algorithms import make
from fedclust.algorithms.centers import Sums
from fedclust.algorithms.robust_c_means import ClusterMeans
from fedclust.channels import LocalChannel
from fedclust.core import Channel, Plan, Request, Schema, run
from fedclust.datasets import dirichlet, iid
from fedclust.kernels import k_means, nearest
from fedclust.typing import FloatArray

from .hostile import Hostile

DATA, SPLITS = ("15 round clusters", "digits"), ("iid", "dirichlet")
N_CLIENTS, N_LIARS, ROUNDS = 20, 4, 15


def table(name: str, seed: int = 0) -> tuple[FloatArray, Any, int]:
    """Rows in the unit cube, their true clusters, and how many there are."""
    if name == "digits":
        found = load_digits()
        return found.data / 16, found.target, 10
    rng = np.random.default_rng(seed)
    centers = rng.uniform(0.1, 0.9, (1, 2))
    while len(centers) < 15:
        drawn = rng.uniform(0.08, 0.92, (30, 2))
        apart = np.linalg.norm(drawn[:, None] - centers, axis=2).min(axis=1)
        centers = np.vstack([centers, drawn[apart.argmax()]])
    y = rng.integers(0, 15, 5000)
    return np.clip(rng.normal(centers[y], 0.025), 0, 1), y, 15


def agreement(name: str, split: str, seed: int) -> tuple[float, float, float]:
    """By means and by medians with liars, and by medians without."""
    X, y, k = table(name)
    rng = np.random.default_rng(seed)
    near = k_means(X, k, rng, np.ones(len(X)), restarts=5)
    start = near + rng.normal(0, 0.02, near.shape)
    owner = iid(len(X), N_CLIENTS, seed) if split == "iid" else dirichlet(y, N_CLIENTS, 0.5, seed)
    data = {f"c{m:02d}": X[owner == m] for m in range(N_CLIENTS)}
    liars = tuple(f"c{m:02d}" for m in rng.choice(N_CLIENTS, N_LIARS, replace=False))
    honest, lied = LocalChannel(data), Hostile(data, liars, pulling_to_a_corner)

    def labels(key: str, channel: Channel) -> Any:
        plan = Plan(make(key, k, init=start, max_rounds=ROUNDS))
        return nearest(X, run(plan, channel, Schema(X.shape[1])).model)[0]

    clean = labels("llf-cm", honest)
    runs = (("llf-cm", lied), ("robust-cm", lied), ("robust-cm", honest))
    means, medians, alone = (adjusted_rand_score(clean, labels(*one)) for one in runs)
    return means, medians, alone


def pulling_to_a_corner(request: Request, message: Any) -> Any:
    """As many rows as it has, all of them in one corner: within every bound."""
    F = (message.mean if isinstance(message, ClusterMeans) else message.total).shape[1]
    corner = np.where(np.arange(F) % 2 == 0, 0.98, 0.02)
    if isinstance(message, ClusterMeans):
        return ClusterMeans(message.mean * 0 + corner, message.weight, message.cluster)
    return Sums(message.weight, message.weight[:, None] * corner)


def lines(n_seeds: int = 5) -> Iterator[str]:
    """The table, line by line."""
    yield "| data | split | means, 4 of 20 lie | medians, 4 of 20 lie | medians, nobody lies |"
    yield "|---|---|---|---|---|"
    for name in DATA:
        for split in SPLITS:
            found = np.array([agreement(name, split, seed) for seed in range(n_seeds)])
            cells = [
                f"{m:.2f} ({least:.2f})"
                for m, least in zip(found.mean(axis=0), found.min(axis=0), strict=True)
            ]
            yield f"| {name} | {split} | {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.stdout.write("\n".join(lines()) + "\n")
