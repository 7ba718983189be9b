"""A search for the record that changes a message most, and the arithmetic that trusts its server.

Noise hides one record if no record changes a message by more than the sensitivity. `worst_ratio`
looks for one that does, over records inside and outside the bounds, among other records that lie
on ties. `TrustingCMeans` and `TrustingCells` are the client steps without their checks, as they
were when a server could break the bound. The search must find that.
"""

import math
from typing import Any

import numpy as np

from fedclust.algorithms.bounded import (
    STEPS,
    BoundedAlgorithm,
    IntegerSums,
    cap_weights,
    clip_lengths,
)
from fedclust.algorithms.bounded_c_means import BoundedCMeans, CentersAndReach
from fedclust.algorithms.cell_seeding import CellSeeding
from fedclust.algorithms.cells import COUNTS, MOMENTS, CellBroadcast, locate_cells, project
from fedclust.core import Data, Record
from fedclust.kernels import _plain
from fedclust.typing import FloatArray, IntArray, Rng

NO_WEIGHTS = np.empty(0)


def message(algorithm: Any, down: Record, rows: FloatArray) -> FloatArray:
    """What a client with these rows sends, before any noise."""
    with np.errstate(all="ignore"):
        data = Data(np.ascontiguousarray(rows, np.float64), NO_WEIGHTS)
        sent: IntegerSums = algorithm.client_step(down, data, None)
    return sent.values.astype(np.float64)


def change(algorithm: Any, down: Record, rows: FloatArray, more: FloatArray) -> float:
    """Length of the difference of two messages; infinite if the number of numbers differs."""
    one, other = message(algorithm, down, rows), message(algorithm, down, more)
    return float(np.linalg.norm(one - other)) if one.shape == other.shape else math.inf


