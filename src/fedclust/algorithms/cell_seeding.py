"""Seeds from counts per cell. The messages are summed, so masks and noise can protect them.

With up to three features there is one round: clients count rows per cell of a grid over the public
bounds, and the server clusters the cells. With more features, a first round collects second
moments, whose main directions span the cells, and a last round maps the seeds back to all features.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np

from ..core import ConfigError, Data, MessageError, Role, Schema, Traits, checks
from ..kernels import divide_or_keep, k_means, steady_nearest
from ..typing import FloatArray, Rng
from .bounded import (
    FLOAT_STEPS,
    STEPS,
    BoundedAlgorithm,
    IntegerSums,
    cap_weights,
    clip_lengths,
    sum_by_label,
)
from .cells import (
    CELLS,
    COUNTS,
    DIRECTIONS,
    LIFT,
    MOMENTS,
    OVER,
    SHORTEST,
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

_MAX_CELLS = 2**20
_MAX_COLUMNS = 2_000  # their products are two million numbers


@dataclass(frozen=True, eq=False)
class CellSeeding(BoundedAlgorithm[CellState, CellBroadcast]):
    """Counts in cells at the clients, k-means over the cells at the server."""

    # Per direction; None: 128, 24 or 10 in one, two or three directions.
    cells: Annotated[int | None, Role.BINS] = None
    noise: float = 0.0  # standard deviation of the noise of a count; cells below it count as empty
    restarts: Annotated[int, Role.FREE] = 10  # of the server's k-means

    key: ClassVar[str] = "cells"
    # A missing cell stands in the middle of its bounds, so a record changes no more than others.
    traits: ClassVar[Traits] = replace(BoundedAlgorithm.traits, missing=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.integer(self, "n_clusters")
        if len(self.low) > _MAX_COLUMNS:
            raise ConfigError(
                f"{self.key}: {len(self.low)} columns, but at most {_MAX_COLUMNS:,} can be seeded "
                "by cells; give initial centres"
            )
        if self.cells is not None:
            checks.integer(self, "cells", 2)
            if self.cells ** min(len(self.low), DIRECTIONS) > _MAX_CELLS:
                raise ConfigError(
                    f"{self.key}: cells={self.cells} per direction make more than {_MAX_CELLS} "
                    "cells; choose fewer"
                )
        checks.number(self, "noise")
        checks.integer(self, "restarts")

    @property
    def stages(self) -> tuple[int, ...]:
        """The stages, with one round each."""
        return (COUNTS,) if len(self.low) <= DIRECTIONS else (MOMENTS, COUNTS, LIFT)

    @property
    def shape(self) -> dict[str, int]:
        return {**super().shape, "P": min(len(self.low), DIRECTIONS)}

    def parameter(self, name: str, default: Any = None) -> Any:
        return self.per_direction if name == "cells" else super().parameter(name, default)

    @property
    def per_direction(self) -> int:
        """Cells along each direction."""
        return self.cells or CELLS[min(len(self.low), DIRECTIONS)]

    def start(self, schema: Schema, rng: Rng) -> CellState:
        F, k = len(self.low), self.n_clusters
        P = self.shape["P"]
        # A column that is narrow beside the widest is narrower than the cells in it.
        basis = np.eye(F)[:P] * np.maximum(self.half, SHORTEST)
        seeds, centers = np.zeros((k, P)), np.zeros((k, F))  # not known yet
        return CellState(self.stages[0], np.zeros(F), basis, seeds, self.radius, centers)

    def broadcast(self, state: CellState) -> CellBroadcast:
        return CellBroadcast(state.stage, state.center, state.basis, state.seeds, state.spread)

    def client_step(self, down: CellBroadcast, data: Data, rng: Rng) -> IntegerSums:
        down.check(self.shape)
        check_stage(down, self.stages)
        self.check_reach(down.spread)
        rows, weight = self.to_cube(data), cap_weights(data)
        if down.stage == MOMENTS:
            return sum_moments(rows, weight, self.radius)
        if down.stage == COUNTS:
            cells = locate_cells(project(rows, down), self.per_direction)
            n_cells = self.per_direction ** len(down.basis)
            return sum_by_label(cells, np.rint(weight * STEPS)[:, None], n_cells)
        return self._lift(rows, weight, down)

    def _lift(self, rows: FloatArray, weight: FloatArray, down: CellBroadcast) -> IntegerSums:
        """Weight and sum of the rows nearest to each seed, relative to the mean of all rows."""
        lengths = np.linalg.norm(down.basis, axis=1)
        label = steady_nearest(project(rows, down) * lengths, down.seeds * lengths)
        around = clip_lengths(rows - down.center, down.spread)
        vectors = np.hstack([np.full((len(rows), 1), down.spread), around])
        return sum_by_label(label, np.rint(vectors * weight[:, None] * STEPS), self.n_clusters)

    def sensitivity(self, down: CellBroadcast) -> float:
        F = len(self.low)
        if down.stage == MOMENTS:
            return moments_sensitivity(F, self.radius)
        if down.stage == COUNTS:
            return STEPS
        return float(np.sqrt(2) * down.spread * STEPS + np.sqrt(F + 1) / 2 + FLOAT_STEPS)

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
            raise MessageError(f"{self.key}: expected counts of {per**P} cells, got {len(counts)}")
        held = np.flatnonzero(counts > 2.0 * self.noise)
        if len(held) == 0:
            held = np.array([np.argmax(counts)])
        # Multiplying by the lengths of the directions gives distances as in the data.
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
