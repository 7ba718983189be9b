"""Describe clusters without sending rows: one-round queries about given centres.

`Profile` computes sizes, means and spreads of clusters, `ClusterShapes` their shape on two axes,
`MapCounts` the number of rows in each cell of a map, and `ClientCounts` the number of rows of each
client in each cluster. They cover every row, so that a mean is one of exactly the rows that the
centre is computed from. A minimum at the client would open a difference between the two, which is
the sum of the rows that were left out. What results may not show is decided from totals, when they
are written (study/withholding.py).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Annotated, ClassVar, Self, TypeVar

import numpy as np

from ..core import (
    Data,
    Dims,
    Empty,
    Message,
    OneRoundQuery,
    Record,
    Role,
    Rule,
    Schema,
    Stacked,
    Summed,
    Traits,
    Work,
    checks,
)
from ..kernels import Density, memberships, most_probable, nearest, posteriors
from ..kernels.threads import blocks
from ..typing import FloatArray, IntArray, Rng
from .federated import CentersToEvaluate

M = TypeVar("M", bound=Message)


def _labels(rows: FloatArray, centers: FloatArray, density: FloatArray | None) -> IntArray:
    """The cluster of each row: the nearest, or of a mixture the most probable."""
    if density is None:
        return nearest(rows, centers)[0]
    return most_probable(rows, Density.unpack(density))


def _by_block(step: Callable[[FloatArray], M], data: Data) -> M:
    """Add the messages of all blocks, because intermediate results are larger than the rows."""
    cuts = blocks(len(data), data.shape[1] * 3)
    return reduce(lambda total, part: total.plus(part), (step(data.X[cut]) for cut in cuts))


@dataclass(frozen=True, eq=False)
class ProfileSums(Summed):
    """Number of rows of each cluster, and sums of their differences from its centre."""

    size: Annotated[FloatArray, Dims("C")]
    total: Annotated[FloatArray, Dims("C", "F")]
    square: Annotated[FloatArray, Dims("C", "F")]
    entropy: Annotated[FloatArray, Dims("C")]

    @classmethod
    def zeros(cls, C: int, F: int) -> Self:
        """Sums over no rows."""
        per_cluster, per_column = np.zeros(C), np.zeros((C, F))
        return cls(per_cluster, per_column, per_column, per_cluster)

    @property
    def support(self) -> FloatArray:
        """Records behind the sums of each cluster."""
        return self.size

    @property
    def cells(self) -> FloatArray:
        """Values behind each sum: the same number in every column, (C, 1)."""
        return self.size[:, None]

    def reorder(self, order: IntArray) -> Self:
        """Reorder the clusters."""
        return replace(self, **{name: getattr(self, name)[order] for name in self._arrays})


@dataclass(frozen=True, eq=False)
class ProfileCellSums(ProfileSums):
    """Number of rows of each cluster, and number and sums of their differences, by column."""

    observed: Annotated[FloatArray, Dims("C", "F")]

    @property
    def cells(self) -> FloatArray:
        return self.observed


@dataclass(frozen=True, eq=False)
class Profile(OneRoundQuery[CentersToEvaluate, ProfileSums]):
    """Sizes, means and spreads of clusters."""

    n_clusters: Annotated[int, Role.CLUSTERS]
    init: Annotated[FloatArray, Role.CLUSTERS]  # (C, F) the centres
    fuzzifier: float = 0.0  # above 1: the entropy of memberships is computed, too
    density: Annotated[FloatArray | None, Role.CLUSTERS] = None  # (C, 1 + 3F) of a mixture

    key: ClassVar[str] = "profile"
    traits: ClassVar[Traits] = Traits(counted=True, additive=True)

    def __post_init__(self) -> None:
        checks.centers(self)

    def broadcast(self, state: Empty) -> CentersToEvaluate:
        return CentersToEvaluate(self.init)

    def client_step(self, down: CentersToEvaluate, data: Data, rng: Rng) -> ProfileSums:
        return _by_block(lambda rows: self._sums(down.centers, rows), data)

    def _sums(self, centers: FloatArray, rows: FloatArray) -> ProfileSums:
        labels = _labels(rows, centers, self.density)  # where memberships are largest, too
        own = np.eye(len(centers))[labels]  # (n, C)
        apart = rows - centers[labels]
        entropy = self._entropy(centers, rows)
        return ProfileSums(own.sum(axis=0), own.T @ apart, own.T @ apart**2, own.T @ entropy)

    def _entropy(self, centers: FloatArray, rows: FloatArray) -> FloatArray:
        """Entropy of the memberships of each row, from 0 to 1."""
        if len(centers) == 1 or (self.fuzzifier <= 1 and self.density is None):
            return np.zeros(len(rows))
        if self.density is not None:
            U = posteriors(rows, Density.unpack(self.density))
        else:
            U = memberships(rows, centers, self.fuzzifier)
        logs = np.log(np.maximum(U, 1e-300)) / np.log(len(centers))
        entropy: FloatArray = -(U * logs).sum(axis=1)
        return entropy

    def rule(self, n_features: int) -> Rule:
        """Our own rule: the sum and the squares of two records reveal both of them."""
        return Rule(min_count=3)


@dataclass(frozen=True, eq=False)
class PartialProfile(Profile):
    """Sizes of clusters, and means and spreads over observed cells."""

    key: ClassVar[str] = "partial-profile"
    traits: ClassVar[Traits] = replace(Profile.traits, missing=True)
    up: ClassVar[type[Message]] = ProfileCellSums
    state: ClassVar[type[Record]] = ProfileCellSums

    def _sums(self, centers: FloatArray, rows: FloatArray) -> ProfileCellSums:
        seen = ~np.isnan(rows)
        labels = _labels(rows, centers, self.density)
        own = np.eye(len(centers))[labels]
        apart = np.where(seen, rows - centers[labels], 0.0)
        entropy = self._entropy(centers, rows)
        sums = own.sum(axis=0), own.T @ apart, own.T @ apart**2, own.T @ entropy
        return ProfileCellSums(*sums, own.T @ seen.astype(float))


@dataclass(frozen=True, eq=False)
class ClusterShapeSums(Summed):
    """Sums and products of the rows of each cluster on two axes, around its centre."""

    size: Annotated[FloatArray, Dims("C")]
    total: Annotated[FloatArray, Dims("C", "two")]
    square: Annotated[FloatArray, Dims("C", "two", "two2")]

    @property
    def support(self) -> FloatArray:
        """Records behind the sums of each cluster."""
        return self.size


@dataclass(frozen=True, eq=False)
class ClusterShapes(OneRoundQuery[CentersToEvaluate, ClusterShapeSums]):
    """Position and spread of each cluster on a plane."""

    n_clusters: Annotated[int, Role.CLUSTERS]
    init: Annotated[FloatArray, Role.CLUSTERS]  # (C, F) the centres
    axes: Annotated[FloatArray, Role.COLUMNS]  # (F, 2)
    density: Annotated[FloatArray | None, Role.CLUSTERS] = None  # (C, 1 + 3F) of a mixture

    key: ClassVar[str] = "outline"
    traits: ClassVar[Traits] = Traits(counted=True, additive=True, missing=True)

    def broadcast(self, state: Empty) -> CentersToEvaluate:
        return CentersToEvaluate(self.init)

    def client_step(self, down: CentersToEvaluate, data: Data, rng: Rng) -> ClusterShapeSums:
        return _by_block(lambda rows: self._sums(down.centers, rows), data)

    def _sums(self, centers: FloatArray, rows: FloatArray) -> ClusterShapeSums:
        labels = _labels(rows, centers, self.density)
        own = np.eye(len(centers))[labels]
        apart = rows - centers[labels]
        flat = np.where(np.isnan(apart), 0.0, apart) @ self.axes  # (n, 2); missing: at the centre
        products = (flat[:, :, None] * flat[:, None, :]).reshape(-1, 4)
        return ClusterShapeSums(own.sum(axis=0), own.T @ flat, (own.T @ products).reshape(-1, 2, 2))

    def rule(self, n_features: int) -> Rule:
        """As for `Profile`."""
        return Rule(min_count=3)

    def sizes(self, schema: Schema) -> dict[str, int]:
        return {"C": self.n_clusters, "two": 2, "two2": 2}


@dataclass(frozen=True, eq=False)
class CellCounts(Summed):
    """Number of rows by cell of a plane."""

    cells: Annotated[FloatArray, Dims("cells")]


@dataclass(frozen=True, eq=False)
class MapCounts(OneRoundQuery[Empty, CellCounts]):
    """Count the rows of all clients together by cell of the map."""

    axes: Annotated[FloatArray, Role.COLUMNS]  # (F, 2)
    low: Annotated[FloatArray, Work(2)]  # (2,) corners of the map
    high: Annotated[FloatArray, Work(2)]  # (2,)
    cells: Annotated[int, Role.BINS] = 24  # along each side

    key: ClassVar[str] = "density"
    traits: ClassVar[Traits] = Traits(additive=True, missing=True)

    def broadcast(self, state: Empty) -> Empty:
        return Empty()

    def client_step(self, down: Empty, data: Data, rng: Rng) -> CellCounts:
        position = (data.X @ self.axes - self.low) / (self.high - self.low) * self.cells
        on_map = position[((position >= 0) & (position < self.cells)).all(axis=1)].astype(int)
        cells = np.bincount(on_map[:, 0] * self.cells + on_map[:, 1], minlength=self.cells**2)
        return CellCounts(cells.astype(float))

    def rule(self, n_features: int) -> Rule:
        """Our own rule: a count of one would disclose the position of a record."""
        return Rule(min_samples=2)

    def sizes(self, schema: Schema) -> dict[str, int]:
        return {"cells": self.cells**2}


@dataclass(frozen=True, eq=False)
class Counts(Stacked):
    """Number of rows of a client by cluster."""

    sizes: Annotated[FloatArray, Dims("M", "C")]


@dataclass(frozen=True, eq=False)
class CellsOfClients(Stacked):
    """Number of observed cells of a client by column, and of its rows."""

    observed: Annotated[FloatArray, Dims("M", "F")]
    rows: Annotated[FloatArray, Dims("M")]


@dataclass(frozen=True, eq=False)
class ClientCells(OneRoundQuery[Empty, CellsOfClients]):
    """Count the observed cells of each client by column."""

    key: ClassVar[str] = "observed-cells"
    traits: ClassVar[Traits] = Traits(additive=True, missing=True)

    def broadcast(self, state: Empty) -> Empty:
        return Empty()

    def client_step(self, down: Empty, data: Data, rng: Rng) -> CellsOfClients:
        observed = (~np.isnan(data.X)).sum(axis=0)
        return CellsOfClients(observed[None].astype(float), np.array([float(len(data))]))

    def rule(self, n_features: int) -> Rule:
        """As for `MapCounts`."""
        return Rule(min_samples=2)

    def sizes(self, schema: Schema) -> dict[str, int]:
        return {"F": schema.n_features}


@dataclass(frozen=True, eq=False)
class ClientCounts(OneRoundQuery[CentersToEvaluate, Counts]):
    """Count the rows of each client by cluster."""

    n_clusters: Annotated[int, Role.CLUSTERS]
    init: Annotated[FloatArray, Role.CLUSTERS]  # (C, F) the centres
    density: Annotated[FloatArray | None, Role.CLUSTERS] = None  # (C, 1 + 3F) of a mixture

    key: ClassVar[str] = "presence"
    traits: ClassVar[Traits] = Traits(additive=True, missing=True)

    def broadcast(self, state: Empty) -> CentersToEvaluate:
        return CentersToEvaluate(self.init)

    def client_step(self, down: CentersToEvaluate, data: Data, rng: Rng) -> Counts:
        labels = _labels(data.X, down.centers, self.density)
        return Counts(np.bincount(labels, minlength=len(down.centers))[None].astype(float))

    def rule(self, n_features: int) -> Rule:
        """As for `MapCounts`."""
        return Rule(min_samples=2)

    def sizes(self, schema: Schema) -> dict[str, int]:
        return {"C": len(self.init)}