def worst_ratio(algorithm: Any, down: Record, rng: Rng, F: int, steps: int = 60) -> float:
    """The largest change by a record that was found, in units of the claimed sensitivity.

    A record is added or removed. A record that is replaced by another counts as two changes.
    """
    claimed = float(algorithm.sensitivity(down))
    values = _tempting_values(algorithm, down, F)
    others = _on_ties(algorithm, down, rng, F)

    def ratio(record: FloatArray) -> float:
        alone = change(algorithm, down, others[:1], np.vstack([others[:1], record]))
        return alone / claimed

    best = max(values, key=ratio)
    worst = ratio(best)
    for _ in range(steps):
        tried = _moved(best, values, rng)
        if (found := ratio(tried)) > worst:
            best, worst = tried, found
    for at in (0, len(others) // 2, len(others)):
        among = np.insert(others, at, best, axis=0)
        worst = max(worst, change(algorithm, down, others, among) / claimed)
        swapped = np.array(among)
        swapped[at] = values[int(rng.integers(len(values)))]
        worst = max(worst, change(algorithm, down, swapped, among) / claimed / 2)
    return worst


def _tempting_values(algorithm: Any, down: Record, F: int) -> list[FloatArray]:
    """Records that a proof may have forgotten: on corners and centres, just outside, far away."""
    low, high = (np.broadcast_to(a, F).astype(float) for a in (algorithm.low, algorithm.high))
    with np.errstate(all="ignore"):
        middle = low / 2 + high / 2
        points = [low, high, middle, np.nextafter(low, -np.inf), np.nextafter(high, np.inf)]
        points += [low - (high - low), high + (high - low), np.full(F, 1e308), np.full(F, -1e308)]
        points += [np.where(np.arange(F) % 2, low, high), np.zeros(F), np.full(F, np.inf)]
        centers = getattr(down, "centers", None)
        if centers is not None:
            places = [np.resize(center, F) for center in np.atleast_2d(centers)[:4]]
            half_step = 0.51 / STEPS * np.max(high - low) / 2  # rounds to one step in every column
            points += [*places, *(place + half_step for place in places)]
    return [np.asarray(point, float) for point in points]


def _moved(record: FloatArray, values: list[FloatArray], rng: Rng) -> FloatArray:
    """A step of the search: some coordinates of another record, a blend, or a small shift."""
    other, some = values[int(rng.integers(len(values)))], rng.random(len(record)) < rng.random()
    with np.errstate(all="ignore"):
        kind = int(rng.integers(3))
        if kind == 0:
            return np.where(some, other, record)
        if kind == 1:
            blend = np.where(some, record + rng.random() * (other - record), record)
            return np.where(np.isnan(blend), record, blend)
        spread = np.abs(values[1] - values[0]) * 10.0 ** -rng.integers(0, 8)
        shifted = record + np.where(some, rng.normal(size=len(record)) * spread, 0.0)
        return np.where(np.isnan(shifted), record, shifted)


def _on_ties(algorithm: Any, down: Record, rng: Rng, F: int) -> FloatArray:
    """Other records: equal coordinates are ties between centres with exchanged coordinates."""
    n = int(rng.integers(5, 60))
    with np.errstate(all="ignore"):
        place = rng.random((n, 1)) if rng.random() < 0.7 else rng.random((n, F))
        low, high = np.broadcast_to(algorithm.low, F), np.broadcast_to(algorithm.high, F)
        rows = low + place * (high - low)
    return np.where(np.isfinite(rows), rows, 0.0)


class Trusting(BoundedAlgorithm[Any, Any]):
    """What both of them believe of their bounds."""

    def __post_init__(self) -> None:
        pass

    @property
    def radius(self) -> float:
        return float(np.linalg.norm((self.high - self.low) / 2)) / self.unit

    def to_cube(self, data: Data) -> FloatArray:
        cube: FloatArray = (np.clip(data.X, self.low, self.high) - self.middle) / self.unit
        return cube


class TrustingCMeans(Trusting, BoundedCMeans):
    """Bounded c-means that believes its plan and its broadcast."""

    def client_step(self, down: CentersAndReach, data: Data, rng: Rng) -> IntegerSums:
        rows, centers = self.to_cube(data), self.in_cube(down.centers)
        label = _plain.nearest_block(rows, np.broadcast_to(centers, (len(centers), rows.shape[1])))
        gaps = rows - centers[label[0]]
        halves = np.full((len(rows), 1), down.reach / 2)
        vectors = np.hstack([halves, clip_lengths(gaps, down.reach)])
        return _sum(label[0], np.rint(vectors * STEPS), self.n_clusters)

    def sensitivity(self, down: CentersAndReach) -> float:
        rounding = np.sqrt(down.centers.size + len(down.centers)) / 2
        return float(np.sqrt(1.25) * down.reach * STEPS + rounding)


class TrustingCells(Trusting, CellSeeding):
    """Cell seeding that believes its plan and its broadcast."""

    def client_step(self, down: CellBroadcast, data: Data, rng: Rng) -> IntegerSums:
        rows, weight = self.to_cube(data), cap_weights(data)
        if down.stage == MOMENTS:
            return _sum_moments(rows, self.radius)
        if down.stage == COUNTS:
            cells = locate_cells(project(rows, down), self.per_direction)
            n_cells = self.per_direction ** len(down.basis)
            return _sum(cells, np.rint(weight * STEPS)[:, None], n_cells)
        lengths = np.linalg.norm(down.basis, axis=1)
        label = _plain.nearest_block(project(rows, down) * lengths, down.seeds * lengths)[0]
        around = clip_lengths(rows - down.center, down.spread)
        vectors = np.hstack([np.full((len(rows), 1), down.spread), around])
        return _sum(label, np.rint(vectors * STEPS), self.n_clusters)


def _sum(label: IntArray, steps: FloatArray, k: int) -> IntegerSums:
    sums = np.stack([np.bincount(label, column, k) for column in steps.T], axis=1)
    return IntegerSums(sums.ravel().astype(np.int64))


def _sum_moments(rows: FloatArray, radius: float) -> IntegerSums:
    steps, F = np.rint(rows * 2.0**15), rows.shape[1]
    first = np.hstack([np.full((len(rows), 1), radius), rows]) * 2.0**30 * radius / 2
    products = (steps.T @ steps)[np.triu_indices(F)]
    return IntegerSums(np.concatenate([np.rint(first).sum(axis=0), products]).astype(np.int64))
