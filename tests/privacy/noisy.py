"""Data for runs with noise: public bounds, and clusters that can be found."""

from typing import Any

import numpy as np

from fedclust.core import Schema
from fedclust.typing import FloatArray

BOX = Schema(2, low=np.zeros(2), high=np.ones(2))


def s1(n: int, seed: int) -> tuple[FloatArray, Any]:
    """Fifteen Gaussian clusters in the unit square, apart as those of the set S1."""
    rng = np.random.default_rng(seed)
    while True:
        centers = rng.uniform(0.1, 0.9, (15, 2))
        apart = np.linalg.norm(centers[:, None] - centers, axis=2) + 9 * np.eye(15)
        if apart.min() > 0.14:
            break
    y = rng.integers(0, 15, n)
    return np.clip(rng.normal(centers[y], 0.028), 0, 1), y
