"""Seeds from counts in cells: messages sum, so masks and noise can protect them.

Up to three features: one round, counts per cell of a grid over the public bounds; the server
clusters the cells. More features: a first round for the second moments, whose main directions span
the space of the cells, and a last one that carries the seeds back to all features.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np

from ..core import ConfigError, Data, MessageError, Role, Schema, checks
from ..kernels import divide_or_keep, k_means, nearest
from ..typing import FloatArray, Rng
from .bounded import (
    STEPS,
    BoundedAlgorithm,
    IntegerSums,
    cap_weights,
    clip_lengths,
    sum_by_label,
    to_integer_sums,
)
from .cells import (
    CELLS,
    COUNTS,
    DIRECTIONS,
    LIFT,
    MOMENTS,
    OVER,
    CellBroadcast,
    CellState,
    cell_middles,
    check_stage,
    find_directions,
    locate_cells,
    moments_sensitivity,
    project,
    sum_moments,
)

_MOST_CELLS = 2**20


@dataclass(frozen=True, eq=False)
class CellSeeding(BoundedAlgorithm[CellState, CellBroadcast]):
    """Counts in cells at the clients, k-means over the cells at the server."""

    # Per direction; None: 128, 24 or 10 in one, two or three directions.
    cells: Annotated[int | None, Role.BINS] = None
    noise: float = 0.0  # standard deviation of what is added to a count: cells below are empty
    restarts: Annotated[int, Role.FREE] = 10  # of the server's k-means

    key: ClassVar[str] = "cells"

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.integer(self, "n_clusters")
        if self.cells is not None:
            checks.integer(self, "cells", 2)
            if self.cells ** min(len(self.low), DIRECTIONS) > _MOST_CELLS:
                raise ConfigError(f"{self.key}: cells={self.cells} per direction are too many")
        checks.number(self, "noise")
        checks.integer(self, "restarts")

    @property
    def stages(self) -> tuple[int, ...]:
        """The rounds it takes: one for each."""
        return (COUNTS,) if len(self.low) <= DIRECTIONS else (MOMENTS, COUNTS, LIFT)

    def parameter(self, name: str, default: Any = None) -> Any:
        return self.per_direction if name == "cells" else super().parameter(name, default)

    @property
    def per_direction(self) -> int:
        """Cells along each direction."""
        return self.cells or CELLS[min(len(self.low), DIRECTIONS)]

    def start(self, schema: Schema, rng: Rng) -> CellState:
        F, k = len(self.low), self.n_clusters
        P = min(F, DIRECTIONS)
        basis = np.eye(F)[:P] * (self.high - self.low) / 2 / self.unit
        nowhere, anywhere = np.zeros((k, P)), np.zeros((k, F))
        return CellState(self.stages[0], np.zeros(F), basis, nowhere, self.radius, anywhere)

    def broadcast(self, state: CellState) -> CellBroadcast:
        return CellBroadcast(state.stage, state.center, state.basis, state.seeds, state.spread)

    def client_step(self, down: CellBroadcast, data: Data, rng: Rng) -> IntegerSums:
        check_stage(down, len(self.low), self.radius)
        rows, weight = self.to_cube(data), cap_weights(data)
        if down.stage == MOMENTS:
            return sum_moments(rows, weight, self.radius)
        if down.stage == COUNTS:
            cells = locate_cells(project(rows, down), self.per_direction)
            n_cells = self.per_direction ** len(down.basis)
            return to_integer_sums(sum_by_label(cells, np.rint(weight * STEPS)[:, None], n_cells))
        return self._lift(rows, weight, down)

    def _lift(self, rows: FloatArray, weight: FloatArray, down: CellBroadcast) -> IntegerSums:
        """Weight and sum of the rows nearest to each seed, around the mean of all."""
        lengths = np.linalg.norm(down.basis, axis=1)
        label = nearest(project(rows, down) * lengths, down.seeds * lengths)[0]
        around = clip_lengths(rows - down.center, down.spread)
        vectors = np.hstack([np.full((len(rows), 1), down.spread), around])
        return to_integer_sums(
            sum_by_label(label, np.rint(vectors * weight[:, None] * STEPS), self.n_clusters)
        )

    def sensitivity(self, down: CellBroadcast) -> float:
        F = len(self.low)
        if down.stage == MOMENTS:
            return moments_sensitivity(F, self.radius)
        if down.stage == COUNTS:
            return STEPS
        return float(np.sqrt(2) * down.spread * STEPS + np.sqrt(F + 1) / 2)

    def server_step(self, state: CellState, merged: IntegerSums, rng: Rng) -> CellState:
        values = merged.values.astype(np.float64)
        if state.stage == MOMENTS:
            mean, basis, spread = find_directions(values, len(self.low), self.radius)
            return replace(state, stage=COUNTS, center=mean, basis=basis, spread=spread)
        if state.stage == COUNTS:
            return self._place_seeds(state, values / STEPS, rng)
        sums = values.reshape(self.n_clusters, -1) / STEPS
        held = np.maximum(sums[:, 0] / state.spread, 0.0)
        lifted = state.center + divide_or_keep(sums[:, 1:], held, np.zeros_like(sums[:, 1:]))
        return replace(state, stage=OVER, centers=self.to_data_units(lifted))

    def _place_seeds(self, state: CellState, counts: FloatArray, rng: Rng) -> CellState:
        per, P = self.per_direction, len(state.basis)
        if len(counts) != per**P:
            raise MessageError(f"{len(counts)} counts came for {per**P} cells")
        held = np.flatnonzero(counts > 2.0 * self.noise)
        if len(held) == 0:
            held = np.array([np.argmax(counts)])
        # Distances between cells are those of the data: directions have lengths.
        lengths = np.linalg.norm(state.basis, axis=1)
        places, mass = cell_middles(held, per, P) * lengths, np.maximum(counts[held], 1e-9)
        seeds = k_means(places, self.n_clusters, rng, mass, restarts=self.restarts) / lengths
        centers = self.to_data_units(state.center + seeds @ state.basis)
        after = LIFT if LIFT in self.stages else OVER
        return replace(state, stage=after, seeds=seeds, centers=centers)

    def done(self, state: CellState) -> bool:
        return state.stage == OVER

    def model(self, state: CellState) -> FloatArray:
        return state.centers

    def sizes(self, schema: Schema) -> dict[str, int]:
        return {}
