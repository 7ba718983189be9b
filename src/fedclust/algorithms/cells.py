"""Parts of the cell seeding: moments, main directions, and the cells of points."""

from dataclasses import dataclass
from typing import Annotated, NamedTuple, cast

import numpy as np

from ..core import Dims, MessageError, Record
from ..kernels.directions import main_directions
from ..typing import FloatArray, IntArray
from .bounded import FLOAT_STEPS, LEAST_REACH, IntegerSums, sum_steps

DIRECTIONS = 3
CELLS = {1: 128, 2: 24, 3: 10}  # per direction, by the number of directions
MOMENTS, COUNTS, LIFT, OVER = range(4)
_STEPS = 2.0**15  # products of two such numbers are exact in sums of 2^22 rows
_FAR = 1e6  # from the middle of a cube of length two
_LEAST_VARIANCE = 1e-6  # along a direction
SHORTEST = 1e-6  # length of a direction
_REACH = 2.5  # standard deviations that the cells span


@dataclass(frozen=True, eq=False)
class CellState(Record):
    """The stage of the seeding, and its results so far."""

    stage: int
    center: Annotated[FloatArray, Dims("F")]  # in the cube: the mean of the rows, once known
    basis: Annotated[
        FloatArray, Dims("P", "F")
    ]  # directions; their lengths are the range of the cells
    seeds: Annotated[FloatArray, Dims("C", "P")]  # in the space of the cells
    spread: float  # length of the rows around their mean
    centers: Annotated[FloatArray, Dims("C", "F")]


@dataclass(frozen=True, eq=False)
class CellBroadcast(Record):
    """The part of the state that clients need."""

    stage: int
    center: Annotated[FloatArray, Dims("F")]
    basis: Annotated[FloatArray, Dims("P", "F")]
    seeds: Annotated[FloatArray, Dims("C", "P")]
    spread: float


def check_stage(down: CellBroadcast, stages: tuple[int, ...]) -> None:
    """Client: refuse stages that this seeding does not have, and directions that span nothing."""
    if down.stage not in stages:
        raise MessageError(f"cells: invalid broadcast: there is no stage {down.stage} here")
    given = (down.basis, down.center, down.seeds)
    if not all(np.isfinite(a).all() and np.abs(a).max(initial=0.0) <= _FAR for a in given):
        raise MessageError("cells: invalid broadcast: values not finite or out of range")
    if (np.linalg.norm(down.basis, axis=1) < SHORTEST).any():
        raise MessageError("cells: invalid broadcast: a direction of length zero")


class Directions(NamedTuple):
    """The mean of the rows, and the directions in which they vary most."""

    mean: FloatArray  # (F,)
    basis: FloatArray  # (P, F)
    spread: float


def sum_moments(rows: FloatArray, weight: FloatArray, radius: float) -> IntegerSums:
    """Sum weights, rows and their products; the lengths of the parts are in a fixed proportion."""
    F = rows.shape[1]
    steps = np.rint(rows * np.sqrt(weight)[:, None] * _STEPS)
    products = np.zeros((F, F), np.int64)
    for part in np.array_split(steps, 1 + len(rows) // 2**22):
        products += (part.T @ part).astype(np.int64)
    first = np.hstack([np.full((len(rows), 1), radius), rows]) * weight[:, None]
    sums = sum_steps(np.rint(first * _first_unit(radius)))
    return IntegerSums(np.concatenate([sums, products[np.triu_indices(F)]]))


def moments_sensitivity(F: int, radius: float) -> float:
    """R^2 for the products, R^2 / 2 each for weight and sum; rounding adds half a step."""
    rounding = np.sqrt(F) * radius * _STEPS + F / 4 + np.sqrt(F + 1) / 2 + FLOAT_STEPS
    return float(np.sqrt(1.5) * radius**2 * _STEPS**2 + rounding)


def find_directions(values: FloatArray, F: int, radius: float) -> Directions:
    """Find mean, main directions and spread from the moments of all clients."""
    if len(values) != 1 + F + F * (F + 1) // 2:
        raise MessageError(
            f"cells: expected {1 + F + F * (F + 1) // 2} moments for {F} columns, got {len(values)}"
        )
    unit = _first_unit(radius)
    n = max(1.0, values[0] / (unit * radius))
    mean = np.clip(values[1 : F + 1] / unit / n, -1.0, 1.0)
    second = np.zeros((F, F))
    second[np.triu_indices(F)] = values[F + 1 :] / _STEPS**2 / n
    second = second + np.triu(second, 1).T - np.outer(mean, mean)
    variances, vectors = main_directions(second, DIRECTIONS, _LEAST_VARIANCE)
    top = np.maximum(variances, _LEAST_VARIANCE)
    basis = vectors.T * (_REACH * np.sqrt(top))[:, None]
    twice = 2.0 * np.sqrt(max(np.trace(second), 1e-6))
    spread = float(np.clip(twice, LEAST_REACH * radius, 2 * radius))
    return Directions(mean, basis, spread)


def _first_unit(radius: float) -> float:
    return _STEPS**2 * radius / 2


def project(rows: FloatArray, down: CellBroadcast) -> FloatArray:
    """Project rows to the space of the cells; most of them fall within [-1, 1]."""
    # No matrix product: its last bit depends on the position of a row in the table.
    points = np.zeros((len(rows), len(down.basis)))
    along = down.basis / np.einsum("pf,pf->p", down.basis, down.basis)[:, None]
    for f in range(rows.shape[1]):
        points += (rows[:, f] - down.center[f])[:, None] * along[:, f]
    return points


def locate_cells(points: FloatArray, per_direction: int) -> IntArray:
    """Find the cell of each point; the outermost cells extend to infinity."""
    inside = np.clip(np.floor((points + 1.0) / 2.0 * per_direction), 0, per_direction - 1)
    at = tuple(inside.astype(np.int64).T)
    return cast(IntArray, np.ravel_multi_index(at, (per_direction,) * points.shape[1]))


def cell_middles(cells: IntArray, per_direction: int, n_directions: int) -> FloatArray:
    """The middle of each cell."""
    at = np.stack(np.unravel_index(cells, (per_direction,) * n_directions), axis=1)
    return np.asarray((at + 0.5) / per_direction * 2.0 - 1.0)
