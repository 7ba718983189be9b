"""The summary as results may show it: rounded, and without micro-clusters of few rows."""

from dataclasses import replace

import numpy as np

from ...kernels import sq_distances
from ..preparation import Preparation, round_means, round_to, spread_of_shares
from .shapes import find_shapes
from .tree import sort_groups
from .value import DataSummary


def publish(summary: DataSummary, min_count: int, ready: Preparation | None = None) -> DataSummary:
    """The summary with `min_count` rows more or fewer making no visible difference.

    Micro-clusters of fewer rows join the nearest one. Means and spreads are rounded as centres of
    clusters are, and borders to multiples of the minimum. Shapes are found before, because rounded
    borders have gaps where there are none. Zero leaves it exact. `ready` says which columns are
    categories.
    """
    if min_count < 1:
        return summary
    joined = _join_small(_with_shapes(summary), min_count)
    weight = joined.weight[:, None]
    around = joined.square.sum(axis=0) + weight[:, 0] @ (joined.centers - joined.mean) ** 2
    P = summary.centers.shape[1]
    heights, floor = (ready.heights, ready.floor) if ready else np.zeros((2, P))
    seen = np.maximum(joined.seen, 1.0)  # a cell changes a mean of few cells more
    step = min_count * np.maximum(np.sqrt(around / joined.rows), heights) / seen
    centers = round_means(joined.centers, step, heights, floor)
    spread = np.maximum(round_to(np.sqrt(joined.square / weight), step), 0.0)
    constant = (joined.square == 0).all(axis=0)  # in all rows; a single one would say it of few
    spread = np.where(constant, 0.0, spread)
    spread = np.where(heights > 0, spread_of_shares(centers, heights, floor), spread)
    return replace(
        joined,
        centers=centers,
        square=spread**2 * weight,
        borders=np.floor(joined.borders / min_count + 0.5) * min_count,
    )


def _with_shapes(summary: DataSummary) -> DataSummary:
    if not summary.bordered:
        return summary
    return replace(summary, shapes=tuple(find_shapes(summary).tolist()))


def _join_small(summary: DataSummary, min_count: int) -> DataSummary:
    """Join the lightest micro-cluster with the nearest, until none is lighter than the minimum."""
    while len(summary) > 1 and summary.weight.min() < min_count:
        small = int(summary.weight.argmin())
        distance = sq_distances(summary.centers[small][None], summary.centers)[0]
        distance[small] = np.inf
        summary = _join(summary, small, int(distance.argmin()))
    return summary


def _join(summary: DataSummary, small: int, other: int) -> DataSummary:
    pair = [small, other]
    weight = summary.weight[pair]
    mean = weight @ summary.centers[pair] / weight.sum()
    square = summary.square[pair].sum(axis=0) + weight @ (summary.centers[pair] - mean) ** 2
    names = (
        "centers",
        "weight",
        "square",
        "borders",
        *(() if summary.cells is None else ("cells",)),
    )
    parts = {n: getattr(summary, n).copy() for n in names}
    if "cells" in parts:
        parts["cells"][other] += parts["cells"][small]
    parts["centers"][other], parts["weight"][other] = mean, weight.sum()
    parts["square"][other] = square
    borders = parts["borders"]
    borders[other] += borders[small]
    borders[:, other] += borders[:, small]
    borders[other, other] = 0.0  # no longer a border
    kept = np.arange(len(summary)) != small
    parts["borders"] = borders[:, kept]
    shapes = summary.shapes
    if shapes is not None:
        shapes = tuple(sort_groups(np.array(shapes)[kept], parts["weight"][kept]).tolist())
    return replace(summary, **{name: part[kept] for name, part in parts.items()}, shapes=shapes)
