"""Votes that a quarter of the clients cannot decide: whose points they are, means, and ranks.

With L liars among M clients, 2L + 1 equal votes are enough to outvote them. So no vote weighs more
than the lightest of the 2L + 1 heaviest. Where fewer clients vote, the missing votes are for no
change. A median of such votes is within the range of the honest votes, whatever liars say.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from ..typing import BoolArray, FloatArray
from .centers import Candidates

_SHARE = 4  # one client in so many may lie
_NEAR = 2.0  # times the median distance from the median: what is farther does not count
_HEAVY = 3.0  # times the median weight: more does not count


@dataclass(frozen=True, eq=False)
class ClientPoints(Candidates):
    """A client's points, from each client as many; one of weight zero is withheld.

    So the server knows whose they are, and how many clients there are.
    """

    def keep(self, mask: BoolArray) -> Self:
        """Withhold the points outside the mask."""
        return self._map(lambda a, _: (a.T * mask).T)

    def identity(self) -> Self:
        return self._map(lambda a, _: np.zeros_like(a))

    def is_empty(self) -> bool:
        return not self.weight.any()


def count_liars(n_clients: int) -> int:
    """How many of the clients may lie."""
    return n_clients // _SHARE


def outvoting_mean(rows: FloatArray, weight: FloatArray, stay: FloatArray) -> FloatArray:
    """Mean of the rows near to their median: one row for each client; weight zero is no vote.

    No few clients can move the median far. The mean of what is near to it is what k-means finds.
    """
    cast = weight > 0
    if not cast.any():
        return stay
    rows, weight = rows[cast], weight[cast]
    heaviest = np.sort(weight)[::-1][: 2 * count_liars(len(cast)) + 1]
    vote = heaviest[-1]
    missing = 2 * count_liars(len(cast)) + 1 - len(heaviest)
    rows = np.concatenate([rows, np.tile(stay, (missing, 1))])
    votes = np.concatenate([np.minimum(weight, vote), np.full(missing, vote)])
    middle = weighted_median(rows, votes)
    with np.errstate(over="ignore"):  # infinitely far is far
        distance = np.linalg.norm(rows - middle, axis=1)
    near = distance <= _NEAR * weighted_median(distance[:, None], votes)
    capped = np.minimum(weight, _HEAVY * np.median(weight))
    shares = np.where(near, np.concatenate([capped, np.full(missing, vote)]), 0.0)
    if not shares.any():
        return middle
    return np.asarray(shares @ np.where(near[:, None], rows, 0.0) / shares.sum())


def weighted_median(rows: FloatArray, weight: FloatArray) -> FloatArray:
    """Weighted median of each column; between two values, their middle."""
    order = np.argsort(rows, axis=0, kind="stable")
    values = np.take_along_axis(rows, order, axis=0)
    rising = np.cumsum(weight[order], axis=0)
    half = rising[-1] / 2
    low = np.minimum((rising < half * (1 - 1e-12)).sum(axis=0), len(rows) - 1)
    high = np.minimum((rising <= half * (1 + 1e-12)).sum(axis=0), len(rows) - 1)
    columns = np.arange(rows.shape[1])
    return np.asarray(values[low, columns] / 2 + values[high, columns] / 2)


def rank_by_most(errors: FloatArray) -> FloatArray:
    """How often each start (R) loses against another, by the clients (M, R) in the middle."""
    liars = count_liars(len(errors))
    with np.errstate(over="ignore"):
        differences = np.sort(errors[:, :, None] - errors[:, None, :], axis=0)
    middle = differences[liars : len(errors) - liars]
    lost: FloatArray = (middle.mean(axis=0) > 0).sum(axis=1).astype(np.float64)
    return lost
