"""Fuzzy clustering features: additive summaries of many rows.

A feature holds the membership-weighted sum of the rows it has absorbed, their mass, its number of
updates, and the weighted sum of squared distances from its centre. Its radius is the root of
square over *updates*. If it were divided by mass, it would grow with every distant row of small
membership, and features of different clusters would merge.
"""

from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np

from ..typing import FloatArray, IntArray
from .steps import sq_distances


class Features(NamedTuple):
    """A set of features, one per row."""

    linear: FloatArray  # (J, F)
    mass: FloatArray  # (J,)
    updates: FloatArray  # (J,)
    square: FloatArray  # (J,)
    records: FloatArray  # (J,) the mass if every row had weight one: the number of records blended

    @classmethod
    def of(cls, rows: FloatArray, weight: FloatArray) -> Self:
        """One feature for each row."""
        n = len(rows)
        return cls(weight[:, None] * rows, weight, weight, np.zeros(n), np.ones(n))

    def centers(self) -> FloatArray:
        """Centre of each feature (J, F)."""
        return self.linear / self.mass[:, None]

    def radii(self) -> FloatArray:
        """Radius of each feature (J,)."""
        return np.sqrt(self.square / self.updates)

    def take(self, indices: IntArray) -> "Features":
        """Select features by index."""
        return Features(*(part[indices] for part in self))

    def concat(self, other: "Features") -> "Features":
        """Concatenate both sets."""
        return Features(*(np.concatenate(both) for both in zip(self, other, strict=True)))

    def join(self, i: IntArray, j: IntArray, *, exact: bool) -> "Features":
        """Join feature i[n] with feature j[n]: exactly, or by sums alone as published."""
        a, b = self.take(i), self.take(j)
        total = Features(*(x + y for x, y in zip(a, b, strict=True)))
        if not exact:
            return total
        return total._replace(square=total.square + _cost(a, b))


def _cost(a: Features, b: Features) -> FloatArray:
    """Increase of the squares by joining: Ward's criterion."""
    apart: FloatArray = ((a.centers() - b.centers()) ** 2).sum(axis=1)
    return a.mass * b.mass / (a.mass + b.mass) * apart


def merge_similar(features: Features, threshold: float, *, exact: bool = True) -> Features:
    """Join the most similar pairs, each feature at most once, until no pair is similar.

    Similarity is the sum of radii over the distance of centres. As published (``exact=False``),
    there is one pass and squares are only added.
    """
    while True:
        i, j = _similar_pairs(features, threshold)
        if len(i) == 0:
            return features
        alone = np.setdiff1d(np.arange(len(features.mass)), np.concatenate([i, j]))
        features = features.take(alone).concat(features.join(i, j, exact=exact))
        if not exact:
            return features


def _similar_pairs(features: Features, threshold: float) -> tuple[IntArray, IntArray]:
    """Disjoint pairs that reach the threshold, most similar first."""
    centers, radii = features.centers(), features.radii()
    centers = centers - centers.mean(axis=0)
    # A cheap test of all pairs first, with a margin for rounding: usually there is no pair.
    squares = (centers**2).sum(axis=1)
    apart = squares[:, None] + squares - 2.0 * (centers @ centers.T)
    touch = (radii[:, None] + radii) ** 2 >= threshold**2 * apart - 1e-9 * squares.max(initial=0.0)
    i, j = np.nonzero(np.triu(touch, 1))
    distance = np.sqrt(((centers[i] - centers[j]) ** 2).sum(axis=1))
    similarity = np.full(len(i), np.finfo(float).max)
    np.divide(radii[i] + radii[j], distance, out=similarity, where=distance > 0)
    free = np.ones(len(radii), dtype=bool)
    chosen = []
    for pair in np.argsort(-similarity, kind="stable"):
        if similarity[pair] >= threshold and free[i[pair]] and free[j[pair]]:
            free[[i[pair], j[pair]]] = False
            chosen.append(pair)
    return i[chosen], j[chosen]


