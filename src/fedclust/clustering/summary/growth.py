"""How micro-clusters grow: a cluster of a large spread is divided along its longest column.

No random number is drawn, so that the same rows always give the same summary. Centres divide from
the mean of all rows on, hence no start is needed, and all of them are within the rows' range.
"""

import numpy as np

from ...typing import FloatArray

_APART = 0.8  # standard deviations by which the halves of a cluster move from its mean


def grow(
    mean: FloatArray, weight: FloatArray, square: FloatArray, target: int, least: float
) -> FloatArray:
    """Up to `target` centres: the means of all clusters, and halves of the widest ones.

    At most every cluster is divided. One of less than twice the weight `least` is not, and an
    empty one is dropped.
    """
    held = weight > 0
    mean, weight, square = mean[held], weight[held], square[held]
    spread = np.where(weight >= 2 * least, square.sum(axis=1), 0.0)
    widest = np.argsort(-spread, kind="stable")[: max(0, target - len(mean))]
    widest = widest[spread[widest] > 0]
    column = square[widest].argmax(axis=1)
    step = np.zeros_like(mean[widest])
    step[np.arange(len(widest)), column] = _APART * np.sqrt(square[widest, column] / weight[widest])
    moved = mean.copy()
    moved[widest] -= step
    return np.concatenate([moved, mean[widest] + step])
