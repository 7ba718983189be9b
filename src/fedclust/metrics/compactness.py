"""How well centres fit rows: indices of one table, as plain functions."""

from typing import Any

import numpy as np

from ..core import Data
from ..typing import FloatArray
from .indices import index, sums_over


def evaluate(
    name: str, X: Any, centers: Any, fuzzifier: float = 2.0, sample_weight: Any = None
) -> float:
    """The index of that name; `fedclust.metrics.INDICES` lists them."""
    data, at = Data.of(X, sample_weight), np.asarray(centers, dtype=np.float64)
    chosen = index(name, len(at))
    return chosen.formula(sums_over([chosen.sums], data.X, data.weight, at, fuzzifier), at)


def inertia(X: Any, centers: Any, sample_weight: Any = None) -> float:
    """Sum of squared distances to the nearest centre: what k-means minimises."""
    return evaluate("inertia", X, centers, sample_weight=sample_weight)


def score(X: Any, centers: Any, sample_weight: Any = None) -> float:
    """Mean squared distance to the nearest centre: the score of the DWF paper."""
    return evaluate("score", X, centers, sample_weight=sample_weight)


def wsse(X: Any, centers: Any, sample_weight: Any = None) -> float:
    """Within-cluster error of FFCM and FFCF: distances, *not* squared, over N times F."""
    return evaluate("wsse", X, centers, sample_weight=sample_weight)


def osse(X: Any, centers: Any, sample_weight: Any = None) -> float:
    """Outside-cluster error of FFCM and FFCF: distances to all other centres, not squared."""
    return evaluate("osse", X, centers, sample_weight=sample_weight)


def fuzzy_objective(
    X: Any, centers: Any, fuzzifier: float = 2.0, sample_weight: Any = None
) -> float:
    """Sum of u^m d^2: what fuzzy c-means minimises."""
    return evaluate("objective", X, centers, fuzzifier, sample_weight)


def xie_beni(X: Any, centers: Any, fuzzifier: float = 2.0, sample_weight: Any = None) -> float:
    """Fuzzy objective over N times the smallest squared distance of two centres; low is good."""
    return evaluate("xie-beni", X, centers, fuzzifier, sample_weight)


def davies_bouldin(X: Any, centers: Any, sample_weight: Any = None) -> float:
    """Davies-Bouldin index of the rows nearest to each centre; low is good.

    Around the centres given: where those are the clusters' means, it is scikit-learn's.
    """
    return evaluate("davies-bouldin", X, centers, sample_weight=sample_weight)


def soft_davies_bouldin(
    X: Any, centers: Any, fuzzifier: float = 2.0, sample_weight: Any = None
) -> float:
    """Fuzzy Davies-Bouldin index of Stallmann and Wilbik's framework; low is good.

    The spread of a cluster is the mean distance of *all* rows times its mean membership.
    """
    return evaluate("soft-davies-bouldin", X, centers, fuzzifier, sample_weight)


def simplified_silhouette(X: Any, centers: Any, sample_weight: Any = None) -> float:
    """Silhouette by distances to centres instead of rows: linear in N, and it decomposes."""
    return evaluate("simplified-silhouette", X, centers, sample_weight=sample_weight)


def tolerance_index(centers: FloatArray, before: FloatArray) -> float:
    """Frobenius norm of the change of centres between two rounds."""
    return float(np.linalg.norm(np.asarray(centers) - np.asarray(before)))
