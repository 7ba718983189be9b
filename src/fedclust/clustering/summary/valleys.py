"""Valleys between clusters: places with fewer rows than on both sides.

A single skewed cloud is cut into clusters of very different spreads. Their silhouette is above that
of a symmetric cloud, but between two of them there are nowhere fewer rows than in both.
"""

import numpy as np

from ...kernels import sq_distances
from ...typing import FloatArray

_REACH = 1.6  # from the middle of two centres, in halves of their distance
_VALLEY = 0.8  # the valley lies nearer to the middle than that
_BINS = 32
_SMOOTH = np.full(5, 0.2)  # counts of five neighbouring bins are averaged


def deepest_valley(rows: FloatArray, centers: FloatArray) -> float:
    """Rows in the deepest valley between a cluster and its neighbour, by those of the lower side.

    The neighbour is the second nearest centre of most rows of the cluster. Rows of both are
    projected onto the line through the centres. 1 means that there is no valley at all.
    """
    if len(centers) < 2:
        return 1.0
    order = np.argsort(sq_distances(rows, centers), axis=1, kind="stable")
    first, second = order[:, 0], order[:, 1]
    depth = 1.0
    for c in np.unique(first).tolist():
        other = int(np.bincount(second[first == c]).argmax())
        pair = rows[(first == c) | (first == other)]
        depth = min(depth, _valley(pair, centers[c], centers[other]))
    return depth


def _valley(rows: FloatArray, a: FloatArray, b: FloatArray) -> float:
    across = (b - a) / 2
    half = float(across @ across)
    if half == 0:
        return 1.0
    along = (rows - (a + b) / 2) @ across / half
    counts, edges = np.histogram(along, _BINS, (-_REACH, _REACH))
    height = np.convolve(counts, _SMOOTH, "same")
    left = np.maximum.accumulate(height)
    right = np.maximum.accumulate(height[::-1])[::-1]
    lower = np.minimum(left, right)
    share = np.where(lower > 0, height / np.where(lower > 0, lower, 1.0), 1.0)
    inside = np.abs(edges[1:] + edges[:-1]) / 2 <= _VALLEY
    return float(share[inside].min())
