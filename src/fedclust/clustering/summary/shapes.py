"""Clusters of any shape: micro-clusters that are joined where their border is dense.

A border is dense if many rows lie beside it, and if both micro-clusters reach up to it. Rows beside
it have one of the two as nearest centre and the other as second nearest. Where micro-clusters have
few rows, chance empties borders, so neighbours are merged first.
"""

from dataclasses import replace

import numpy as np

from ...core import ConfigError
from ...kernels import sq_distances
from ...typing import BoolArray, FloatArray, IntArray
from .tree import cut, sort_groups, ward_tree
from .value import DataSummary

GAP = 3.2  # a border with a larger gap separates two shapes
_CORE = 0.25  # of the median weight: lighter micro-clusters lie between shapes, and join none
_SMALL = 0.02  # of all rows: a smaller group joins the one with the narrowest gap
_ROWS = 25  # of a group of micro-clusters, on average, at least: fewer leave borders to chance
_GROUPS = 12  # that are never merged
_MOST = 3.0  # times as many rows at the borders of a group as were counted there
_UNIFORM = np.sqrt(3.0)  # distance of two adjacent boxes by the sum of their deviations


def gaps(summary: DataSummary) -> FloatArray:
    """The gap of each border (M, M); about 1 within a dense shape, infinite without any rows.

    It is the distance of two centres, by the one that evenly filled neighbours would have, over the
    root of the share of the smaller one's rows that lie beside the border.
    """
    centers, weight = summary.centers, summary.weight
    length = np.sqrt(sq_distances(centers, centers))
    along = centers[None] - centers[:, None]
    along /= np.maximum(length, 1e-300)[:, :, None]
    spread = np.sqrt(np.einsum("ijf,if->ij", along**2, summary.square / weight[:, None]))
    apart = length / np.maximum(_UNIFORM * (spread + spread.T), 1e-9 * length + 1e-300)
    beside = summary.borders + summary.borders.T
    share = beside / np.minimum.outer(weight, weight)
    gap: FloatArray = np.where(share > 0, apart / np.sqrt(np.maximum(share, 1e-300)), np.inf)
    np.fill_diagonal(gap, 0.0)
    return gap


def find_shapes(summary: DataSummary, gap: float | None = None) -> IntArray:
    """The shape of every micro-cluster, the heaviest first; borders up to that gap join.

    Without a gap, it is 3.2, and a published summary has the shapes of the exact one.
    """
    if summary.shapes is not None and gap is None:
        return np.array(summary.shapes)
    if not summary.bordered:
        raise ConfigError(
            "this summary has no borders, because noise would hide them, so there are no clusters "
            "by shape; give the number of clusters"
        )
    merged, label = _merge(summary)
    apart = gaps(merged)
    core = merged.weight >= _CORE * np.median(merged.weight)
    group = _join((apart <= (GAP if gap is None else gap)) & core & core[:, None])
    shape = _absorb_small(merged, group, apart)[label]
    return sort_groups(shape, summary.weight)


def _merge(summary: DataSummary) -> tuple[DataSummary, IntArray]:
    """The summary with neighbours merged until each has rows enough, and the group of each one.

    Rows at a border inside a group have their next group as second nearest but one. They are
    assumed to be as often at each of its borders as the others.
    """
    n = max(_GROUPS, int(summary.rows // _ROWS))
    if len(summary) <= n:
        return summary, np.arange(len(summary))
    label = cut(summary, ward_tree(summary), n)
    own = np.eye(n)[label].T
    weight = own @ summary.weight
    centers = own @ (summary.weight[:, None] * summary.centers) / weight[:, None]
    apart = (summary.centers - centers[label]) ** 2
    square = own @ (summary.square + summary.weight[:, None] * apart)
    borders = own @ summary.borders @ own.T
    inside = borders.diagonal().copy()
    np.fill_diagonal(borders, 0.0)
    outside = borders.sum(axis=1)
    more = np.where(outside > 0, (outside + inside) / np.where(outside > 0, outside, 1.0), 1.0)
    borders *= np.minimum(more, _MOST)[:, None]
    return replace(
        summary, centers=centers, weight=weight, square=square, borders=borders, cells=None
    ), label


def _absorb_small(summary: DataSummary, group: IntArray, apart: FloatArray) -> IntArray:
    """Join small groups with the one to which their gap is narrowest."""
    least = _SMALL * summary.rows
    while group.max() > 0:
        weight = np.bincount(group, summary.weight)
        small = int(weight.argmin())
        if weight[small] >= least:
            break
        own = group == small
        between = np.where(own[:, None] & ~own, apart, np.inf)
        if np.isinf(between).all():  # no row lies beside any of its borders
            distance = sq_distances(summary.centers, summary.centers)
            between = np.where(own[:, None] & ~own, distance, np.inf)
        group[own] = group[int(between.min(axis=0).argmin())]
        group = np.unique(group, return_inverse=True)[1]
    return group


def _join(joined: BoolArray) -> IntArray:
    """Groups of all that are joined, directly or through others."""
    group = np.arange(len(joined))
    for i, j in zip(*np.nonzero(np.triu(joined, 1)), strict=True):
        group[group == group[j]] = group[i]
    return np.asarray(np.unique(group, return_inverse=True)[1])
