"""Seeds from counts in cells: messages sum, so masks and noise can protect them.

Up to three features: one round, counts per cell of a grid over the public bounds; the server
clusters the cells. More features: a first round for the second moments, whose main directions span
the space of the cells, and a last one that carries the seeds back to all features.
"""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, cast

import numpy as np

from ..core import Data, Dims, Message, MessageError, Record, Schema, checks
from ..kernels import divide_or_keep, k_means, nearest
from ..typing import FloatArray, IntArray, Rng
from ._whole import STEPS, BoundedAlgorithm, WholeSums, clipped, summed_by, weights_of, whole

DIRECTIONS = 3
CELLS = {1: 128, 2: 24, 3: 10}  # per direction, by the number of directions
MOMENTS, COUNTS, LIFT, OVER = range(4)
_STEPS_OF_ROWS = 2.0**15  # products of two such numbers are exact in sums of 2^23 rows
_REACH = 2.5  # standard deviations that the cells span


@dataclass(frozen=True, eq=False)
class CellState(Record):
    """How far the seeding is, and what it knows."""

    stage: int
    center: Annotated[FloatArray, Dims("F")]  # in the cube: the rows' mean, once it is known
    basis: Annotated[FloatArray, Dims("P", "F")]  # directions, as long as the cells reach
    seeds: Annotated[FloatArray, Dims("C", "P")]  # in the space of the cells
    spread: float  # length of the rows around their mean
    centers: Annotated[FloatArray, Dims("C", "F")]


@dataclass(frozen=True, eq=False)
class Stage(Record):
    """What clients need to know of it."""

    stage: int
    center: Annotated[FloatArray, Dims("F")]
    basis: Annotated[FloatArray, Dims("P", "F")]
    seeds: Annotated[FloatArray, Dims("C", "P")]
    spread: float


