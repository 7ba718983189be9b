"""Describe clusters without sending rows: three one-round queries about given centres.

`Profile` computes means and spreads of the columns of each cluster, `ClusterShapes` its shape on
two axes, and `ClientCounts` the number of rows of each client by cluster and map cell. Clients
withhold every value, counts included, that describes fewer than `min_count` of their rows. They
send no totals over all rows, from which withheld values could be computed.
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
    Role,
    Schema,
    Stacked,
    Summed,
    Traits,
    Work,
    checks,
)
from ..kernels import memberships, nearest
from ..kernels.threads import blocks
from ..typing import FloatArray, IntArray, Rng
from .federated import CentersToEvaluate

M = TypeVar("M", bound=Message)


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

    def reorder(self, order: IntArray) -> Self:
        """Reorder the clusters."""
        return replace(self, **{name: getattr(self, name)[order] for name in self._arrays})


@dataclass(frozen=True, eq=False)
class Profile(OneRoundQuery[CentersToEvaluate, ProfileSums]):
    """Sizes, means and spreads of clusters."""

    n_clusters: Annotated[int, Role.CLUSTERS]
    init: Annotated[FloatArray, Role.CLUSTERS]  # (C, F) the centres
    fuzzifier: float = 0.0  # above 1: rows belong to the cluster of their largest membership
    min_count: Annotated[int, Role.RECORDS] = 5

    key: ClassVar[str] = "profile"
    traits: ClassVar[Traits] = Traits(additive=True, disjoint=True)

    def __post_init__(self) -> None:
        checks.centers(self)
        checks.integer(self, "min_count")

    def broadcast(self, state: Empty) -> CentersToEvaluate:
        return CentersToEvaluate(self.init)

    def client_step(self, down: CentersToEvaluate, data: Data, rng: Rng) -> ProfileSums:
        return _by_block(lambda rows: self._sums(down.centers, rows), data)

    def _sums(self, centers: FloatArray, rows: FloatArray) -> ProfileSums:
        labels, entropy = self._assign(centers, rows)
        own = np.eye(len(centers))[labels]  # (n, C)
        apart = rows - centers[labels]
        return ProfileSums(own.sum(axis=0), own.T @ apart, own.T @ apart**2, own.T @ entropy)

    def _assign(self, centers: FloatArray, rows: FloatArray) -> tuple[IntArray, FloatArray]:
        if self.fuzzifier <= 1 or len(centers) == 1:
            return nearest(rows, centers)[0], np.zeros(len(rows))
        U = memberships(rows, centers, self.fuzzifier)
        entropy = -(U * np.log(np.maximum(U, 1e-300))).sum(axis=1) / np.log(len(centers))
        return U.argmax(axis=1), entropy

    def release(self, message: ProfileSums) -> ProfileSums:
        return message.keep(message.size >= self.min_count)


@dataclass(frozen=True, eq=False)
class ClusterShapeSums(Summed):
    """Sums and products of the rows of each cluster on two axes, around its centre."""

    size: Annotated[FloatArray, Dims("C")]
    total: Annotated[FloatArray, Dims("C", "two")]
    square: Annotated[FloatArray, Dims("C", "two", "two2")]


@dataclass(frozen=True, eq=False)
class ClusterShapes(OneRoundQuery[CentersToEvaluate, ClusterShapeSums]):
    """Position and spread of each cluster on a plane."""

    n_clusters: Annotated[int, Role.CLUSTERS]
    init: Annotated[FloatArray, Role.CLUSTERS]  # (C, F) the centres
    axes: Annotated[FloatArray, Role.COLUMNS]  # (F, 2)
    min_count: Annotated[int, Role.RECORDS] = 5

    key: ClassVar[str] = "outline"
    traits: ClassVar[Traits] = Traits(additive=True, disjoint=True)

    def broadcast(self, state: Empty) -> CentersToEvaluate:
        return CentersToEvaluate(self.init)

    def client_step(self, down: CentersToEvaluate, data: Data, rng: Rng) -> ClusterShapeSums:
        return _by_block(lambda rows: self._sums(down.centers, rows), data)

    def _sums(self, centers: FloatArray, rows: FloatArray) -> ClusterShapeSums:
        labels = nearest(rows, centers)[0]
        own = np.eye(len(centers))[labels]
        flat = (rows - centers[labels]) @ self.axes  # (n, 2)
        products = (flat[:, :, None] * flat[:, None, :]).reshape(-1, 4)
        return ClusterShapeSums(own.sum(axis=0), own.T @ flat, (own.T @ products).reshape(-1, 2, 2))

    def release(self, message: ClusterShapeSums) -> ClusterShapeSums:
        return message.keep(message.size >= self.min_count)

    def sizes(self, schema: Schema) -> dict[str, int]:
        return {"C": self.n_clusters, "two": 2, "two2": 2}


@dataclass(frozen=True, eq=False)
class Counts(Stacked):
    """Number of rows of a client by cluster, and by cell of a plane."""

    sizes: Annotated[FloatArray, Dims("M", "C")]
    cells: Annotated[FloatArray, Dims("M", "cells")]


@dataclass(frozen=True, eq=False)
class ClientCounts(OneRoundQuery[CentersToEvaluate, Counts]):
    """Count the rows of each client by cluster and by cell of the map.

    Counts below `min_count` are sent as zero.
    """

    n_clusters: Annotated[int, Role.CLUSTERS]
    init: Annotated[FloatArray, Role.CLUSTERS]  # (C, F) the centres
    axes: Annotated[FloatArray, Role.COLUMNS]  # (F, 2)
    low: Annotated[FloatArray, Work(2)]  # (2,) corners of the map
    high: Annotated[FloatArray, Work(2)]  # (2,)
    cells: Annotated[int, Role.BINS] = 24  # along each side
    min_count: Annotated[int, Role.RECORDS] = 5

    key: ClassVar[str] = "presence"
    traits: ClassVar[Traits] = Traits(additive=True, answered_once=True)

    def broadcast(self, state: Empty) -> CentersToEvaluate:
        return CentersToEvaluate(self.init)

    def client_step(self, down: CentersToEvaluate, data: Data, rng: Rng) -> Counts:
        labels = nearest(data.X, down.centers)[0]
        sizes = np.bincount(labels, minlength=len(down.centers))
        position = (data.X @ self.axes - self.low) / (self.high - self.low) * self.cells
        on_map = position[((position >= 0) & (position < self.cells)).all(axis=1)].astype(int)
        cells = np.bincount(on_map[:, 0] * self.cells + on_map[:, 1], minlength=self.cells**2)
        return Counts(sizes[None].astype(float), cells[None].astype(float))

    def release(self, message: Counts) -> Counts:
        return message._map(lambda a, _: np.where(a >= self.min_count, a, 0.0))

    def sizes(self, schema: Schema) -> dict[str, int]:
        return {"C": len(self.init), "cells": self.cells**2}
