"""Cluster two disjoint halves of all rows separately, to measure stability.

A client assigns its rows to the halves in every round in the same way, by random bits that depend
only on the plan and its rows. So it keeps no state, and no other party knows the halves.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, cast

import numpy as np

from ...algorithms.c_means import CMeans
from ...algorithms.centers import Candidates, CellSums, Centers, Sums
from ...algorithms.fuzzy_c_means import FuzzyCMeans
from ...algorithms.micro_clusters import MicroSeeding
from ...algorithms.partial import PartialCMeans, PartialFuzzyCMeans
from ...core import AnyAlgorithm, Data, Empty, Message, Role, Traits, checks, derive_seed, stream
from ...typing import IntArray, Rng


def halves(data: Data, split: int) -> tuple[Data, Data]:
    """Split rows into two halves; of every two neighbouring rows, one goes to each at random."""
    n = len(data)
    # The seed includes the first row, so that clients of one row do not all use the same half.
    coins = stream(derive_seed(split, data.X[:1].tobytes()), "halves", 0).random(n // 2 + 1) < 0.5
    in_first = np.column_stack([coins, ~coins]).ravel()[:n]
    return _select(data, np.flatnonzero(in_first)), _select(data, np.flatnonzero(~in_first))


def _select(data: Data, rows: IntArray) -> Data:
    return Data(data.X[rows], data.weight[rows] if len(data.weight) else data.weight)


def _step_halves(
    step: Callable[[Centers, Data, Rng], Sums], down: Centers, data: Data, split: int, rng: Rng
) -> Sums:
    """Run one step of each half from its own centres; concatenate the sums."""
    pairs = zip(np.split(down.centers, 2), halves(data, split), strict=True)
    first, second = (step(Centers(centers), half, rng) for centers, half in pairs)
    parts = zip(
        (first.weight, first.total, first.support),
        (second.weight, second.total, second.support),
        strict=True,
    )
    joined = (a if a is None or b is None else np.concatenate([a, b]) for a, b in parts)
    return type(first)(*joined)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class HalfSeeding(MicroSeeding):
    """Seeding by small groups of the rows of one half."""

    second: bool = False  # which half
    split: Annotated[int, Role.FREE] = 0  # determines the halves

    key: ClassVar[str] = "half-micro-clusters"

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.boolean(self, "second")
        checks.integer(self, "split", 0)

    def client_step(self, down: Empty, data: Data, rng: Rng) -> Candidates:
        return super().client_step(down, halves(data, self.split)[self.second], rng)


@dataclass(frozen=True, eq=False)
class HalvesCMeans(CMeans):
    """Lossless k-means of both halves at once; the first half has the first centres."""

    split: Annotated[int, Role.FREE] = 0

    key: ClassVar[str] = "halves-llf-cm"
    traits: ClassVar[Traits] = replace(CMeans.traits, boundable=False)

    def client_step(self, down: Centers, data: Data, rng: Rng) -> Sums:
        return _step_halves(super().client_step, down, data, self.split, rng)


@dataclass(frozen=True, eq=False)
class HalvesFuzzyCMeans(FuzzyCMeans):
    """Lossless fuzzy c-means of both halves at once."""

    split: Annotated[int, Role.FREE] = 0

    key: ClassVar[str] = "halves-llf-fcm"
    traits: ClassVar[Traits] = replace(FuzzyCMeans.traits, boundable=False)

    def client_step(self, down: Centers, data: Data, rng: Rng) -> Sums:
        return _step_halves(super().client_step, down, data, self.split, rng)


@dataclass(frozen=True, eq=False)
class HalvesPartialCMeans(PartialCMeans):
    """Lossless k-means of both halves at once, over observed cells."""

    split: Annotated[int, Role.FREE] = 0

    key: ClassVar[str] = "halves-partial-llf-cm"
    up: ClassVar[type[Message]] = CellSums

    def client_step(self, down: Centers, data: Data, rng: Rng) -> CellSums:
        return cast(CellSums, _step_halves(super().client_step, down, data, self.split, rng))


@dataclass(frozen=True, eq=False)
class HalvesPartialFuzzyCMeans(PartialFuzzyCMeans):
    """Lossless fuzzy c-means of both halves at once, over observed cells."""

    split: Annotated[int, Role.FREE] = 0

    key: ClassVar[str] = "halves-partial-llf-fcm"
    up: ClassVar[type[Message]] = CellSums

    def client_step(self, down: Centers, data: Data, rng: Rng) -> CellSums:
        return cast(CellSums, _step_halves(super().client_step, down, data, self.split, rng))


def halves_of(algorithm: AnyAlgorithm, n_clusters: int, **settings: Any) -> AnyAlgorithm:
    """The algorithm that clusters both halves, as `algorithm` clusters all rows."""
    partial = algorithm.traits.missing
    if not algorithm.soft:
        return (HalvesPartialCMeans if partial else HalvesCMeans)(n_clusters, **settings)
    kind = HalvesPartialFuzzyCMeans if partial else HalvesFuzzyCMeans
    return kind(n_clusters, fuzzifier=algorithm.parameter("fuzzifier"), **settings)
