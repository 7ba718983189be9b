"""How well clusters are found under noise."""

from typing import Any

import numpy as np
import pytest

from fedclust.algorithms import make
from fedclust.channels import LocalChannel
from fedclust.core import Schema
from fedclust.typing import FloatArray

pytest.importorskip("opendp")
from .noisy import s1


def blobs(n: int, seed: int) -> tuple[FloatArray, Any]:
    """Eight blobs in ten dimensions."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 8, n)
    centers = rng.uniform(0.15, 0.85, (8, 10))
    return np.clip(rng.normal(centers[y], 0.06), 0, 1), y


def agreement(make_rows: Any, n: int, k: int, key: str, seeds: range, tier: Any) -> list[float]:
    from sklearn.metrics import adjusted_rand_score

    from fedclust.clustering.rows import cluster
    from fedclust.kernels import nearest

    found = []
    for seed in seeds:
        X, y = make_rows(n, seed)
        F = X.shape[1]
        schema = Schema(F, low=np.zeros(F), high=np.ones(F))
        data = {f"c{i:02d}": X[i::10] for i in range(10)}
        done = cluster(make(key, k), LocalChannel(data), schema, privacy=tier, seed=seed)
        found.append(adjusted_rand_score(y, nearest(X, done.centers)[0]))
    return found


def test_at_epsilon_one_the_clusters_are_found() -> None:
    assert min(agreement(s1, 20_000, 15, "llf-cm", range(2), "secure+dp")) > 0.93
    assert min(agreement(blobs, 20_000, 8, "llf-fcm", range(2), "secure+dp")) > 0.93


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "n", "k", "key", "bar"),
    [
        (s1, 20_000, 15, "llf-cm", 0.97),
        (s1, 20_000, 15, "llf-fcm", 0.96),
        (s1, 5_000, 15, "llf-cm", 0.95),
        (blobs, 20_000, 8, "llf-cm", 0.95),
        (blobs, 20_000, 8, "llf-fcm", 0.95),
    ],
)
def test_utility_at_epsilon_one_over_ten_seeds(
    rows: Any, n: int, k: int, key: str, bar: float
) -> None:
    assert np.mean(agreement(rows, n, k, key, range(10), "secure+dp")) >= bar
