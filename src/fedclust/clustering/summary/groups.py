"""Clusters of the micro-clusters: by k-means, by a cut of the tree, or by shape."""

from dataclasses import dataclass

import numpy as np

from ...typing import FloatArray, IntArray
from .search import assign, find_centers
from .shapes import find_shapes
from .tree import cut, sort_groups, ward_tree
from .value import DataSummary


@dataclass(frozen=True, eq=False)
class Groups:
    """Clusters of a summary, the heaviest first."""

    label: IntArray  # (M,) of every micro-cluster
    centers: FloatArray  # (C, P) k-means: the centres of the search; otherwise the means
    sizes: tuple[int, ...]  # rows, if all rows of a micro-cluster are in its cluster
    share: float  # of the total inertia that the clusters explain


def group_by_centers(summary: DataSummary, k: int, fuzzifier: float | None = None) -> Groups:
    """K clusters around centres; with a fuzzifier, the centres of fuzzy c-means."""
    centers = find_centers(summary, k, fuzzifier)
    label = assign(summary, centers)
    weight = np.bincount(label, summary.weight, k)
    order = np.argsort(-weight, kind="stable")
    rank = np.argsort(order, kind="stable")
    return _groups(summary, rank[label], centers[order])


def group_by_tree(summary: DataSummary, k: int) -> Groups:
    """K clusters by a cut of Ward's tree."""
    label = cut(summary, ward_tree(summary), k)
    return _groups(summary, label, _means(summary, label))


def group_by_shape(summary: DataSummary) -> Groups:
    """Clusters of any shape, as many as there are."""
    label = sort_groups(find_shapes(summary), summary.weight)
    return _groups(summary, label, _means(summary, label))


def _means(summary: DataSummary, label: IntArray) -> FloatArray:
    own = np.eye(int(label.max()) + 1)[label].T * summary.weight
    means: FloatArray = own @ summary.centers / own.sum(axis=1, keepdims=True)
    return means


def _groups(summary: DataSummary, label: IntArray, centers: FloatArray) -> Groups:
    weight = np.bincount(label, summary.weight, len(centers))
    apart = summary.weight @ ((summary.centers - centers[label]) ** 2).sum(axis=1)
    left = (summary.within + float(apart)) / max(summary.total_inertia, 1e-300)
    sizes = tuple(np.rint(weight).astype(int).tolist())
    return Groups(label, centers, sizes, max(0.0, 1.0 - left))
