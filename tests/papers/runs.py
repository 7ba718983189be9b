"""Helpers of the papers' tests: channels to data sets, and comparison with published values."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from fedclust.channels import LocalChannel
from fedclust.core import Data
from fedclust.datasets import Dataset
from fedclust.typing import FloatArray


def channel(X: FloatArray, owner: Any) -> LocalChannel:
    """One client per distinct owner."""
    owner = np.asarray(owner)
    return LocalChannel({f"c{int(o):03d}": Data.of(X[owner == o]) for o in np.unique(owner)})


def min_max(X: FloatArray) -> FloatArray:
    """Every feature scaled to [0, 1], as in the LLF paper."""
    scaled: FloatArray = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
    return scaled


def per_client(index: Any, data: Dataset, centers: FloatArray) -> float:
    """Unweighted mean over clients of an index: FFCM's "(mean)" columns."""
    owner = np.asarray(data.client)
    return float(np.mean([index(data.X[owner == c], centers) for c in np.unique(owner)]))


def near(runs: Sequence[float], published: float, share: float = 0.05) -> bool:
    """The published value lies within three standard deviations of our runs, or within 5 %."""
    difference = abs(float(np.mean(runs)) - published)
    return difference <= max(3 * float(np.std(runs)), share * abs(published))
