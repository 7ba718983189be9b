"""Summaries of generated rows, split between clients in any way."""

import numpy as np

from fedclust.channels import LocalChannel
from fedclust.clustering.summary import MICRO, DataSummary, SummaryRun
from fedclust.core import Data, Schema
from fedclust.tiers import tier_of
from fedclust.typing import FloatArray, IntArray

LOW, HIGH = -30.0, 30.0


def blobs(k: int, n: int = 600, F: int = 2, seed: int = 0, wide: float = 12.0) -> FloatArray:
    """k round clusters of deviation 1 on a circle."""
    rng = np.random.default_rng(seed)
    angle = 2 * np.pi * np.arange(k) / k
    centers = np.zeros((k, F))
    centers[:, 0], centers[:, 1] = wide * np.cos(angle), wide * np.sin(angle)
    return rng.normal(centers[np.arange(n) % k], 1.0)


def summarise(
    X: FloatArray,
    owner: IntArray | None = None,
    tier: str = "none",
    n_micro: int = MICRO,
    weight: FloatArray | None = None,
) -> DataSummary:
    """The summary of rows whose owners are given; by default, three clients in turn."""
    owner = np.arange(len(X)) % 3 if owner is None else owner
    clients = {
        f"c{o}": Data.of(X[owner == o], None if weight is None else weight[owner == o])
        for o in range(int(owner.max()) + 1)
    }
    schema = Schema(X.shape[1])
    if tier != "none":
        low, high = np.full(X.shape[1], LOW), np.full(X.shape[1], HIGH)
        schema = Schema(X.shape[1], low=low, high=high)
    protected = tier_of(tier)
    channel = protected.channel(LocalChannel(clients))
    return SummaryRun(channel, schema, protected).learn(n_micro)
