"""Which cluster is which: numbers that do not depend on the seed, and outlive a run."""

from collections.abc import Sequence

import numpy as np

from ..kernels import sq_distances
from ..typing import FloatArray, IntArray


def by_size(sizes: IntArray, centers: FloatArray) -> IntArray:
    """From the largest to the smallest; of two of one size, by their centres' first values."""
    keys = [*centers.T[::-1], -sizes]  # lexsort takes the last key first
    return np.lexsort(keys)


def numbered(centers: FloatArray, before: FloatArray, ids: Sequence[int]) -> list[int]:
    """The earlier run's numbers for clusters that it had, new numbers for those it had not.

    Centres are paired one to one at the least total distance. A pair that lies further apart than
    the earlier centre from its own nearest neighbour is no pair: that cluster is another one.
    """
    from scipy.optimize import linear_sum_assignment

    distance = np.sqrt(sq_distances(before, centers))
    among = np.sqrt(sq_distances(before, before))
    np.fill_diagonal(among, np.inf)
    reach = among.min(axis=1)  # infinite where there was one cluster only
    paired = {
        int(new): ids[old]
        for old, new in zip(*linear_sum_assignment(distance), strict=True)
        if distance[old, new] <= reach[old]
    }
    fresh = iter(range(max(ids) + 1, max(ids) + 1 + len(centers)))
    return [paired[c] if c in paired else next(fresh) for c in range(len(centers))]
