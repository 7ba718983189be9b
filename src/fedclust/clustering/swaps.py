"""Proposals to improve a start: a centre that is hardly missed goes where a cluster is wide.

The summary of the rows is coarse where few rows are, and where groups mix different values, so
some swaps that pay over all rows do not pay over the summary. The means of the rivals' clusters are
therefore added to it: they are exact. The server proposes removals and splits, and one round
measures them over all rows. What promises most is combined to swaps.
"""

import math
from typing import NamedTuple

import numpy as np

from ..algorithms.micro_clusters import Summary
from ..kernels import inertia, lloyd, nearest, sq_distances
from ..typing import FloatArray, IntArray

_REMOVALS_OF = 4  # one of so many measurements is of a removal
FEWEST = 5  # measurements; with fewer there is nothing to combine
_MOST_SWAPS = 6  # at a time
_MOVES = 3  # of centres within their clusters
_PAYS = 0.1  # a swap that wins this share of what it costs at once may pay after k-means steps
_STEPS = 3  # of two-means in a cluster
_OUTLYING = 2  # points of a cluster at which another centre is tried


class Split(NamedTuple):
    """Two centres in place of one."""

    cluster: int
    first: FloatArray  # (F,)
    second: FloatArray  # (F,)


class Proposal(NamedTuple):
    """Changes of k centres to measure over all rows."""

    centers: FloatArray  # (C, F)
    heirs: IntArray  # (C,) the nearest other centre of each
    removed: IntArray  # clusters, the cheapest first
    splits: list[Split]

    def variants(self) -> list[FloatArray]:
        """The centres, the removals alone, and the splits with the first removal."""
        alone = [self._remove(c) for c in self.removed]
        split = [_put(self.centers, s, int(self.removed[0])) for s in self.splits]
        return [self.centers, *alone, *split]

    def _remove(self, cluster: int) -> FloatArray:
        """A copy of the nearest other centre in place of one."""
        changed = self.centers.copy()
        changed[cluster] = changed[self.heirs[cluster]]
        return changed

    def swap(self, inertia: FloatArray) -> list[FloatArray]:
        """Centres after one swap, each with another removal and split, or after several swaps.

        Those come first that promise most by the inertia of the variants. None is left if no split
        wins a considerable share of what a removal costs.
        """
        n, most = len(self.removed), len(inertia) - 1
        cost, gain = inertia[1 : n + 1] - inertia[0], inertia[1] - inertia[n + 1 :]
        if n == 0 or len(gain) == 0 or gain.max() <= _PAYS * cost.min():
            return []
        cheap, good = np.argsort(cost, kind="stable"), np.argsort(-gain, kind="stable")
        several = [*self._combine(cheap, good), *(self._move(s) for s in good[:_MOVES])]
        tried = math.isqrt(max(1, most - len(several)))
        pairs = [(gain[s] - cost[r], self._put(r, s)) for r in cheap[:tried] for s in good[:tried]]
        pairs.sort(key=lambda pair: -pair[0])
        return [*(centers for _, centers in pairs if centers is not None), *several][:most]

    def _move(self, s: int) -> FloatArray:
        """A centre at the second place of a split, and none at the first."""
        changed, split = self.centers.copy(), self.splits[s]
        changed[split.cluster] = split.second
        return changed

    def _combine(self, cheap: IntArray, good: IntArray) -> list[FloatArray]:
        """Two swaps, three swaps, and so on, of the cheapest removals and the best splits."""
        found, changed, touched = list[FloatArray](), self.centers, set[int]()
        free = [self.splits[s] for s in good]
        for r in cheap:
            gone = int(self.removed[r])
            free = [split for split in free if split.cluster not in touched | {gone}]
            if not free or len(found) > _MOST_SWAPS:
                break
            if gone not in touched:
                changed = _put(changed, free[0], gone)
                found.append(changed)
                touched |= {gone, int(self.heirs[gone]), free[0].cluster}
        return found[1:]

    def _put(self, r: int, s: int) -> FloatArray | None:
        gone, split = int(self.removed[r]), self.splits[s]
        return None if gone == split.cluster else _put(self.centers, split, gone)


def propose(summary: Summary, centers: FloatArray, weight: FloatArray, most: int) -> Proposal:
    """Up to `most` variants of centres whose clusters have these weights over all rows."""
    between = sq_distances(centers, centers)
    np.fill_diagonal(between, np.inf)
    cost = weight * between.min(axis=1)  # at most: all rows go to the nearest other centre
    removed = np.argsort(cost, kind="stable")[: max(1, most // _REMOVALS_OF)]
    splits = _splits(summary, centers, weight, between)
    splits = [s for s in splits if s.cluster != removed[0]]
    return Proposal(centers, between.argmin(axis=1), removed, splits[: most - 1 - len(removed)])


def _splits(
    summary: Summary, centers: FloatArray, weight: FloatArray, between: FloatArray
) -> list[Split]:
    """The best split of each cluster, then their second ones, and so on.

    Those of each kind come first that promise most by the summary. It can be wrong about a cluster,
    so that no cluster should take the places of others.
    """
    own = nearest(summary.points, centers)[0]
    found: list[tuple[int, float, Split]] = []  # place among those of the cluster, gain, split
    for c, center in enumerate(centers):
        held = Summary(*(part[own == c] for part in summary))
        if len(held.points) < 2:
            away = (centers[between[c].argmin()] - center) / 4
            gain = weight[c] * float((away**2).sum())
            found.append((0, gain, Split(c, center + away, center - away)))
            continue
        share = weight[c] / held.weight.sum()
        pairs = [(share * _gain(held, center, pair), pair) for pair in _pairs(held, center)]
        pairs.sort(key=lambda one: -one[0])
        found += [(place, gain, Split(c, *pair)) for place, (gain, pair) in enumerate(pairs)]
    found.sort(key=lambda one: (one[0], -one[1]))
    return [split for _, gain, split in found if gain > 0]


def _pairs(cluster: Summary, center: FloatArray) -> list[FloatArray]:
    """Two centres in place of one: by two-means of its points, or one more at an outlying point."""
    points, mass = cluster
    pull = mass * sq_distances(points, center[None])[:, 0]
    outlying = points[np.argsort(-pull, kind="stable")[:_OUTLYING]]
    pair = np.stack([2 * center - outlying[0], outlying[0]])
    pair = lloyd(points, pair, mass, steps=_STEPS).centers
    return [pair, *(np.stack([center, point]) for point in outlying)]


def _gain(cluster: Summary, center: FloatArray, pair: FloatArray) -> float:
    """By how much two centres lower the inertia of the points of a cluster."""
    one = inertia(cluster.points, center[None], cluster.weight)
    return one - inertia(cluster.points, pair, cluster.weight)


def _put(centers: FloatArray, split: Split, gone: int) -> FloatArray:
    """Split a cluster, and take another centre for it."""
    changed = centers.copy()
    changed[split.cluster], changed[gone] = split.first, split.second
    return changed