def condense(features: Features, size: int) -> Features:
    """Join the cheapest pair until at most `size` features are left; no mass is lost."""
    while len(features.mass) > size:
        mass, apart = features.mass, sq_distances(features.centers(), features.centers())
        cost = mass[:, None] * mass / (mass[:, None] + mass) * apart
        np.fill_diagonal(cost, np.inf)
        i, j = np.unravel_index([cost.argmin()], cost.shape)
        features = _join_pair(features, i, j)
    return features


def merge_centers(centers: FloatArray, sizes: FloatArray, k: int) -> FloatArray:
    """Merge the cheapest pair of clusters until k are left, and return their centres."""
    mass = np.maximum(sizes, 1e-9 * sizes.sum())  # joining an empty cluster costs almost nothing
    return condense(Features.of(centers, mass), k).centers()


def join_small(features: Features, min_count: float) -> Features:
    """Join every feature of fewer than `min_count` records with its cheapest partner."""
    while len(features.mass) > 1 and features.records.min() < min_count:
        small = np.array([features.records.argmin()])
        others = np.delete(np.arange(len(features.mass)), small)
        cost = _cost(features.take(np.repeat(small, len(others))), features.take(others))
        features = _join_pair(features, small, others[[cost.argmin()]])
    return features.take(np.flatnonzero(features.records >= min_count))


def _join_pair(features: Features, i: IntArray, j: IntArray) -> Features:
    alone = np.delete(np.arange(len(features.mass)), np.concatenate([i, j]))
    return features.take(alone).concat(features.join(i, j, exact=True))


def drop_lightest(features: Features, size: int) -> Features:
    """Drop the lightest features until at most `size` are left, as published."""
    while len(features.mass) > size:
        features = features.take(np.delete(np.arange(len(features.mass)), features.mass.argmin()))
    return features


class SummarySettings(NamedTuple):
    """Settings of `summarise`."""

    min_features: int
    max_features: int
    threshold: float
    radius_factor: float
    fuzzifier: float
    exact: bool  # keep squares exact and drop nothing; otherwise as published


def summarise(X: FloatArray, weight: FloatArray, settings: SummarySettings) -> Features:
    """Summarise rows in one pass; each row updates all features or starts a new one."""
    w = weight if len(weight) else np.ones(len(X))
    features = Features.of(X[:0].astype(np.float64), np.empty(0))
    reduce_to: Callable[[Features, int], Features] = condense if settings.exact else drop_lightest
    for row, share in zip(X.astype(np.float64, copy=False), w, strict=True):
        new = Features.of(row[None], np.array([share]))
        if len(features.mass) < settings.min_features:
            features = features.concat(new)
            continue
        distance = np.sqrt(((features.centers() - row) ** 2).sum(axis=1))
        if (distance > _reach(features, settings.radius_factor)).all():
            features = reduce_to(features, settings.max_features - 1).concat(new)
        else:
            features = _absorb_row(features, row, share, distance, settings)
        features = merge_similar(features, settings.threshold, exact=settings.exact)
    return reduce_to(features, settings.max_features - 1)


def _reach(features: Features, factor: float) -> FloatArray:
    """Reach of each feature: its radius, or the distance to the next one if it has one row."""
    reach = factor * features.radii()
    (single,) = np.nonzero(reach == 0)
    if len(single):
        centers = features.centers()
        apart = ((centers[single, None] - centers) ** 2).sum(axis=2)
        apart[np.arange(len(single)), single] = np.inf
        reach[single] = np.sqrt(apart.min(axis=1))
    return reach


def _absorb_row(
    features: Features,
    row: FloatArray,
    share: float,
    distance: FloatArray,
    settings: SummarySettings,
) -> Features:
    low = distance.min()
    ratio = np.divide(low, distance, out=np.ones_like(distance), where=distance != low)
    u = ratio ** (2.0 / (settings.fuzzifier - 1.0))
    u /= u.sum()
    records, u = features.records + u, share * u
    square = u * distance**2
    if settings.exact:  # around the centre after the update, not before it
        square *= features.mass / (features.mass + u)
    return Features(
        features.linear + u[:, None] * row,
        features.mass + u,
        features.updates + share,
        features.square + square,
        records,
    )
