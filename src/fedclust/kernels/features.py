"""Fuzzy clustering features: summaries of many rows by few, which add up.

A feature holds the membership-weighted sum of the rows it has taken in, their mass, how often it
was updated, and the weighted square of their distances from its centre. Its radius is the root of
square over *updates*: over mass it would grow with every distant row that leaves a trace of
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
    records: FloatArray  # (J,) the mass if every row had weight one: how many people it blends

    @classmethod
    def of(cls, rows: FloatArray, weight: FloatArray) -> Self:
        """One feature for each row."""
        n = len(rows)
        return cls(weight[:, None] * rows, weight, weight, np.zeros(n), np.ones(n))

    def centers(self) -> FloatArray:
        """Where each feature lies (J, F)."""
        return self.linear / self.mass[:, None]

    def radii(self) -> FloatArray:
        """How far each reaches (J,)."""
        return np.sqrt(self.square / self.updates)

    def take(self, which: IntArray) -> "Features":
        """Some of the features."""
        return Features(*(part[which] for part in self))

    def with_(self, other: "Features") -> "Features":
        """All features of both."""
        return Features(*(np.concatenate(both) for both in zip(self, other, strict=True)))

    def joined(self, i: IntArray, j: IntArray, *, exact: bool) -> "Features":
        """Feature i[n] and feature j[n] as one; exactly, or by sums alone as published."""
        a, b = self.take(i), self.take(j)
        added = Features(*(x + y for x, y in zip(a, b, strict=True)))
        if not exact:
            return added
        return added._replace(square=added.square + _cost(a, b))


def _cost(a: Features, b: Features) -> FloatArray:
    """What joining adds to the squares: Ward's criterion."""
    apart: FloatArray = ((a.centers() - b.centers()) ** 2).sum(axis=1)
    return a.mass * b.mass / (a.mass + b.mass) * apart


def merge_similar(features: Features, threshold: float, *, exact: bool = True) -> Features:
    """Join the most similar pairs, each feature at most once, while any pair is similar.

    Similarity is the sum of radii over the distance of centres. As published (``exact=False``)
    there is one pass and squares are merely added.
    """
    while True:
        i, j = _similar(features, threshold)
        if len(i) == 0:
            return features
        alone = np.setdiff1d(np.arange(len(features.mass)), np.concatenate([i, j]))
        features = features.take(alone).with_(features.joined(i, j, exact=exact))
        if not exact:
            return features


def _similar(features: Features, threshold: float) -> tuple[IntArray, IntArray]:
    """Disjoint pairs that reach the threshold, most similar first."""
    centers, radii = features.centers(), features.radii()
    centers = centers - centers.mean(axis=0)
    # Cheap look over all pairs first, with room for its rounding: mostly there is no pair at all.
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


def condensed(features: Features, size: int) -> Features:
    """Join the pair that costs least until at most `size` features are left: nothing is lost."""
    while len(features.mass) > size:
        mass, apart = features.mass, sq_distances(features.centers(), features.centers())
        cost = mass[:, None] * mass / (mass[:, None] + mass) * apart
        np.fill_diagonal(cost, np.inf)
        i, j = np.unravel_index([cost.argmin()], cost.shape)
        features = _replaced(features, i, j)
    return features


def merged(centers: FloatArray, sizes: FloatArray, k: int) -> FloatArray:
    """Centres of clusters joined in pairs, always the pair that costs least, until k are left."""
    mass = np.maximum(sizes, 1e-9 * sizes.sum())  # to join an empty cluster costs nearly nothing
    return condensed(Features.of(centers, mass), k).centers()


def without_small(features: Features, min_count: float) -> Features:
    """Join every feature of fewer records with the one that costs least to join."""
    while len(features.mass) > 1 and features.records.min() < min_count:
        small = np.array([features.records.argmin()])
        others = np.delete(np.arange(len(features.mass)), small)
        cost = _cost(features.take(np.repeat(small, len(others))), features.take(others))
        features = _replaced(features, small, others[[cost.argmin()]])
    return features.take(np.flatnonzero(features.records >= min_count))


def _replaced(features: Features, i: IntArray, j: IntArray) -> Features:
    alone = np.delete(np.arange(len(features.mass)), np.concatenate([i, j]))
    return features.take(alone).with_(features.joined(i, j, exact=True))


def without_lightest(features: Features, size: int) -> Features:
    """Forget the lightest features until at most `size` are left, as published."""
    while len(features.mass) > size:
        features = features.take(np.delete(np.arange(len(features.mass)), features.mass.argmin()))
    return features


class Summary(NamedTuple):
    """How rows are summarised."""

    min_features: int
    max_features: int
    threshold: float
    radius_factor: float
    fuzzifier: float
    exact: bool  # squares kept exact and nothing forgotten; else as published


def summarise(X: FloatArray, weight: FloatArray, how: Summary) -> Features:
    """Pass over the rows once; each is taken in by all features, or founds one of its own."""
    w = weight if len(weight) else np.ones(len(X))
    features = Features.of(X[:0].astype(np.float64), np.empty(0))
    fit: Callable[[Features, int], Features] = condensed if how.exact else without_lightest
    for row, share in zip(X.astype(np.float64, copy=False), w, strict=True):
        new = Features.of(row[None], np.array([share]))
        if len(features.mass) < how.min_features:
            features = features.with_(new)
            continue
        distance = np.sqrt(((features.centers() - row) ** 2).sum(axis=1))
        if (distance > _reach(features, how.radius_factor)).all():
            features = fit(features, how.max_features - 1).with_(new)
        else:
            features = _taken_in(features, row, share, distance, how)
        features = merge_similar(features, how.threshold, exact=how.exact)
    return fit(features, how.max_features - 1)


def _reach(features: Features, factor: float) -> FloatArray:
    """How near a row must be: the radius, or for a single row the distance to the next feature."""
    reach = factor * features.radii()
    (single,) = np.nonzero(reach == 0)
    if len(single):
        centers = features.centers()
        apart = ((centers[single, None] - centers) ** 2).sum(axis=2)
        apart[np.arange(len(single)), single] = np.inf
        reach[single] = np.sqrt(apart.min(axis=1))
    return reach


def _taken_in(
    features: Features, row: FloatArray, share: float, distance: FloatArray, how: Summary
) -> Features:
    low = distance.min()
    ratio = np.divide(low, distance, out=np.ones_like(distance), where=distance != low)
    u = ratio ** (2.0 / (how.fuzzifier - 1.0))
    u /= u.sum()
    records, u = features.records + u, share * u
    square = u * distance**2
    if how.exact:  # around the centre after the move, not before it
        square *= features.mass / (features.mass + u)
    return Features(
        features.linear + u[:, None] * row,
        features.mass + u,
        features.updates + share,
        features.square + square,
        records,
    )
