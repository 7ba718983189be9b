"""Rows that hostile clients invent. They then follow the protocol, so no message is a lie."""

from collections.abc import Callable, Mapping

import numpy as np

from fedclust.kernels import sq_distances
from fedclust.typing import FloatArray, Rng

Invent = Callable[[FloatArray, FloatArray, Rng], FloatArray]  # own rows, all rows


def _columns_permuted(own: FloatArray, rows: FloatArray, rng: Rng) -> FloatArray:
    return own[:, np.random.default_rng(3).permutation(own.shape[1])]


def _uniform(own: FloatArray, rows: FloatArray, rng: Rng) -> FloatArray:
    return rng.uniform(0, 1, own.shape)


def _two_clusters(own: FloatArray, rows: FloatArray, rng: Rng) -> FloatArray:
    """Two tight clusters that nobody has, the same at all liars."""
    places = np.random.default_rng(7).uniform(0, 1, (2, own.shape[1]))
    return np.clip(places[np.arange(len(own)) % 2] + rng.normal(0, 0.02, own.shape), 0, 1)


def _many_rows(own: FloatArray, rows: FloatArray, rng: Rng) -> FloatArray:
    return np.repeat(_two_clusters(own, rows, rng), 20, axis=0)


def _between(own: FloatArray, rows: FloatArray, rng: Rng) -> FloatArray:
    """Halfway between two rows."""
    means: FloatArray = rows[rng.integers(len(rows), size=(2, len(own)))].mean(axis=0)
    return means


def _one_place(own: FloatArray, rows: FloatArray, rng: Rng) -> FloatArray:
    """The rows around one row, ten times each."""
    around = rows[np.random.default_rng(5).integers(len(rows))]
    order = np.argsort(sq_distances(rows, around[None])[:, 0])
    many: FloatArray = np.repeat(rows[order[: max(3, len(rows) // 30)]], 10, axis=0)
    return many


def _moved(own: FloatArray, rows: FloatArray, rng: Rng) -> FloatArray:
    """Own rows, moved by one vector that is as large as the clusters."""
    by = np.random.default_rng(2).normal(0, 0.3, own.shape[1:])
    moved: FloatArray = np.clip(own + by, 0, 1)
    return moved


def _extremes(own: FloatArray, rows: FloatArray, rng: Rng) -> FloatArray:
    return np.where(own > np.median(rows, axis=0), 1.0, 0.0)


FALSE_ROWS: Mapping[str, Invent] = {
    "columns permuted": _columns_permuted,
    "uniform noise": _uniform,
    "two new clusters": _two_clusters,
    "two new clusters, twenty times the rows": _many_rows,
    "halfway between two rows": _between,
    "around one row, many times": _one_place,
    "all moved by one vector": _moved,
    "every value zero or one": _extremes,
}
