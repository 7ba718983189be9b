"""Several solutions over the same rows: the inertia of each, and a k-means step from it."""

from typing import NamedTuple

import numpy as np

from ..typing import FloatArray
from .local import inertia
from .steps import backend, hard_sums

# Numbers of rows x centres x features of a solution. For fewer, a call for each solution costs more
# than its work, and all solutions are computed together.
_SMALL = 2**14


class RivalSums(NamedTuple):
    """Inertia of each of R solutions, and the weight and sum of the rows of all their clusters."""

    inertia: FloatArray  # (R,)
    weight: FloatArray  # (R * C,)
    total: FloatArray  # (R * C, F)


def compare_solutions(
    X: FloatArray, solutions: FloatArray, weight: FloatArray, *, step: bool
) -> RivalSums:
    """The inertia of solutions (R, C, F) and, with `step`, the sums of a k-means step from each."""
    if 0 < X.size * solutions.shape[1] <= _SMALL:
        return RivalSums(*backend().rivals_block(X, weight, solutions, step))
    values = np.array([inertia(X, centers, weight) for centers in solutions])
    if not step:
        return RivalSums(values, np.empty(0), np.empty((0, X.shape[1])))
    sums = [hard_sums(X, centers, weight) for centers in solutions]
    masses, totals = (np.concatenate(part) for part in list(zip(*sums, strict=True))[1:])
    return RivalSums(values, masses, totals)
