"""Centres for any number of clusters, from the summary alone."""

import numpy as np

from ...core import ConfigError, stream
from ...kernels import lloyd, nearest, search_centers, search_fuzzy_centers
from ...kernels.features import merge_centers
from ...typing import FloatArray, IntArray
from .value import DataSummary


def find_centers(summary: DataSummary, k: int, fuzzifier: float | None = None) -> FloatArray:
    """The best centres of k clusters that a search in the summary finds; fuzzy with a fuzzifier.

    They depend on the summary and k alone, so that every study starts at the same centres.
    """
    check_clusters(summary, k)
    rng = stream(0, "centers", k)
    points, weight = summary.centers, summary.weight
    found = search_centers(points, k, rng, weight, most=1)[0]
    if k > 1:  # the tree's cut is another start of the same search
        cut = merge_centers(points, weight, k)
        found = min((found, _lloyd(summary, cut)), key=summary.inertia)
    if fuzzifier is None:
        return found
    return search_fuzzy_centers(points, [found], fuzzifier, rng, weight)[0]


def inertias(summary: DataSummary, ks: tuple[int, ...]) -> FloatArray:
    """The inertia of the best centres for every k."""
    return np.array([summary.inertia(find_centers(summary, k)) for k in ks])


def assign(summary: DataSummary, centers: FloatArray) -> IntArray:
    """The nearest centre of every micro-cluster."""
    return nearest(summary.centers, centers)[0]


def check_clusters(summary: DataSummary, k: int) -> None:
    """Refuse more clusters than there are micro-clusters."""
    if not 1 <= k <= len(summary):
        raise ConfigError(
            f"k = {k}, but this summary has {len(summary)} micro-clusters; choose k from 1 to "
            f"{len(summary)}"
        )


def _lloyd(summary: DataSummary, start: FloatArray) -> FloatArray:
    return lloyd(summary.centers, start, summary.weight, steps=100).centers
