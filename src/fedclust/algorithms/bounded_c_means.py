"""k-means and fuzzy c-means with bounded influence of each record, made for added noise.

After D. Su et al. (2016), differentially private k-means, with sums around the current centres:
a client sends, for each centre v, the weights w and the sum of w (x - v), in which no x - v is
longer than the median distance between neighbouring centres. For hard and fuzzy weights alike
the w of a record sum to at most one, so one record adds a vector of length sqrt(a^2 + r^2): a for
the weights, r for the clipped rows.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from ..core import Data, Dims, MessageError, Record, Role, Schema, checks
from ..kernels import memberships, nearest, sq_distances, steady_memberships, steady_nearest
from ..typing import Array, FloatArray, Rng
from .bounded import (
    FLOAT_STEPS,
    LEAST_REACH,
    STEPS,
    BoundedAlgorithm,
    IntegerSums,
    cap_weights,
    clip_lengths,
    sum_by_label,
    sum_steps,
)

_FLOOR = (
    2.0  # a centre stays if its weight is below this number of standard deviations of the noise
)


@dataclass(frozen=True, eq=False)
class CubeState(Record):
    """Centres in the cube of the bounds."""

    centers: Annotated[FloatArray, Dims("C", "F")]
    sure: Annotated[FloatArray, Dims("C")]  # 1 where the weight exceeds the noise, else 0
    weight: Annotated[FloatArray, Dims("C")]  # of the rows behind each, with the noise
    round: int
    shift: float


@dataclass(frozen=True, eq=False)
class CentersAndReach(Record):
    """The centres, and the distance beyond which rows are clipped."""

    centers: Annotated[FloatArray, Dims("C", "F")]
    reach: float


@dataclass(frozen=True, eq=False)
class BoundedCMeans(BoundedAlgorithm[CubeState, CentersAndReach]):
    """A fixed number of rounds of clipped sums around centres."""

    init: Annotated[FloatArray | None, Role.CLUSTERS] = None  # (C, F)
    fuzzifier: float = 1.0  # 1: k-means
    rounds: Annotated[int, Role.FREE] = 3
    noise: float = 0.0  # standard deviation of the noise, as a multiple of the sensitivity

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
        centers = self.init
        if centers is None:
            centers = rng.uniform(self.low, self.high, (self.n_clusters, len(self.low)))
        nothing = np.zeros(len(centers))
        return CubeState(self.in_cube(centers), nothing, nothing, 0, np.inf)

    def broadcast(self, state: CubeState) -> CentersAndReach:
        return CentersAndReach(self.to_data_units(state.centers), self._reach(state.centers))

    def _reach(self, centers: FloatArray) -> float:
        """The median distance between neighbouring centres, which are public."""
        if len(centers) == 1:
            return self.radius
        apart = sq_distances(centers, centers)
        np.fill_diagonal(apart, np.inf)
        median = float(np.sqrt(np.median(apart.min(axis=1))))
        return float(np.clip(median, LEAST_REACH * self.radius, self.radius))

    def client_step(self, down: CentersAndReach, data: Data, rng: Rng) -> IntegerSums:
        self._check_broadcast(down)
        rows, weight, centers = self.to_cube(data), cap_weights(data), self.in_cube(down.centers)
        if not self.soft:
            label = steady_nearest(rows, centers)
            vectors = self._vectors(rows - centers[label], down.reach) * weight[:, None]
            return sum_by_label(label, np.rint(vectors * STEPS), self.n_clusters)
        shares = steady_memberships(rows, centers, self.fuzzifier) ** self.fuzzifier
        sums = [
            sum_steps(
                np.rint(
                    self._vectors(rows - center, down.reach) * (share * weight)[:, None] * STEPS
                )
            )
            for center, share in zip(centers, shares.T, strict=True)
        ]
        return IntegerSums(np.concatenate(sums))

    def _check_broadcast(self, down: CentersAndReach) -> None:
        """Client: bounds on a record's influence must hold whatever the server sends."""
        down.check(self.shape)
        if not np.isfinite(down.centers).all():
            raise MessageError(f"{self.key}: invalid broadcast: centres that are not finite")
        self.check_reach(down.reach)

    def _vectors(self, differences: FloatArray, reach: float) -> FloatArray:
        """What a record of weight one adds: half the reach, and its clipped difference."""
        return np.hstack(
            [np.full((len(differences), 1), reach / 2), clip_lengths(differences, reach)]
        )

    def sensitivity(self, down: CentersAndReach) -> float:
        rounding = np.sqrt(self.n_clusters * (len(self.low) + 1)) / 2 + FLOAT_STEPS
        return float(np.sqrt(1.25) * down.reach * STEPS + rounding)

    def server_step(self, state: CubeState, merged: IntegerSums, rng: Rng) -> CubeState:
        k, F = state.centers.shape
        if len(merged.values) != k * (F + 1):
            raise MessageError(
                f"{self.key}: expected {k * (F + 1)} sums for {k} centres of {F} features, "
                f"got {len(merged.values)}"
            )
        reach = self._reach(state.centers)
        sums = merged.values.reshape(k, F + 1) / STEPS
        weight = sums[:, 0] / (reach / 2)
        sure = weight > max(1.0, _FLOOR * self.noise * np.sqrt(1.25) * 2)
        step = clip_lengths(sums[:, 1:] / np.where(sure, weight, 1.0)[:, None], reach)
        moved = np.where(sure[:, None], state.centers + step, state.centers)
        inside = self.in_cube(self.to_data_units(moved))
        shift = float(np.linalg.norm(inside - state.centers))
        known = sure.astype(float)
        return CubeState(inside, known, weight, state.round + 1, shift)

    def done(self, state: CubeState) -> bool:
        return state.round >= self.rounds

    def model(self, state: CubeState) -> FloatArray:
        return self.to_data_units(state.centers)

    def assign(self, state: CubeState, data: Data) -> Array:
        model = self.model(state)
        if self.soft:
            return memberships(data.X, model, self.fuzzifier)
        return nearest(data.X, model)[0]

    def sizes(self, schema: Schema) -> dict[str, int]:
        return {**self.shape, "T": self.n_clusters * (len(self.low) + 1)}
