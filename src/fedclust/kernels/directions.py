"""Main directions of a symmetric matrix, the same on every processor up to rounding.

LAPACK chooses freely among the eigenvectors of equal eigenvalues, and by the last bits among those
of nearly equal ones. Equal columns, and categories of equal shares, have such matrices.
"""

from typing import NamedTuple

import numpy as np

from ..typing import BoolArray, FloatArray

_APART = 2.0**-16  # of the largest eigenvalue: a gap that leaves ten digits of an eigenvector
_TILT = 2.0**-7  # of the largest sum of a row: what separates equal eigenvalues
_ALIKE = 1.0 - 2.0**-20  # of the largest entry of a vector: others count as large as it


class Directions(NamedTuple):
    """Variances in descending order, and a column for each direction."""

    variances: FloatArray  # (n,)
    vectors: FloatArray  # (F, n)


def main_directions(matrix: FloatArray, n: int, floor: float | None = None) -> Directions:
    """The first eigenvectors; where rounding would choose them, others that are nearly as good.

    With `floor` a vector is used at the length of the root of its variance, of at least the floor,
    so that a short one needs fewer digits.
    """
    for tilt in (0.0, _TILT):
        values, vectors = np.linalg.eigh(_tilted(matrix, tilt) if tilt else matrix)
        values, vectors = values[::-1], vectors[:, ::-1][:, :n]
        if _are_apart(values, n, floor):
            variances = values[:n] if not tilt else _along(matrix, vectors)
            return Directions(variances, vectors)
    order = np.argsort(-np.diag(matrix), kind="stable")[:n]  # columns in the place of directions
    return Directions(np.diag(matrix)[order], np.eye(len(matrix))[:, order])


def point_forward(vectors: FloatArray) -> FloatArray:
    """The columns with signs by which the first of their largest entries is positive."""
    size = np.abs(vectors)
    large: BoolArray = size >= _ALIKE * size.max(axis=0)
    first = vectors[large.argmax(axis=0), np.arange(vectors.shape[1])]
    forward: FloatArray = vectors * np.where(first < 0, -1.0, 1.0)
    return forward


def _are_apart(values: FloatArray, n: int, floor: float | None) -> bool:
    """Whether the gaps below the first of these descending eigenvalues are wide enough."""
    gaps = -np.diff(values)[:n]
    length = np.ones(len(gaps))
    if floor is not None:
        variances = np.maximum(values[: len(gaps)], floor)
        length = np.sqrt(variances / variances.max(initial=floor))
    return bool((gaps > _APART * max(float(values[0]), 0.0) * length).all())


def _tilted(matrix: FloatArray, tilt: float) -> FloatArray:
    """The matrix with a little more weight on later columns."""
    F, largest = len(matrix), float(np.abs(matrix).sum(axis=1).max(initial=0.0))
    tilted: FloatArray = matrix + np.diag(tilt * largest * np.arange(F) / F)
    return tilted


def _along(matrix: FloatArray, vectors: FloatArray) -> FloatArray:
    """The variances along these directions."""
    along: FloatArray = ((matrix @ vectors) * vectors).sum(axis=0)
    return along
