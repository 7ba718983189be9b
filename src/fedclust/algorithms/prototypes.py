"""LLF-prototypes: lossless k-prototypes for numbers and categories, rows split between owners.

Z. Huang: "Extensions to the k-Means Algorithm for Clustering Large Data Sets with Categorical
Values", Data Mining and Knowledge Discovery 2(3), 1998, Eqs. 7-9. The distance of a row to a
cluster is that of its numbers to the mean, and gamma for each category that is not the mode:

    d(x, v) = sum_numbers (x_f - v_f)^2 + gamma sum_categories [x_f != v_f]

A column of categories is a block of columns that are 0 or h, with h = sqrt(gamma / 2), so that two
rows of different categories are gamma apart, and d is a squared distance. Rows come with these
heights, so a step is that of LLF-CM: clients send counts of categories as sums, and the server
takes the mode, or the shares. Ties go to the category that is listed first. The paper moves a
centre after each row; here all centres move after all rows, which any split of rows allows.
"""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, cast

import numpy as np

from ..core import AnyAlgorithm, ConfigError, Dims, Message, Schema, Traits
from ..typing import FloatArray, IntArray, Rng
from .c_means import CMeans
from .centers import CellSums, CenterState, Sums, as_kind
from .partial import PartialCMeans

CENTERS = ("mode", "shares")
_TIE = 1e-9  # equal counts are equal sums but for the last bits, which depend on the split


@dataclass(frozen=True, eq=False)
class PrototypeState(CenterState):
    """Centres, and what is public of the columns."""

    blocks: Annotated[IntArray, Dims("F")]  # 0: a number; else the categories of the same column
    height: Annotated[FloatArray, Dims("F")]  # of a category in its block


def take_modes(means: FloatArray, state: PrototypeState) -> FloatArray:
    """Means with the most frequent category of each block in place of shares."""
    modes = means.copy()
    for block in np.unique(state.blocks[state.blocks > 0]):
        places = np.flatnonzero(state.blocks == block)
        shares = means[:, places]
        tied = shares >= shares.max(axis=1, keepdims=True) * (1.0 - _TIE)
        most = places[tied.argmax(axis=1)]
        modes[:, places] = 0.0
        modes[np.arange(len(modes)), most] = state.height[most]
    return modes


@dataclass(frozen=True, eq=False)
class Prototypes(CMeans):
    """Lossless k-prototypes: one exact step over numbers and categories per round."""

    center: str = "mode"

    key: ClassVar[str] = "llf-prototypes"
    use_for: ClassVar[str] = "Use it for columns of numbers and of categories together."
    traits: ClassVar[Traits] = replace(CMeans.traits, boundable=False, categories=True, weighs=True)
    state: ClassVar[type[CenterState]] = PrototypeState

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.center not in CENTERS:
            raise ConfigError(f"{self.key}: center must be 'mode' or 'shares', got {self.center!r}")

    def start(self, schema: Schema, rng: Rng) -> CenterState:
        return _start(super().start(schema, rng), schema)

    def server_step(self, state: CenterState, merged: Sums, rng: Rng) -> CenterState:
        return _step(self.center, state, super().server_step(state, merged, rng))

    def over_cells(self) -> AnyAlgorithm:
        return as_kind(PartialPrototypes, self)


@dataclass(frozen=True, eq=False)
class PartialPrototypes(PartialCMeans):
    """Lossless k-prototypes over observed cells."""

    center: str = "mode"

    key: ClassVar[str] = "llf-prototypes"
    traits: ClassVar[Traits] = replace(PartialCMeans.traits, categories=True, weighs=True)
    up: ClassVar[type[Message]] = CellSums
    state: ClassVar[type[CenterState]] = PrototypeState

    def start(self, schema: Schema, rng: Rng) -> CenterState:
        return _start(super().start(schema, rng), schema)

    def server_step(self, state: CenterState, merged: Sums, rng: Rng) -> CenterState:
        return _step(self.center, state, super().server_step(state, merged, rng))


def _start(state: CenterState, schema: Schema) -> PrototypeState:
    F = schema.n_features
    blocks = np.zeros(F, np.int64) if schema.blocks is None else schema.blocks
    height = np.ones(F) if schema.height is None else schema.height
    return PrototypeState(state.centers, state.round, state.shift, blocks, height)


def _step(center: str, before: CenterState, means: CenterState) -> CenterState:
    """The next state, with modes if these are wanted."""
    if center == "shares":
        return means
    state = cast(PrototypeState, before)
    return state.move_to(take_modes(means.centers, state))
