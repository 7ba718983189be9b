"""FFCF: one round of fuzzy clustering features, clustered at the server.

A. Urio-Larrea: "Federated Clustering Algorithm based on a Fuzzy Clustering Feature Vector", KDD
2024 poster. Every client summarises its rows in a single pass; features add up, and the server
runs a weighted fuzzy c-means on their centres.

The published code drops the lightest feature when there are too many (84 % of the data in 16
dimensions), adds squares without the shift of centres, and sends features of a single row. Here the
two features that are cheapest to merge are merged instead, squares are exact, and features of few
records are merged before they are sent: with two records in one dimension, the centre and the
square of a feature are two equations for two unknown rows. `reference` keeps all of the published
behaviour, the fixed train-test split included.
"""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

import numpy as np

from ..core import Data, Dims, Empty, Role, Stacked, Traits, Work, checks
from ..kernels import fuzzy_c_means, k_means, memberships, pad_centers
from ..kernels.features import Features, SummarySettings, join_small, merge_similar, summarise
from ..typing import FloatArray, IntArray, Rng
from .centers import OneRound


@dataclass(frozen=True, eq=False)
class FeatureSet(Stacked):
    """Fuzzy clustering features, one per row."""

    linear: Annotated[FloatArray, Dims("J", "F")]
    mass: Annotated[FloatArray, Dims("J")]
    updates: Annotated[FloatArray, Dims("J")]
    square: Annotated[FloatArray, Dims("J")]
    support: Annotated[FloatArray | None, Dims("J", stays=True)] = None  # records behind each row


@dataclass(frozen=True, eq=False)
class FuzzyFeatures(OneRound[FeatureSet]):
    """Fuzzy c-means over summaries of all clients' rows, in one round."""

    fuzzifier: float = 2.0
    min_features: Annotated[int, Work(10_000)] = 5
    max_features: Annotated[int, Work(10_000)] = 100
    threshold: float = 1.0  # sum of radii over distance at which two features become one
    radius_factor: float = 1.0
    # Features of fewer records are merged with a neighbour before they are sent.
    min_count: Annotated[int, Role.RECORDS] = 3
    published: bool = False  # behave as the authors' code does

    key: ClassVar[str] = "ffcf"
    use_for: ClassVar[str] = "Use it for fuzzy c-means when clients can answer only once."
    traits: ClassVar[Traits] = Traits(soft=True, counted=True, draws=True, one_pass=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.fuzzifier(self)
        checks.integer(self, "min_features", 2)
        checks.integer(self, "max_features", self.min_features + 1)
        checks.number(self, "threshold", above=True)
        checks.number(self, "radius_factor", above=True)
        checks.integer(self, "min_count")
        checks.boolean(self, "published")

    @property
    def _summary_settings(self) -> SummarySettings:
        return SummarySettings(
            self.min_features,
            self.max_features,
            self.threshold,
            self.radius_factor,
            self.fuzzifier,
            not self.published,
        )

    def client_step(self, down: Empty, data: Data, rng: Rng) -> FeatureSet:
        # Sorted rows would be summarised badly, so they are taken in random order.
        order = _authors_split(len(data)) if self.published else rng.permutation(len(data))
        weight = data.weight[order] if len(data.weight) else data.weight
        features = summarise(data.X[order], weight, self._summary_settings)
        if not self.published:
            features = join_small(features, self.min_count)
        return FeatureSet(*features)

    def centers(self, merged: FeatureSet, rng: Rng) -> FloatArray:
        # Numbers of records are not sent, and the server does not need them.
        features = Features(
            merged.linear, merged.mass, merged.updates, merged.square, records=merged.mass
        )
        if self.published:
            return _authors_server(features, self.n_clusters, self.threshold)
        # Weighted c-means needs no merging, and in many dimensions merging by radii joins
        # clusters.
        rows, mass = features.centers(), features.mass
        start = k_means(rows, self.n_clusters, rng, mass)
        return fuzzy_c_means(rows, start, self.fuzzifier, mass, steps=300)[0]

    @classmethod
    def reference(cls, n_clusters: int, **changes: Any) -> Self:
        """The published code, in which the server's fuzzifier is always 2."""
        return cls(n_clusters, **{"published": True, "min_count": 1, **changes})


def _authors_split(n: int) -> IntArray:
    """The rows, and their order, that a train-test split of 67:33 with seed 0 leaves."""
    shuffled = np.random.RandomState(0).permutation(n)
    return shuffled[int(np.ceil(0.33 * n)) :]


def _authors_server(features: Features, k: int, threshold: float) -> FloatArray:
    """One merge, then weighted c-means from random memberships, stopped by an unweighted J."""
    features = merge_similar(features, threshold, exact=False)
    rows, mass = features.centers(), features.mass
    u: FloatArray = np.random.default_rng(42).random((min(k, len(rows)), len(rows)))
    u /= u.sum(axis=0)
    objective, before, steps = 1.0, 0.0, 0
    while abs(objective - before) > 1e-3 and steps < 300:
        w = mass * u**2
        centers = (w @ rows) / w.sum(axis=1, keepdims=True)
        u = memberships(rows, centers, 2.0).T
        d2 = ((centers[:, None] - rows) ** 2).sum(axis=2)
        objective, before, steps = float((u**2 * d2).sum()), objective, steps + 1
    return pad_centers(centers, k)