@dataclass(frozen=True, eq=False)
class CellSeeding(BoundedAlgorithm[CellState, Stage]):
    """Counts in cells at the clients, k-means over the cells at the server."""

    cells: int | None = None  # per direction; None: 128, 24 or 10 in one, two or three directions
    noise: float = 0.0  # standard deviation of what is added to a count: cells below are empty
    restarts: int = 10  # of the server's k-means

    key: ClassVar[str] = "cells"
    state: ClassVar[type[Record]] = CellState
    down: ClassVar[type[Record]] = Stage
    up: ClassVar[type[Message]] = WholeSums

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.whole(self, "n_clusters")
        if self.cells is not None:
            checks.whole(self, "cells", 2)
        checks.number(self, "noise")
        checks.whole(self, "restarts")

    @property
    def stages(self) -> tuple[int, ...]:
        """The rounds it takes: one for each."""
        return (COUNTS,) if len(self.low) <= DIRECTIONS else (MOMENTS, COUNTS, LIFT)

    @property
    def _per_direction(self) -> int:
        return self.cells or CELLS[min(len(self.low), DIRECTIONS)]

    def start(self, schema: Schema, rng: Rng) -> CellState:
        F, k = len(self.low), self.n_clusters
        P = min(F, DIRECTIONS)
        reach = (self.high - self.low) / 2 / self.unit
        nowhere, anywhere = np.zeros((k, P)), np.zeros((k, F))
        basis = np.eye(F)[:P] * reach
        return CellState(self.stages[0], np.zeros(F), basis, nowhere, self.radius, anywhere)

    def broadcast(self, state: CellState) -> Stage:
        return Stage(state.stage, state.center, state.basis, state.seeds, state.spread)

    def client_step(self, down: Stage, data: Data, rng: Rng) -> WholeSums:
        # Bounds on a record's influence must hold whatever the server sends.
        if not (np.isfinite(down.basis).all() and 0 < down.spread <= 2 * self.radius):
            raise MessageError(f"{self.key}: directions or a spread that are none from the server")
        rows, weight = self.in_cube(data), weights_of(data)
        if down.stage == MOMENTS:
            return self._moments(rows, weight)
        if down.stage == COUNTS:
            places = _cells(_projected(rows, down), self._per_direction)
            n_cells = self._per_direction ** len(down.basis)
            return whole(summed_by(places, np.rint(weight * STEPS)[:, None], n_cells))
        return self._lifted(rows, weight, down)

    def _moments(self, rows: FloatArray, weight: FloatArray) -> WholeSums:
        """Weight, sum and products of rows; the lengths of the parts are in fixed proportion."""
        F = len(self.low)
        steps, products = (
            np.rint(rows * np.sqrt(weight)[:, None] * _STEPS_OF_ROWS),
            np.zeros((F, F)),
        )
        for part in np.array_split(steps, 1 + len(rows) // 2**22):
            products += part.T @ part
        first = np.hstack([np.full((len(rows), 1), self.radius), rows])
        first = np.rint(first * weight[:, None] * self._first_unit)
        return whole(np.concatenate([first.sum(axis=0), products[np.triu_indices(F)]]))

    @property
    def _first_unit(self) -> float:
        return _STEPS_OF_ROWS**2 * self.radius / 2

    def _lifted(self, rows: FloatArray, weight: FloatArray, down: Stage) -> WholeSums:
        """Weight and sum of the rows nearest to each seed, around the mean of all."""
        k = self.n_clusters
        lengths = np.linalg.norm(down.basis, axis=1)
        label = nearest(_projected(rows, down) * lengths, down.seeds * lengths)[0]
        around = clipped(rows - down.center, down.spread)
        vectors = np.hstack([np.full((len(rows), 1), down.spread), around])
        return whole(summed_by(label, np.rint(vectors * weight[:, None] * STEPS), k))

    def sensitivity(self, down: Stage) -> float:
        F, R = len(self.low), self.radius
        if down.stage == MOMENTS:
            # R^2 for the products, R^2 / 2 each for weight and sum; rounding adds half a step.
            rounding = np.sqrt(F) * R * _STEPS_OF_ROWS + F / 4 + np.sqrt(F + 1) / 2
            return float(np.sqrt(1.5) * R**2 * _STEPS_OF_ROWS**2 + rounding)
        if down.stage == COUNTS:
            return STEPS
        return float(np.sqrt(2) * down.spread * STEPS + np.sqrt(F + 1) / 2)

    def server_step(self, state: CellState, merged: WholeSums, rng: Rng) -> CellState:
        values = merged.values.astype(np.float64)
        if state.stage == MOMENTS:
            return self._with_directions(state, values)
        if state.stage == COUNTS:
            return self._with_seeds(state, values / STEPS, rng)
        sums = values.reshape(self.n_clusters, -1) / STEPS
        held = np.where(sums[:, 0] > 0, sums[:, 0] / state.spread, 0.0)
        lifted = state.center + divide_or_keep(sums[:, 1:], held, np.zeros_like(sums[:, 1:]))
        return replace(state, stage=OVER, centers=self.in_data(lifted))

    def _with_directions(self, state: CellState, values: FloatArray) -> CellState:
        F = len(self.low)
        if len(values) != 1 + F + F * (F + 1) // 2:
            raise MessageError("the moments have another size than their columns make")
        unit = self._first_unit
        n = max(1.0, values[0] / (unit * self.radius))
        mean = np.clip(values[1 : F + 1] / unit / n, -1.0, 1.0)
        second = np.zeros((F, F))
        second[np.triu_indices(F)] = values[F + 1 :] / _STEPS_OF_ROWS**2 / n
        second = second + np.triu(second, 1).T - np.outer(mean, mean)
        variances, vectors = np.linalg.eigh(second)
        top = np.maximum(variances[::-1][:DIRECTIONS], 1e-6)
        basis = vectors[:, ::-1][:, :DIRECTIONS].T * (_REACH * np.sqrt(top))[:, None]
        spread = float(np.clip(2.0 * np.sqrt(max(np.trace(second), 1e-6)), 0.0, 2 * self.radius))
        return replace(state, stage=COUNTS, center=mean, basis=basis, spread=spread)

    def _with_seeds(self, state: CellState, counts: FloatArray, rng: Rng) -> CellState:
        per, P = self._per_direction, len(state.basis)
        if len(counts) != per**P:
            raise MessageError(f"{len(counts)} counts came for {per**P} cells")
        held = np.flatnonzero(counts > max(2.0 * self.noise, 0.0))
        if len(held) == 0:
            held = np.array([np.argmax(counts)])
        at = np.stack(np.unravel_index(held, (per,) * P), axis=1)
        places = (at + 0.5) / per * 2.0 - 1.0
        # Distances between cells are those of the data: directions have lengths.
        lengths = np.linalg.norm(state.basis, axis=1)
        mass = np.maximum(counts[held], 1e-9)
        found = k_means(places * lengths, self.n_clusters, rng, mass, restarts=self.restarts)
        seeds = found / lengths
        centers = self.in_data(state.center + seeds @ state.basis)
        over = LIFT if LIFT in self.stages else OVER
        return replace(state, stage=over, seeds=seeds, centers=centers)

    def done(self, state: CellState) -> bool:
        return state.stage == OVER

    def model(self, state: CellState) -> FloatArray:
        return state.centers

    def sizes(self, schema: Schema) -> dict[str, int]:
        return {}


def _projected(rows: FloatArray, down: Stage) -> FloatArray:
    """Rows in the space of the cells, most of them within [-1, 1]."""
    # Not by a matrix product: its last bit depends on where in the table a row stands.
    places = np.zeros((len(rows), len(down.basis)))
    along = down.basis / np.einsum("pf,pf->p", down.basis, down.basis)[:, None]
    for f in range(rows.shape[1]):
        places += (rows[:, f] - down.center[f])[:, None] * along[:, f]
    return places


def _cells(places: FloatArray, per_direction: int) -> IntArray:
    inside = np.clip(np.floor((places + 1.0) / 2.0 * per_direction), 0, per_direction - 1)
    found = np.ravel_multi_index(
        tuple(inside.astype(np.int64).T), (per_direction,) * places.shape[1]
    )
    return cast(IntArray, found)
