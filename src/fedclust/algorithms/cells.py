"""What seeds from cells are made of: moments, main directions, and places in cells."""

from dataclasses import dataclass
from typing import Annotated, NamedTuple, cast

import numpy as np

from ..core import Dims, MessageError, Record
from ..typing import FloatArray, IntArray
from .bounded import IntegerSums, to_integer_sums

DIRECTIONS = 3
CELLS = {1: 128, 2: 24, 3: 10}  # per direction, by the number of directions
MOMENTS, COUNTS, LIFT, OVER = range(4)
_STEPS = 2.0**15  # products of two such numbers are exact in sums of 2^22 rows
_FAR = 1e6  # from the middle of a cube of length two
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
class CellBroadcast(Record):
    """What clients need to know of it."""

    stage: int
    center: Annotated[FloatArray, Dims("F")]
    basis: Annotated[FloatArray, Dims("P", "F")]
    seeds: Annotated[FloatArray, Dims("C", "P")]
    spread: float


def check_stage(down: CellBroadcast, F: int, radius: float) -> None:
    """Client: bounds on a record's influence must hold whatever the server sends."""
    given = (down.basis, down.center, down.seeds)
    finite = all(np.isfinite(a).all() and np.abs(a).max(initial=0.0) <= _FAR for a in given)
    if not finite or not 0 < down.spread <= 2 * radius:
        raise MessageError("cells: directions or a spread that are none from the server")
    lengths = np.linalg.norm(down.basis, axis=1)
    fits = down.basis.shape[1] == len(down.center) == F and len(lengths) <= DIRECTIONS
    if not fits or down.seeds.shape[1] != len(lengths) or (lengths < 1 / _FAR).any():
        raise MessageError("cells: directions of another size, or of no length")


class Directions(NamedTuple):
    """Where rows lie, and along which directions they differ most."""

    mean: FloatArray  # (F,)
    basis: FloatArray  # (P, F)
    spread: float


def sum_moments(rows: FloatArray, weight: FloatArray, radius: float) -> IntegerSums:
    """Weight, sum and products of rows; the lengths of the parts are in fixed proportion."""
    F = rows.shape[1]
    steps = np.rint(rows * np.sqrt(weight)[:, None] * _STEPS)
    products = np.zeros((F, F))
    for part in np.array_split(steps, 1 + len(rows) // 2**22):
        products += part.T @ part
    first = np.hstack([np.full((len(rows), 1), radius), rows]) * weight[:, None]
    sums = np.rint(first * _first_unit(radius)).sum(axis=0)
    return to_integer_sums(np.concatenate([sums, products[np.triu_indices(F)]]))


def moments_sensitivity(F: int, radius: float) -> float:
    """R^2 for the products, R^2 / 2 each for weight and sum; rounding adds half a step."""
    rounding = np.sqrt(F) * radius * _STEPS + F / 4 + np.sqrt(F + 1) / 2
    return float(np.sqrt(1.5) * radius**2 * _STEPS**2 + rounding)


def find_directions(values: FloatArray, F: int, radius: float) -> Directions:
    """Mean, main directions and spread, from the moments of all clients."""
    if len(values) != 1 + F + F * (F + 1) // 2:
        raise MessageError("the moments have another size than their columns make")
    unit = _first_unit(radius)
    n = max(1.0, values[0] / (unit * radius))
    mean = np.clip(values[1 : F + 1] / unit / n, -1.0, 1.0)
    second = np.zeros((F, F))
    second[np.triu_indices(F)] = values[F + 1 :] / _STEPS**2 / n
    second = second + np.triu(second, 1).T - np.outer(mean, mean)
    variances, vectors = np.linalg.eigh(second)
    top = np.maximum(variances[::-1][:DIRECTIONS], 1e-6)
    basis = vectors[:, ::-1][:, :DIRECTIONS].T * (_REACH * np.sqrt(top))[:, None]
    spread = float(np.clip(2.0 * np.sqrt(max(np.trace(second), 1e-6)), 0.0, 2 * radius))
    return Directions(mean, basis, spread)


def _first_unit(radius: float) -> float:
    return _STEPS**2 * radius / 2


def project(rows: FloatArray, down: CellBroadcast) -> FloatArray:
    """Rows in the space of the cells, most of them within [-1, 1]."""
    # Not by a matrix product: its last bit depends on where in the table a row stands.
    places = np.zeros((len(rows), len(down.basis)))
    along = down.basis / np.einsum("pf,pf->p", down.basis, down.basis)[:, None]
    for f in range(rows.shape[1]):
        places += (rows[:, f] - down.center[f])[:, None] * along[:, f]
    return places


def locate_cells(places: FloatArray, per_direction: int) -> IntArray:
    """The cell of each place; the outermost cells reach to infinity."""
    inside = np.clip(np.floor((places + 1.0) / 2.0 * per_direction), 0, per_direction - 1)
    at = tuple(inside.astype(np.int64).T)
    return cast(IntArray, np.ravel_multi_index(at, (per_direction,) * places.shape[1]))


def cell_middles(cells: IntArray, per_direction: int, n_directions: int) -> FloatArray:
    """The middle of each cell."""
    at = np.stack(np.unravel_index(cells, (per_direction,) * n_directions), axis=1)
    return np.asarray((at + 0.5) / per_direction * 2.0 - 1.0)
