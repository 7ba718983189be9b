"""Cluster numbers that are kept from an earlier run."""

from collections.abc import Sequence

import numpy as np

from ..kernels import sq_distances
from ..typing import FloatArray


def match_ids(centers: FloatArray, before: FloatArray, ids: Sequence[int]) -> list[int]:
    """Numbers of clusters: those of an earlier run where they match, new ones elsewhere.

    Centres are paired one to one at the least total distance. A pair does not match if its
    distance is greater than that between the earlier centre and its nearest neighbour. Nothing
    matches a centre that was withheld (NaN), and its number is not given again.
    """
    from scipy.optimize import linear_sum_assignment

    new = range(max(ids) + 1, max(ids) + 1 + len(centers))
    known = np.flatnonzero(~np.isnan(before).any(axis=1)).tolist()
    if not known:
        return list(new)
    before, ids = before[known], [ids[c] for c in known]
    distance = np.sqrt(sq_distances(before, centers))
    among = np.sqrt(sq_distances(before, before))
    np.fill_diagonal(among, np.inf)
    reach = among.min(axis=1)  # infinite if there was only one cluster
    paired = {
        int(c): ids[old]
        for old, c in zip(*linear_sum_assignment(distance), strict=True)
        if distance[old, c] <= reach[old]
    }
    fresh = iter(new)
    return [paired[c] if c in paired else next(fresh) for c in range(len(centers))]
