"""The numbers of clusters: from 0, largest first, wherever a cluster is named.

Estimators, studies, label files, exported models and reports all use them (ADR 0020).
"""

import numpy as np

from ..typing import FloatArray, IntArray


def sort_by_size(sizes: FloatArray | IntArray, centers: FloatArray | None = None) -> IntArray:
    """Clusters from the largest to the smallest.

    Ties are broken by the values of the centres. Without centres, which no party has over split
    columns, equal clusters keep their order.
    """
    ties = [] if centers is None else [*centers.T[::-1]]
    return np.lexsort([*ties, -np.asarray(sizes)])  # lexsort takes the last key first
