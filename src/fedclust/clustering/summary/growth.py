"""How micro-clusters grow: a cluster of a large spread is divided along its longest column.

No random number is drawn, so that the same rows always give the same summary. Centres divide from
the mean of all rows on, hence no start is needed, and all of them are within the rows' range.
"""

import numpy as np

from ...kernels.features import merge_centers
from ...typing import FloatArray

_APART = 0.8  # standard deviations by which the halves of a cluster move from its mean
_HEAVY = 8.0  # times the mean of the squares of a cluster: so much in one of them is too much


def grow(
    mean: FloatArray, weight: FloatArray, square: FloatArray, target: int, least: float
) -> FloatArray:
    """Up to `target` centres: the means of all clusters, and halves of the widest ones.

    At most every cluster is divided, and an empty one is dropped. One of less than twice the weight
    `least` is divided only if its squares are heavy: its few rows are so far apart that clusters
    of all rows separate them. If there is no room for the halves of heavy ones, light ones merge.
    """
    held = weight > 0
    mean, weight, square = mean[held], weight[held], square[held]
    spread = square.sum(axis=1)
    heavy = spread > _HEAVY * spread.mean()
    wanted = len(mean) + int(heavy.sum()) - target
    if 0 < wanted < (~heavy).sum():
        merged = merge_centers(mean[~heavy], weight[~heavy], int((~heavy).sum()) - wanted)
        return np.concatenate([merged, *_halves(mean[heavy], weight[heavy], square[heavy])])
    spread = np.where(heavy | (weight >= 2 * least), spread, 0.0)
    widest = np.argsort(-spread, kind="stable")[: max(0, target - len(mean))]
    widest = widest[spread[widest] > 0]
    moved = mean.copy()
    moved[widest], other = _halves(mean[widest], weight[widest], square[widest])
    return np.concatenate([moved, other])


def _halves(
    mean: FloatArray, weight: FloatArray, square: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Two centres for each cluster, on both sides of its mean."""
    each, column = np.arange(len(mean)), square.argmax(axis=1)
    step = np.zeros_like(mean)
    step[each, column] = _APART * np.sqrt(square[each, column] / weight)
    return mean - step, mean + step
