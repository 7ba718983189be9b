"""The functions of `_mixture_plain.py` over loops that numba compiles."""

from typing import Any

import numpy as np

from ..typing import FloatArray
from . import _mixture_loops
from ._mixture_plain import LOG_STEPS
from .grid import Grid


def mixture_block(
    X: FloatArray, w: FloatArray, density: Any, to_one: FloatArray, grid: Grid | None, hard: bool
) -> tuple[Any, ...]:
    """Add up mass, cells, first and second moments, and log-likelihood of a block."""
    C, F = density.middle.shape
    kind = np.float64 if grid is None else np.int64
    shapes = ((C,), (C, F), (C, F), (C, F), (1,))
    sums = tuple(np.zeros(shape, kind) for shape in shapes)
    if grid is None:
        base = density.base + density.cost.sum(axis=1)  # where no cell is missing
        _mixture_loops.add_rows(X, w, *density, base, hard, *sums)
        mass, cells, moved, square, loglik = sums
        return mass, cells, moved * to_one, square * to_one**2, loglik
    _mixture_loops.add_rounded_rows(X, w, *density, hard, grid.mass, to_one, LOG_STEPS, *sums)
    return sums
