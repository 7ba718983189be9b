"""k-means and fuzzy c-means of which one record can change little: made for added noise.

After D. Su et al. (2016), differentially private k-means, with sums around the current centres:
a client sends, for each centre v, the weights w and the sum of w (x - v), in which no x - v is
longer than the usual distance between neighbouring centres. For hard and fuzzy weights alike
the w of a record sum to at most one, so one record adds a vector of length sqrt(a^2 + r^2): a for
the weights, r for the clipped rows.
"""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from ..core import Data, Dims, MessageError, Record, Role, Schema, checks
from ..kernels import memberships, nearest, sq_distances
from ..typing import Array, FloatArray, Rng
from .bounded import (
    STEPS,
    BoundedAlgorithm,
    IntegerSums,
    cap_weights,
    clip_lengths,
    sum_by_label,
    to_integer_sums,
)

_FLOOR = 2.0  # standard deviations of a weight's noise below which a centre stays


@dataclass(frozen=True, eq=False)
class CubeState(Record):
    """Centres in the cube of the bounds."""

    centers: Annotated[FloatArray, Dims("C", "F")]
    sure: Annotated[FloatArray, Dims("C")]  # 1 where weight stood out of the noise, else 0
    round: int
    shift: float


@dataclass(frozen=True, eq=False)
class CentersAndReach(Record):
    """The centres, and how far from them a row counts as it is."""

    centers: Annotated[FloatArray, Dims("C", "F")]
    reach: float


@dataclass(frozen=True, eq=False)
class BoundedCMeans(BoundedAlgorithm[CubeState, CentersAndReach]):
    """A fixed number of rounds of clipped sums around centres."""

    init: Annotated[FloatArray | None, Role.CLUSTERS] = None  # (C, F)
    fuzzifier: float = 1.0  # 1: k-means
    rounds: Annotated[int, Role.FREE] = 3
    noise: float = 0.0  # standard deviation of what is added, as a multiple of the sensitivity

    key: ClassVar[str] = "bounded-c-means"
    seeding: ClassVar[str | None] = "cells"
    stands_for: ClassVar[tuple[str, ...]] = ("llf-cm", "llf-fcm")

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.integer(self, "n_clusters")
        checks.centers(self)
        checks.number(self, "fuzzifier", 1.0)
        checks.integer(self, "rounds")
        checks.number(self, "noise")

    @property
    def soft(self) -> bool:
        """Whether memberships are assigned."""
        return self.fuzzifier > 1.0

    def start(self, schema: Schema, rng: Rng) -> CubeState:
        if self.init is None:
            centers = rng.uniform(self.low, self.high, (self.n_clusters, len(self.low)))
        else:
            centers = np.clip(self.init, self.low, self.high)
        return CubeState((centers - self.middle) / self.unit, np.zeros(len(centers)), 0, np.inf)

    def broadcast(self, state: CubeState) -> CentersAndReach:
        return CentersAndReach(self.to_data_units(state.centers), self._reach(state.centers))

    def _reach(self, centers: FloatArray) -> float:
        """The usual distance between neighbours; of centres that are public anyway."""
        if len(centers) == 1:
            return self.radius
        apart = sq_distances(centers, centers)
        np.fill_diagonal(apart, np.inf)
        usual = float(np.sqrt(np.median(apart.min(axis=1))))
        return float(np.clip(usual, 0.02 * self.radius, self.radius))

    def client_step(self, down: CentersAndReach, data: Data, rng: Rng) -> IntegerSums:
        # Bounds on a record's influence must hold whatever the server sends.
        if not np.isfinite(down.centers).all() or not 0 < down.reach <= 2 * self.radius:
            raise MessageError(f"{self.key}: centres or a reach that are none from the server")
        rows, weight = self.to_cube(data), cap_weights(data)
        centers = (np.clip(down.centers, self.low, self.high) - self.middle) / self.unit
        if not self.soft:
            label = nearest(rows, centers)[0]
            vectors = self._vectors(rows - centers[label], down.reach) * weight[:, None]
            return to_integer_sums(sum_by_label(label, np.rint(vectors * STEPS), self.n_clusters))
        shares = memberships(rows, centers, self.fuzzifier) ** self.fuzzifier
        sums = [
            np.rint(
                self._vectors(rows - center, down.reach) * (share * weight)[:, None] * STEPS
            ).sum(axis=0)
            for center, share in zip(centers, shares.T, strict=True)
        ]
        return to_integer_sums(np.concatenate(sums))

    def _vectors(self, gaps: FloatArray, reach: float) -> FloatArray:
        """What a record adds at full weight: half the reach for itself, and its clipped gap."""
        return np.hstack([np.full((len(gaps), 1), reach / 2), clip_lengths(gaps, reach)])

    def sensitivity(self, down: CentersAndReach) -> float:
        rounding = np.sqrt(down.centers.size + len(down.centers)) / 2
        return float(np.sqrt(1.25) * down.reach * STEPS + rounding)

    def server_step(self, state: CubeState, merged: IntegerSums, rng: Rng) -> CubeState:
        k, F = state.centers.shape
        if len(merged.values) != k * (F + 1):
            raise MessageError(f"{len(merged.values)} sums came for {k} centres of {F} features")
        reach = self._reach(state.centers)
        sums = merged.values.reshape(k, F + 1) / STEPS
        weight = sums[:, 0] / (reach / 2)
        sure = weight > max(1.0, _FLOOR * self.noise * np.sqrt(1.25) * 2)
        step = clip_lengths(sums[:, 1:] / np.where(sure, weight, 1.0)[:, None], reach)
        moved = np.where(sure[:, None], state.centers + step, state.centers)
        inside = (self.to_data_units(moved) - self.middle) / self.unit
        shift = float(np.linalg.norm(inside - state.centers))
        known = sure.astype(float)
        return replace(state, centers=inside, sure=known, round=state.round + 1, shift=shift)

    def done(self, state: CubeState) -> bool:
        return state.round >= self.rounds

    def model(self, state: CubeState) -> FloatArray:
        return self.to_data_units(state.centers)

    def assign(self, model: FloatArray, data: Data) -> Array:
        if self.soft:
            return memberships(data.X, model, self.fuzzifier)
        return nearest(data.X, model)[0]

    def sizes(self, schema: Schema) -> dict[str, int]:
        return {}
