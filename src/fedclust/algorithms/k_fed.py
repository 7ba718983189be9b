"""k-FED: one round, with core sets at the clients and a max-min start at the server.

D. K. Dennis, T. Li, V. Smith: "Heterogeneity for the Win: One-Shot Federated Clustering", ICML
2021; local step after P. Awasthi, O. Sheffet (2012).

Client: project the rows on their first k' singular directions, seed there by k-means++, keep as
core set of a seed the rows that are three times closer to it than to any other, start Lloyd from
the means of the core sets. Server: start from some centres, add the farthest until there are k,
then run Lloyd over all local centres from there.

The published code sends raw rows from clients of at most k' rows, fails when k' exceeds the number
of features or a core set is empty, and starts from the first k' rows it received.
"""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

import numpy as np

from ..core import Data, Empty, Role, Traits, Work, checks
from ..kernels import (
    divide_or_keep,
    farthest_first,
    kmeans_plusplus,
    lloyd,
    pad_centers,
    sq_distances,
)
from ..typing import FloatArray, Rng
from .centers import Candidates, OneRound
from .one_shot import count_local_clusters


@dataclass(frozen=True, eq=False)
class KFed(OneRound[Candidates]):
    """One-shot clustering by core sets and farthest centres."""

    n_local: Annotated[int | None, Role.CLUSTERS] = None  # k'; None: as many as n_clusters
    steps: Annotated[int, Work(10_000)] = 300  # of Lloyd, on either side
    greedy: bool = True  # k-means++ keeps the best of a few draws; the authors take the first
    first_received: bool = False  # start from the first k' centres, as the authors' code does
    # A local centre of fewer records is not sent.
    min_count: Annotated[int, Role.RECORDS] = 2

    key: ClassVar[str] = "k-fed"
    use_for: ClassVar[str] = "Use it to compare with its paper. Otherwise prefer one-shot."
    traits: ClassVar[Traits] = Traits(counted=True, draws=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_local is not None:
            checks.integer(self, "n_local")
        checks.integer(self, "steps")
        checks.boolean(self, "greedy")
        checks.boolean(self, "first_received")
        checks.integer(self, "min_count")

    @property
    def _n_local(self) -> int:
        return self.n_local or self.n_clusters

    def client_step(self, down: Empty, data: Data, rng: Rng) -> Candidates:
        k = count_local_clusters(len(data), self._n_local, self.min_count)
        if k == 0:
            return Candidates.empty(data.X.shape[1])
        start = self._core_means(data, k, rng)
        local = lloyd(data.X, start, data.weight, steps=self.steps)
        candidates = Candidates(local.centers, local.weight, local.records)
        return candidates.keep_supported(self.min_count)

    def _core_means(self, data: Data, k: int, rng: Rng) -> FloatArray:
        w = data.weight if len(data.weight) else np.ones(len(data))
        directions = _first_directions(data.X, w, k)  # (F, <= k)
        rows = data.X @ directions
        seeds = pad_centers(kmeans_plusplus(rows, k, rng, data.weight, greedy=self.greedy), k)
        distance = np.sqrt(sq_distances(rows, seeds))
        closest = distance.argmin(axis=1)
        rival = np.partition(distance, 1, axis=1)[:, 1] if k > 1 else np.full(len(rows), np.inf)
        core = 3.0 * distance[np.arange(len(rows)), closest] <= rival
        weight, total = np.zeros(k), np.zeros(seeds.shape)
        np.add.at(weight, closest[core], w[core])
        np.add.at(total, closest[core], w[core, None] * rows[core])
        return (
            divide_or_keep(total, weight, seeds) @ directions.T
        )  # an empty core set keeps its seed

    def centers(self, merged: Candidates, rng: Rng) -> FloatArray:
        first = merged.centers[: self._n_local]
        if not self.first_received:  # the heaviest centre is not an outlier
            first = merged.centers[[np.argmax(merged.weight)]]
        start = farthest_first(merged.centers, self.n_clusters, first)
        return lloyd(merged.centers, start, steps=self.steps).centers

    @classmethod
    def reference(cls, n_clusters: int, **changes: Any) -> Self:
        """The authors' starts on both sides; small clients send their rows."""
        settings = {"greedy": False, "first_received": True, "min_count": 1}
        return cls(n_clusters, **{**settings, **changes})


def _first_directions(X: FloatArray, weight: FloatArray, k: int) -> FloatArray:
    """The first k right singular vectors of the rows (not centred), as columns."""
    if k >= X.shape[1]:
        return np.eye(X.shape[1])
    _, vectors = np.linalg.eigh(X.T @ (weight[:, None] * X))
    first = vectors[:, ::-1][:, :k]
    # Both signs are valid, but the choice must not depend on rounding.
    signs: FloatArray = np.sign(first[np.abs(first).argmax(axis=0), np.arange(k)])
    return first * signs
