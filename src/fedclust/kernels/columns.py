"""Steps over split columns, at the clients and at the server, by blocks of records.

The matrices here have a row per record and a column per cluster. `Distances` is a lazy matrix,
computed block by block when read, so that one process never holds a client's full matrix.
"""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

from ..typing import FloatArray, IntArray
from . import _column_plain
from ._plain import DIRECT_FEATURES
from ._plain import sq_distances as product_distances
from .threads import map_blocks

_CHUNK_ELEMENTS = 2**16  # of a matrix chunk: it stays in the cache while the parts are added


@cache
def _loops() -> Any:
    try:
        from . import _column_loops
    except ImportError:
        return _column_plain
    return _column_loops


class Distances:
    """Squared distances (N, C) of rows to centres, computed when they are read."""

    ndim = 2

    def __init__(self, X: FloatArray, centers: FloatArray, dtype: Any = np.float64) -> None:
        self._X, self._centers = X, np.ascontiguousarray(centers, dtype=np.float64)
        self._transposed = np.ascontiguousarray(self._centers.T)
        self.dtype = np.dtype(dtype)
        self.shape: tuple[int, int] = (len(X), len(centers))

    @property
    def nbytes(self) -> int:
        """Bytes of the full matrix, as it would be sent."""
        return self.shape[0] * self.shape[1] * int(self.dtype.itemsize)

    def __len__(self) -> int:
        return self.shape[0]

    def add_to(self, out: FloatArray, rows: slice) -> None:
        """Add the distances of some records to `out`, in the precision in which they are sent."""
        X = self._X[rows]
        if X.shape[1] > DIRECT_FEATURES:
            out += product_distances(X, self._centers).astype(self.dtype, copy=False)
        elif self.dtype == np.float64:
            _loops().add_sq_distances(X, self._transposed, out)
        else:
            distances = np.zeros(out.shape)
            _loops().add_sq_distances(X, self._transposed, distances)
            out += distances.astype(self.dtype)

    def by_column(self) -> Iterator[FloatArray]:
        """Yield one matrix for each column; they add up to this matrix."""
        for f in range(self._X.shape[1]):
            X = np.ascontiguousarray(self._X[:, f : f + 1])
            yield np.asarray(Distances(X, self._centers[:, f : f + 1], self.dtype))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> FloatArray:
        return add_matrices([self], dtype or self.dtype)


def add_matrices(parts: list[Any], dtype: Any = np.float64) -> FloatArray:
    """Sum of matrices, some of which may be lazy `Distances`."""
    total: FloatArray = np.empty(parts[0].shape, dtype)
    size = max(1, _CHUNK_ELEMENTS // total.shape[1])

    def add(block: slice) -> None:
        for start in range(block.start, block.stop, size):
            rows = slice(start, min(block.stop, start + size))
            chunk = total[rows]
            chunk[:] = 0.0
            for part in parts:
                if isinstance(part, Distances):
                    part.add_to(chunk, rows)
                else:
                    chunk += part[rows]

    map_blocks(add, *total.shape)
    return total


def labelled_means(X: FloatArray, labels: IntArray, k: int) -> FloatArray:
    """Mean of the rows of each label (k, F); zeros for a label without rows."""
    return _means(X, labels, k, _loops().labelled_sums)


def weighted_means(X: FloatArray, weights: FloatArray) -> FloatArray:
    """Mean of all rows, weighted by each column of weights (k, F); zeros if the weights are."""
    product = X.shape[1] > DIRECT_FEATURES
    sums = _column_plain.weighted_sums if product else _loops().weighted_sums
    return _means(X, weights, weights.shape[1], sums)


def _means(X: FloatArray, by: Any, k: int, sums: Callable[..., None]) -> FloatArray:
    def step(block: slice) -> tuple[FloatArray, FloatArray]:
        mass, total = np.zeros(k), np.zeros((k, X.shape[1]))
        sums(X[block], by[block], mass, total)
        return mass, total

    parts = map_blocks(step, *X.shape)
    mass, total = (np.sum(part, axis=0) for part in zip(*parts, strict=True))
    means: FloatArray = total / np.where(mass > 0, mass, 1.0)[:, None]
    return means


def nearest_of(D: FloatArray) -> IntArray:
    """Column of the smallest distance of each record; ties go to the lowest index."""
    labels = np.empty(len(D), np.int32)

    def step(block: slice) -> None:
        _loops().nearest_of(D[block], labels[block])

    map_blocks(step, *D.shape, products=False)
    return labels


def powered_memberships(D: FloatArray, fuzzifier: float, power: float, dtype: Any) -> FloatArray:
    """Memberships (N, C) from squared distances, raised to `power`."""
    U: FloatArray = np.empty(D.shape, dtype)

    def step(block: slice) -> None:
        _loops().powered_memberships(D[block], fuzzifier, power, U[block])

    map_blocks(step, *D.shape, products=False)
    return U


def distance_change(D: FloatArray, P: FloatArray) -> tuple[float, float]:
    """Frobenius norms of the change in distances from P to D, and of the distances in D."""
    parts = map_blocks(lambda b: _loops().distance_change(D[b], P[b]), *D.shape, products=False)
    moved, size = np.sum(parts, axis=0)
    return float(np.sqrt(moved)), float(np.sqrt(size))


def closest_call(D: FloatArray, c: int) -> float:
    """Largest ratio, over records, of the nearest centre's squared distance to that of centre c."""
    low, own = D.min(axis=1), D[:, c]
    return float(np.divide(low, own, out=np.ones(len(D)), where=own != low).max(initial=0.0))
