"""Definition of an index: sums over rows, a formula for these sums, and its interpretation.

One table and many clients use the same sums and formula, so the results cannot differ. A row
contributes through its squared distances to all centres.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..core import ConfigError, Data
from ..kernels import memberships_of, sq_distances
from ..kernels.threads import map_blocks
from ..typing import Better, FloatArray


class Rows:
    """Input of an index: a block of rows. Values that several indices need are cached."""

    def __init__(self, D: FloatArray, weight: FloatArray, fuzzifier: float) -> None:
        self.D = D  # (n, C) squared distances
        self.weight = weight  # (n,)
        self.fuzzifier = fuzzifier

    @property
    def n_clusters(self) -> int:
        """Number of centres."""
        return int(self.D.shape[1])

    @cached_property
    def distance(self) -> FloatArray:
        """Distances, not squared (n, C)."""
        return np.sqrt(self.D)

    @cached_property
    def memberships(self) -> FloatArray:
        """Bezdek memberships (n, C)."""
        return memberships_of(self.D, self.fuzzifier)

    def mean_of(self, values: FloatArray) -> FloatArray:
        """Numerator and denominator of the weighted mean of one value per row."""
        return np.array([self.weight @ values, self.weight.sum()])


Sums = Callable[[Rows], FloatArray]
Formula = Callable[[FloatArray, FloatArray], float]


@dataclass(frozen=True, kw_only=True)
class Measure:
    """Name and interpretation of a number that describes a clustering."""

    name: str  # in files and settings, such as "xie-beni"
    title: str  # in reports
    meaning: str  # what it measures, in a few words
    better: Better

    def best(self, values: Sequence[float]) -> int:
        """Position of the best value."""
        return int(np.argmin(values) if self.better == "lower" else np.argmax(values))


@dataclass(frozen=True, kw_only=True)
class Index(Measure):
    """An index of centres over rows, for one table or for sums of many clients."""

    sums: Sums  # client: a block of rows -> (T,); added over blocks and clients
    formula: Formula  # server: sums (T,), centres (C, F) -> the index
    size: int | Callable[[int], int]  # T, or a function that computes T from C
    min_clusters: int = 1
    reported: bool = True  # computed for the report of every study
    chooses_k: bool = False  # computed for every k when the number of clusters is chosen

    def __call__(
        self,
        X: Any,
        centers: Any,
        *,
        fuzzifier: float = 2.0,
        sample_weight: Any = None,
        missing: bool = False,
    ) -> float:
        """Compute the index over one table; with `missing`, NaN is a missing cell."""
        data, at = Data.of(X, sample_weight, missing=missing), np.asarray(centers, dtype=np.float64)
        self.check(len(at))
        return self.formula(sums_over([self.sums_of], data.X, data.weight, at, fuzzifier), at)

    def check(self, n_clusters: int) -> None:
        """Refuse fewer centres than the index needs."""
        if n_clusters < self.min_clusters:
            raise ConfigError(
                f"{self.name} needs at least {self.min_clusters} centres, got {n_clusters}"
            )

    def length(self, n_clusters: int) -> int:
        """Number of sums that a client sends."""
        return self.size if isinstance(self.size, int) else self.size(n_clusters)

    def sums_of(self, rows: Rows) -> FloatArray:
        """Compute the sums over a block of rows (T,), and check their shape."""
        sums = self.sums(rows)
        if sums.shape != (self.length(rows.n_clusters),):
            raise ConfigError(
                f"{self.name}: sums returned an array of shape {sums.shape}, but size is "
                f"{self.length(rows.n_clusters)}; correct the index"
            )
        return sums


def cluster_sizes(rows: Rows) -> FloatArray:
    """Weight of the rows nearest to each centre (C,)."""
    sizes = np.bincount(rows.D.argmin(axis=1), rows.weight, rows.n_clusters)
    return sizes.astype(np.float64)


def sums_over(
    parts: Sequence[Sums], X: FloatArray, weight: FloatArray, centers: FloatArray, fuzzifier: float
) -> FloatArray:
    """Concatenated sums of one or more indices over all rows, computed block by block."""
    w = weight if len(weight) else np.ones(len(X))

    def step(block: slice) -> FloatArray:
        rows = Rows(sq_distances(X[block], centers), w[block], fuzzifier)
        return np.concatenate([part(rows) for part in parts])

    total: FloatArray = np.sum(map_blocks(step, len(X), X.shape[1] + len(centers)), axis=0)
    return total
