"""Rows of three clusters, and their owners."""

import numpy as np
import pytest

from fedclust.typing import FloatArray

pd = pytest.importorskip("pandas")


def rows(n: int = 240, seed: int = 0) -> FloatArray:
    rng = np.random.default_rng(seed)
    means = np.array([[0.0, 0.0], [12.0, 0.0], [0.0, 12.0]])
    return rng.normal(means[rng.integers(0, 3, n)], 1.0)


def owners(n: int = 240) -> list[str]:
    return [("bank", "clinic", "shop")[i % 3] for i in range(n)]
