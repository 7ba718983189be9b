"""The hierarchy of the micro-clusters: Ward's dendrogram, and its cuts."""

from typing import NamedTuple

import numpy as np

from ...kernels import sq_distances
from ...typing import FloatArray, IntArray
from .search import check_clusters
from .value import DataSummary


class Tree(NamedTuple):
    """Merges in the form of `scipy.cluster.hierarchy`: clusters M, M + 1, ... are merged ones."""

    left: IntArray  # (M - 1,)
    right: IntArray  # (M - 1,)
    height: FloatArray  # (M - 1,) root of twice the increase in inertia, ascending
    weight: FloatArray  # (M - 1,) of all rows below

    @property
    def linkage(self) -> FloatArray:
        """The linkage matrix of SciPy."""
        return np.column_stack([self.left, self.right, self.height, self.weight])


def ward_tree(summary: DataSummary) -> Tree:
    """Merge the two clusters whose merge increases the inertia least, until one is left.

    J. H. Ward (1963). Squares within micro-clusters do not change, so the increase of every merge
    is that over all rows.
    """
    M = len(summary)
    centers, weight = summary.centers.copy(), summary.weight.copy()
    names = np.arange(M)
    merges: list[tuple[int, int, float, float]] = []
    for step in range(M - 1):
        cost = (
            weight[:, None] * weight / (weight[:, None] + weight) * sq_distances(centers, centers)
        )
        cost[np.tril_indices(len(cost))] = np.inf
        i, j = np.unravel_index(int(cost.argmin()), cost.shape)
        both = weight[i] + weight[j]
        merges.append((int(names[i]), int(names[j]), float(np.sqrt(2 * cost[i, j])), float(both)))
        centers[i] = (weight[i] * centers[i] + weight[j] * centers[j]) / both
        weight[i], names[i] = both, M + step
        centers = np.delete(centers, j, axis=0)
        weight, names = np.delete(weight, j), np.delete(names, j)
    columns = np.array(merges).reshape(-1, 4)
    left, right = columns[:, :2].T.astype(np.int64)
    return Tree(left, right, columns[:, 2], columns[:, 3])


def cut(summary: DataSummary, tree: Tree, k: int) -> IntArray:
    """The cluster of every micro-cluster after cutting the tree into k, the heaviest first."""
    check_clusters(summary, k)
    M = len(summary)
    group = np.arange(2 * M - 1)
    for step in range(M - k):
        group[group == group[tree.left[step]]] = M + step
        group[group == group[tree.right[step]]] = M + step
    return sort_groups(group[:M], summary.weight)


def sort_groups(group: IntArray, weight: FloatArray) -> IntArray:
    """Number groups from 0, the heaviest first."""
    place = np.unique(group, return_inverse=True)[1]
    total = np.bincount(place, weight)
    rank: IntArray = np.argsort(np.argsort(-total, kind="stable"), kind="stable")
    return rank[place]
