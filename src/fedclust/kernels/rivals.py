"""Several solutions over the same rows: the inertia of each, and a k-means step from it."""

from typing import NamedTuple

import numpy as np

from ..typing import FloatArray
from ._plain import add_differences
from .local import inertia
from .steps import hard_sums

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
        return _compare_together(X, solutions, weight, step)
    values = np.array([inertia(X, centers, weight) for centers in solutions])
    if not step:
        return RivalSums(values, np.empty(0), np.empty((0, X.shape[1])))
    sums = [hard_sums(X, centers, weight) for centers in solutions]
    masses, totals = (np.concatenate(part) for part in list(zip(*sums, strict=True))[1:])
    return RivalSums(values, masses, totals)


def _compare_together(
    X: FloatArray, solutions: FloatArray, weight: FloatArray, step: bool
) -> RivalSums:
    (R, C, F), n = solutions.shape, len(X)
    rows = X.astype(np.float64, copy=False)
    D = add_differences(rows, solutions.reshape(R * C, F)).reshape(n, R, C)
    d2 = D.min(axis=2)
    values = weight @ d2 if len(weight) else d2.sum(axis=0)
    if not step:
        return RivalSums(values, np.empty(0), np.empty((0, F)))
    cell = (D.argmin(axis=2) + np.arange(R) * C).ravel()
    w = np.repeat(weight, R) if len(weight) else None
    masses = np.bincount(cell, w, R * C).astype(np.float64)
    weighted = rows * weight[:, None] if len(weight) else rows
    totals = [np.bincount(cell, np.repeat(column, R), R * C) for column in weighted.T]
    return RivalSums(values, masses, np.stack(totals, axis=1))
