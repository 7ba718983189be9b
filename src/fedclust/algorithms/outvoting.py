"""Votes that a quarter of the clients cannot decide: whose points they are, means, and ranks.

With L liars among M clients, 2L + 1 equal votes are enough to outvote them. So no vote weighs more
than the lightest of the 2L + 1 heaviest. Where fewer clients vote, the missing votes are for no
change. A median of such votes is within the range of the honest votes, whatever liars say.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np

from ..typing import BoolArray, FloatArray
from .centers import Candidates

_SHARE = 4  # one client in so many may lie
_NEAR = 2.0  # times the median distance from the median: what is farther does not count
_FAR = 3.5  # robust standard deviations, on a logarithmic scale
_PULL = 3.0  # times the median of weight times distance: nobody pulls harder
_ROUNDING = 1e-12  # of squared distances
_HEARD = 3.0  # times what the clients besides the liars lose: more does not count
_HEAVY = 2.0  # times the median of the clients' weights: more does not count


@dataclass(frozen=True, eq=False)
class ClientPoints(Candidates):
    """A client's points, from each client as many; one of weight zero is withheld.

    So the server knows whose they are, and how many clients there are.
    """

    def keep(self, mask: BoolArray) -> Self:
        """Withhold the points outside the mask."""
        return self._map(lambda a, _: (a.T * mask).T)

    def check(self, sizes: Mapping[str, int]) -> None:
        """Check the shapes; a client that abstains sends no point at all."""
        super().check({**sizes, "K": 0} if len(self.weight) == 0 else sizes)

    def is_empty(self) -> bool:
        return not self.weight.any()


def count_liars(n_clients: int, found: int = 0) -> int:
    """How many of the clients may lie, besides those that were found to."""
    return max(0, n_clients // _SHARE - found)


def outside_cells(centers: FloatArray, means: FloatArray, weight: FloatArray) -> BoolArray:
    """Which clients (M) send a mean (M, C, F) that its cluster cannot have.

    The rows of a cluster are nearer to its centre than to any other, and so is their mean.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        distance = np.stack([((means - v) ** 2).sum(axis=2) for v in centers])  # (C, M, C)
        own = np.einsum("cmc->mc", distance)
        slack = _ROUNDING * (own + (means**2).sum(axis=2))
        possible = np.isfinite(own) & (own <= distance.min(axis=0) + slack)
    return np.asarray(((weight > 0) & ~possible).any(axis=1))


def cap_clients(weight: FloatArray) -> FloatArray:
    """Weights (M, C) of which no client has many times as much as is usual; none is negative."""
    weight = np.maximum(weight, 0.0)
    total = weight.sum(axis=1, keepdims=True)
    usual = np.median(total[total > 0]) if total.any() else 0.0
    share: FloatArray = np.minimum(1.0, _HEAVY * usual / np.maximum(total, 1e-300))
    return weight * share


def outvoting_mean(
    rows: FloatArray, weight: FloatArray, stay: FloatArray, liars: int
) -> FloatArray:
    """Mean of the rows near to their median: one row for each client; weight zero is no vote.

    No few clients can move the median far. The mean of what is near to it is what k-means finds.
    """
    cast = weight > 0
    if not cast.any():
        return stay
    needed = 2 * liars + 1
    heaviest = np.sort(weight[cast])[::-1][:needed]
    vote, missing = heaviest[-1], needed - len(heaviest)
    rows = np.concatenate([rows[cast], np.tile(stay, (missing, 1))])
    weight = np.concatenate([weight[cast], np.full(missing, vote)])
    votes = np.minimum(weight, vote)
    middle = weighted_median(rows, votes)
    with np.errstate(over="ignore"):  # infinitely far is far
        distance = np.linalg.norm(rows - middle, axis=1)
        pull = weight * distance
        limit = _PULL * np.median(pull)
    near = distance <= _NEAR * weighted_median(distance[:, None], votes)
    weight = weight * np.divide(limit, pull, out=np.ones_like(pull), where=pull > limit)
    return np.asarray(weight[near] @ rows[near] / weight[near].sum())


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


def score_by_most(errors: FloatArray, liars: int) -> FloatArray:
    """What each start (R) loses at most against another, by the clients' errors (M, R).

    A usual error of the best start is added, so that ratios of scores mean something. Differences
    that are as extreme as those of liars could be count as a few times the next ones. Cut to the
    next ones, they would hide what the few clients lose that have most rows of a cluster.
    """
    liars = min(liars, (len(errors) - 1) // 2)
    with np.errstate(over="ignore"):
        lost = _cut_mean(errors[:, :, None] - errors[:, None, :], liars).max(axis=1)
        usual = _cut_mean(errors, liars)[lost.argmin()]
    return np.asarray(usual + lost)


def _cut_mean(values: FloatArray, liars: int) -> FloatArray:
    """Mean over the clients, the first axis; as many extreme values as liars are cut."""
    ordered = np.sort(np.abs(values), axis=0)
    limit = _HEARD * ordered[len(ordered) - 1 - liars]
    return np.asarray(np.clip(values, -limit, limit).mean(axis=0))


def exaggerated(errors: FloatArray) -> BoolArray:
    """Which clients' errors (M, R) differ between starts far more than those of the others."""
    with np.errstate(over="ignore", invalid="ignore"):
        spread = np.log(np.maximum(np.ptp(errors, axis=1), 1e-300))
    spread = np.nan_to_num(spread, nan=np.inf)
    middle = np.median(spread)
    usual = 1.4826 * np.median(np.abs(spread - middle))
    return np.asarray(spread > middle + _FAR * max(usual, 0.1))
