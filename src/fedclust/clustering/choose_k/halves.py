"""Two disjoint halves of all rows, each clustered on its own: what stability is measured by.

A client deals its rows to the halves anew in every round, always in the same way: by coins that
are a function of the plan and of its rows. So it keeps no state, and nobody else knows the halves.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from ...algorithms.c_means import CMeans
from ...algorithms.centers import Candidates, Centers, Sums
from ...algorithms.fuzzy_c_means import FuzzyCMeans
from ...algorithms.seeding import CarefulSeeding
from ...core import Data, Empty, Role, Traits, checks, derive_seed, stream
from ...typing import IntArray, Rng


def halves(data: Data, split: int) -> tuple[Data, Data]:
    """The rows in two halves: of every two neighbours one goes to each, as a coin decides."""
    n = len(data)
    # The first row is in the seed so that clients of one row do not all go to the same half.
    coins = stream(derive_seed(split, data.X[:1].tobytes()), "halves", 0).random(n // 2 + 1) < 0.5
    in_first = np.column_stack([coins, ~coins]).ravel()[:n]
    return _only(data, np.flatnonzero(in_first)), _only(data, np.flatnonzero(~in_first))


def _only(data: Data, rows: IntArray) -> Data:
    return Data(data.X[rows], data.weight[rows] if len(data.weight) else data.weight)


def _of_each(
    step: Callable[[Centers, Data, Rng], Sums], down: Centers, data: Data, split: int, rng: Rng
) -> Sums:
    """One step of each half from its own centres; the sums of the second follow the first's."""
    pairs = zip(np.split(down.centers, 2), halves(data, split), strict=True)
    first, second = (step(Centers(centers), half, rng) for centers, half in pairs)
    parts = zip(
        (first.weight, first.total, first.support),
        (second.weight, second.total, second.support),
        strict=True,
    )
    return Sums(*(a if a is None else np.concatenate([a, b]) for a, b in parts))  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class HalfSeeding(CarefulSeeding):
    """Careful seeding from the rows of one half."""

    second: bool = False  # which half
    split: Annotated[int, Role.FREE] = 0  # what the halves are a function of

    key: ClassVar[str] = "half-careful"
    traits: ClassVar[Traits] = replace(CarefulSeeding.traits, answered_once=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.boolean(self, "second")
        checks.integer(self, "split", 0)

    def client_step(self, down: Empty, data: Data, rng: Rng) -> Candidates:
        return super().client_step(down, halves(data, self.split)[self.second], rng)


@dataclass(frozen=True, eq=False)
class HalvesCMeans(CMeans):
    """Lossless k-means of both halves at once: the first n_clusters / 2 centres are the first's."""

    split: Annotated[int, Role.FREE] = 0

    key: ClassVar[str] = "halves-llf-cm"
    # Rows of a half are not those nearest to its centres among all centres.
    traits: ClassVar[Traits] = replace(CMeans.traits, disjoint=False, boundable=False)

    def client_step(self, down: Centers, data: Data, rng: Rng) -> Sums:
        return _of_each(super().client_step, down, data, self.split, rng)


@dataclass(frozen=True, eq=False)
class HalvesFuzzyCMeans(FuzzyCMeans):
    """Lossless fuzzy c-means of both halves at once."""

    split: Annotated[int, Role.FREE] = 0

    key: ClassVar[str] = "halves-llf-fcm"
    traits: ClassVar[Traits] = replace(FuzzyCMeans.traits, boundable=False)

    def client_step(self, down: Centers, data: Data, rng: Rng) -> Sums:
        return _of_each(super().client_step, down, data, self.split, rng)
