"""Records whose columns are split between two owners."""

from typing import Any

import numpy as np
import pytest

from fedclust.typing import FloatArray

pd = pytest.importorskip("pandas")


def rows(n: int = 150, seed: int = 0) -> FloatArray:
    rng = np.random.default_rng(seed)
    means = np.array([[0.0, 0, 0, 0], [12, 0, 5, 0], [0, 12, 0, 5]])
    return rng.normal(means[rng.integers(0, 3, n)], 1.0)


def frames(n: int = 150) -> dict[str, Any]:
    """A bank and a telecom with different columns, row orders and partly different people."""
    X, rng = rows(n), np.random.default_rng(9)
    bank = pd.DataFrame(X[:, :2], columns=["income", "debt"]).assign(customer=np.arange(n))
    phone = pd.DataFrame(X[:, 2:], columns=["calls", "data"])
    phone["customer"] = [f" {i}" for i in range(n)]
    return {
        "bank": bank.iloc[rng.permutation(n)[: n - 20]],
        "telecom": phone.iloc[rng.permutation(n)[: n - 30]],
    }
