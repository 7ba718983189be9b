"""A choice of k over generated clients."""

from typing import Any

import numpy as np

from fedclust.algorithms import make
from fedclust.channels import LocalChannel
from fedclust.clustering.choose_k import Choice, choose
from fedclust.core import Data, Schema
from fedclust.typing import FloatArray


def blobs(k: int, n: int = 600, wide: float = 12.0, seed: int = 0, F: int = 2) -> FloatArray:
    """k round clusters on a circle, far apart."""
    rng = np.random.default_rng(seed)
    angle = 2 * np.pi * np.arange(k) / k
    centers = np.zeros((k, F))
    centers[:, 0], centers[:, 1] = wide * np.cos(angle), wide * np.sin(angle)
    return rng.normal(centers[np.arange(n) % k], 1.0)


def split_clients(X: FloatArray, n: int = 4) -> LocalChannel:
    return LocalChannel({f"c{i:02d}": Data.of(X[i::n]) for i in range(n)}, strict=True)


def choose_over(X: FloatArray, key: str = "llf-cm", **settings: Any) -> Choice:
    return choose(
        make(key, 2), split_clients(X), Schema(X.shape[1]), **{"ks": range(2, 9), **settings}
    )
