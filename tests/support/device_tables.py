"""Tables, centres and grids for tests of steps on a GPU."""

from typing import Any

import numpy as np

from fedclust.kernels.grid import Grid, make_grid

NO_WEIGHT = np.empty(0)


def table(n: int, width: int, k: int, dtype: Any = np.float64, at: float = 0.0) -> Any:
    """Rows, some of them equal, centres, the last equal to the first, and weights."""
    rng = np.random.default_rng(n + width)
    X = (rng.normal(size=(n, width)) + at).astype(dtype)
    X[3:6] = X[0]
    centers = X[rng.integers(0, n, k)] + rng.normal(size=(k, width)) * 0.3
    centers[-1] = centers[0]
    return X, centers, rng.uniform(0.5, 2.0, n)


def grid_of(width: int) -> Grid:
    return make_grid(np.full(width, -100.0), np.full(width, 100.0), 10**6, 2.0)


def equal(ours: Any, theirs: Any) -> bool:
    return all(a.dtype == b.dtype and (a == b).all() for a, b in zip(ours, theirs, strict=True))
