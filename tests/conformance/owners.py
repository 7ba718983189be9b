"""Owners of the columns of one table."""

from typing import Any

import numpy as np

from fedclust.core import (
    Data,
    Schema,
)
from fedclust.typing import FloatArray


def table(n: int = 120, F: int = 6, seed: int = 0) -> FloatArray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, F)) + 5 * rng.integers(0, 3, (n, 1))


def owners(X: FloatArray, who: Any) -> dict[str, Data]:
    who = np.asarray(who)
    return {f"o{o:02d}": Data.of(X[:, who == o]) for o in np.unique(who)}


def schema(X: FloatArray) -> Schema:
    return Schema(X.shape[1], n_records=len(X))
