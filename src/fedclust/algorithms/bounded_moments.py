"""Mean and variance of every column, with bounded influence of each record, for added noise.

A value counts as z in [-1, 1], its place between the public bounds. A record adds 1, z and z^2 for
each of its values, so the noise of one round hides all of them.
"""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from ..core import ConfigError, Data, Dims, Empty, MessageError, Record, Schema, Traits, checks
from ..typing import FloatArray, Rng
from .bounded import FLOAT_STEPS, STEPS, BoundedAlgorithm, IntegerSums, sum_steps

_PARTS = 3  # count, sum and squares
_SURE = 6.0  # standard deviations of the noise that a count must exceed
_LEAST_SPREAD = 0.01  # of half the bounds: a smaller deviation may be noise


@dataclass(frozen=True, eq=False)
class NoisyMoments(Record):
    """Means and variances by column; zero until they are known."""

    over: bool
    mean: Annotated[FloatArray, Dims("F")]
    variance: Annotated[FloatArray, Dims("F")]


@dataclass(frozen=True, eq=False)
class BoundedMoments(BoundedAlgorithm[NoisyMoments, Empty]):
    """Counts, sums and squares at the clients; means and variances at the server."""

    whole_rows: bool = False  # only rows without a missing value count
    noise: float = 0.0  # standard deviation of the noise of a count

    key: ClassVar[str] = "bounded-moments"
    traits: ClassVar[Traits] = replace(BoundedAlgorithm.traits, missing=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.boolean(self, "whole_rows")
        checks.number(self, "noise")

    def start(self, schema: Schema, rng: Rng) -> NoisyMoments:
        zeros = np.zeros(len(self.low))
        return NoisyMoments(False, zeros, zeros)

    def broadcast(self, state: NoisyMoments) -> Empty:
        return Empty()

    def client_step(self, down: Empty, data: Data, rng: Rng) -> IntegerSums:
        if data.X.shape[1] != len(self.low):
            raise MessageError(f"{self.key}: bounds of {len(self.low)} columns, other rows")
        present = ~np.isnan(data.X)
        if self.whole_rows:
            present &= np.asarray(present.all(axis=1))[:, None]
        middle, half = self.middle, (self.high - self.low) / 2
        place = np.clip((data.X - middle) / half, -1.0, 1.0)
        parts = [np.where(present, part, 0.0) for part in (np.ones_like(place), place, place**2)]
        return IntegerSums(sum_steps(np.rint(np.hstack(parts) * STEPS)))

    def sensitivity(self, down: Empty) -> float:
        """No number that a record adds is above 1; rounding adds half a step to each."""
        return float(np.sqrt(_PARTS * len(self.low)) * (STEPS + 0.5) + FLOAT_STEPS)

    def server_step(self, state: NoisyMoments, merged: IntegerSums, rng: Rng) -> NoisyMoments:
        F = len(self.low)
        if merged.values.size != _PARTS * F:
            raise MessageError(f"{self.key}: expected {_PARTS * F} sums")
        count, total, square = merged.values.astype(np.float64).reshape(_PARTS, F) / STEPS
        if (count <= max(1.0, _SURE * self.noise)).any():
            raise ConfigError(
                "the noise hides the means of the columns, so they cannot be standardised or "
                'filled in; use scaling = "min-max" and missing = "drop", more rows, or a larger '
                "epsilon"
            )
        mean = np.clip(total / count, -1.0, 1.0)
        variance = np.clip(square / count - mean**2, _LEAST_SPREAD**2, 1.0)
        half = (self.high - self.low) / 2
        return NoisyMoments(True, self.middle + mean * half, variance * half**2)

    def done(self, state: NoisyMoments) -> bool:
        return bool(state.over)

    def model(self, state: NoisyMoments) -> NoisyMoments:
        return state

    @property
    def lossless(self) -> bool:
        return False
