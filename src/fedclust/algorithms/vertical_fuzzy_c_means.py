"""LLF-FCM for split columns: lossless fuzzy c-means, owners with some features of all records.

J. L. Corcuera Barcena et al., IEEE Transactions on Artificial Intelligence, 2024; Section V,
Algorithm 4, Eq. 17.

The server sends u^m; owners average their columns by it and send squared distances to their part of
the centres. Memberships are ratios to the nearest centre's distance: a record on a centre, where
the authors' code divides by zero, belongs to it alone.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from ..core import Dims, MessageError, Record, Traits, checks
from ..kernels.columns import closest_call, nearest_of, powered_memberships, weighted_means
from ..typing import BoolArray, FloatArray, IntArray, Rng
from .records import (
    PartialDistances,
    RecordAlgorithm,
    RecordState,
    check_assignment,
    check_weights,
    one_hot,
    restore_kept,
)

# Logarithms below which a weight counts as zero; e^-745 underflows in float64, e^-103 in float32.
_LOG_ZERO = {"float64": -700.0, "float32": -80.0}


@dataclass(frozen=True, eq=False)
class Weights(Record):
    """u^m of each record in each cluster; clusters without weight keep those they had."""

    weights: Annotated[FloatArray, Dims("N", "C")]
    kept: Annotated[FloatArray, Dims("N", "E")]
    which: Annotated[IntArray, Dims("E")]


@dataclass(frozen=True, eq=False)
class VerticalFuzzyCMeans(RecordAlgorithm[Weights]):
    """Lossless fuzzy c-means over split columns: owners send distances and receive weights."""

    fuzzifier: float = 2.0

    key: ClassVar[str] = "vertical-llf-fcm"
    use_for: ClassVar[str] = (
        "Use it for fuzzy c-means, if the owners trust each other with distances."
    )
    traits: ClassVar[Traits] = Traits(soft=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.fuzzifier(self)

    def broadcast(self, state: RecordState) -> Weights:
        return Weights(self._all_weights(state, self.message_dtype), state.kept, state.which)

    def local_centers(self, down: Weights, X: FloatArray) -> FloatArray:
        check_assignment(down.which, 0, self.n_clusters, len(down.which))
        if down.weights.shape != (len(X), self.n_clusters):
            raise MessageError(
                f"invalid broadcast: expected weights of {len(X)} records in "
                f"{self.n_clusters} clusters, got the shape {down.weights.shape}"
            )
        check_weights(down.weights, down.kept)
        return restore_kept(weighted_means(X, down.weights), X, down.kept, down.which)  # Eq. 17

    def weights(self, state: RecordState, clusters: IntArray) -> FloatArray:
        return self._all_weights(state, np.float64)[:, clusters]

    def _all_weights(self, state: RecordState, dtype: Any) -> FloatArray:
        if state.round == 0:
            return one_hot(state.labels, np.arange(self.n_clusters), dtype)
        return powered_memberships(state.d2, self.fuzzifier, self.fuzzifier, dtype)

    def server_step(self, state: RecordState, merged: PartialDistances, rng: Rng) -> RecordState:
        moved = self.update_distances(state, merged.d2)
        return self.keep_empty_centers(state, moved, self._without_weight(merged.d2))

    def _without_weight(self, d2: FloatArray) -> BoolArray:
        """Clusters so far from all records that every u^m underflows to zero."""
        empty: BoolArray = np.bincount(nearest_of(d2), minlength=self.n_clusters) == 0
        power = self.fuzzifier / (self.fuzzifier - 1.0)
        for c in np.flatnonzero(empty).tolist():
            ratio = closest_call(d2, c)
            empty[c] = ratio == 0 or power * math.log(ratio) < _LOG_ZERO[self.message_dtype]
        return empty

    def model(self, state: RecordState) -> FloatArray:
        """Memberships (N, C); no party has full centres."""
        return powered_memberships(state.d2, self.fuzzifier, 1.0, np.float64)
