"""LLF-CM for split columns: lossless k-means, every owner with some features of all records.

J. L. Corcuera Barcena, F. Marcelloni, A. Renda, A. Bechini, P. Ducange: "Federated c-means and
Fuzzy c-means Clustering Algorithms for Horizontally and Vertically Partitioned Data", IEEE
Transactions on Artificial Intelligence, 2024; Section V, Algorithm 4, Eq. 16.

The server sends labels (N numbers, not N x C memberships); owners average their columns by label
and send squared distances to their part of the centres; the sum of those is the squared distance.
The authors' code continues while rounds are left *or* the tolerance is not reached; here either
condition ends the run.
"""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from ..core import Dims, Record
from ..kernels.columns import labelled_means, nearest_of
from ..typing import FloatArray, IntArray, Rng
from .records import (
    PartialDistances,
    RecordAlgorithm,
    RecordState,
    check_assignment,
    check_weights,
    one_hot,
    restore_kept,
)


@dataclass(frozen=True, eq=False)
class Labels(Record):
    """The cluster of each record, negative for none. Empty clusters keep their weights."""

    labels: Annotated[IntArray, Dims("N")]
    kept: Annotated[FloatArray, Dims("N", "E")]
    which: Annotated[IntArray, Dims("E")]


@dataclass(frozen=True, eq=False)
class VerticalCMeans(RecordAlgorithm[Labels]):
    """Lossless k-means over split columns: owners send partial distances and receive labels."""

    key: ClassVar[str] = "vertical-llf-cm"
    use_for: ClassVar[str] = "Use it for k-means."

    def broadcast(self, state: RecordState) -> Labels:
        return Labels(state.labels, state.kept, state.which)

    def local_centers(self, down: Labels, X: FloatArray) -> FloatArray:
        check_assignment(down.labels, -1, self.n_clusters, len(X))
        check_assignment(down.which, 0, self.n_clusters, len(down.which))
        check_weights(down.kept)
        means = labelled_means(X, down.labels, self.n_clusters)  # Eq. 16
        return restore_kept(means, X, down.kept, down.which)

    def weights(self, state: RecordState, clusters: IntArray) -> FloatArray:
        return one_hot(state.labels, clusters)

    def server_step(self, state: RecordState, merged: PartialDistances, rng: Rng) -> RecordState:
        moved = self.update_distances(state, merged.d2)
        labels = nearest_of(merged.d2)
        empty = np.bincount(labels, minlength=self.n_clusters) == 0
        return replace(self.keep_empty_centers(state, moved, empty), labels=labels)

    def model(self, state: RecordState) -> IntArray:
        """The cluster of each record; no party has full centres."""
        return state.labels
