"""Local steps over the observed cells of rows: missing cells are NaN, and add nothing.

The distance of a row to a centre is taken over its observed cells and multiplied by F / observed.
Blocks without a missing cell pass through the plain step, so a complete table gives its sums bit
for bit. A row without any value is in no sum.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ..typing import Array, FloatArray
from . import _cells_plain, steps
from .grid import Grid
from .steps import _UNIT, FuzzySums, HardSums, _add_parts, _as_double
from .threads import map_blocks


@cache
def _backend() -> Any:
    """The module with the loops over observed cells that goes with `steps.backend`."""
    try:
        from . import _cells_compiled
    except ImportError:
        return _cells_plain
    return _cells_compiled


def hard_cell_sums(
    X: FloatArray, centers: FloatArray, weight: FloatArray = _UNIT, grid: Grid | None = None
) -> HardSums:
    """Counts, weights and sums (C, F) of the observed cells of the rows nearest to each centre.

    On a grid the sums are integers, the same for any split and order of the rows.
    """
    X, dtype = np.ascontiguousarray(X), X.dtype if grid is None else np.dtype(np.float64)
    ready = steps.backend().prepare(centers, dtype)

    def step(code: Any, rows: FloatArray, w: FloatArray) -> tuple[Any, ...]:
        if grid is None:
            return tuple(code.hard_block(rows, w, ready))
        return tuple(code.exact_hard_block(_as_double(rows), w, ready, grid))

    return HardSums(*_add_over_blocks(step, X, centers, weight))


def fuzzy_cell_sums(
    X: FloatArray,
    centers: FloatArray,
    fuzzifier: float,
    weight: FloatArray = _UNIT,
    grid: Grid | None = None,
) -> FuzzySums:
    """Sums (C, F) of u^m and of u^m x over the observed cells of all rows.

    On a grid the sums are integers, each record's contribution rounded once.
    """
    X = np.ascontiguousarray(X)
    ready = steps.backend().prepare(centers, np.float64)

    def step(code: Any, rows: FloatArray, w: FloatArray) -> tuple[Any, ...]:
        rows = _as_double(rows)
        if grid is None:
            return tuple(code.fuzzy_block(rows, w, ready, fuzzifier))
        return tuple(code.exact_fuzzy_block(rows, w, ready, fuzzifier, grid))

    # Both steps find the same labels, but memberships with other last bits.
    return FuzzySums(*_add_over_blocks(step, X, centers, weight, split=grid is not None))


def _add_over_blocks(
    step: Callable[[Any, FloatArray, FloatArray], tuple[Any, ...]],
    X: FloatArray,
    centers: FloatArray,
    weight: FloatArray,
    *,
    split: bool = False,
) -> list[Any]:
    """Add the sums of all blocks, by the plain step where no cell is missing.

    With `split` a complete row passes the plain step whatever the other rows of its block are.
    """
    plain, cells = steps.backend(), _backend()

    def add(block: slice) -> tuple[Any, ...]:
        rows, w = X[block], weight[block] if len(weight) else weight
        if rows.size == 0 or not np.isnan(rows.min()):
            return _spread(step(plain, rows, w), centers.shape)
        if not split:
            return step(cells, rows, w)
        complete = cells.is_complete(rows)
        parts = [
            step(cells, rows[~complete], w[~complete] if len(w) else w),
            _spread(step(plain, rows[complete], w[complete] if len(w) else w), centers.shape),
        ]
        return tuple(_add_parts(parts))

    return _add_parts(map_blocks(add, *X.shape))


def _spread(sums: tuple[Array, ...], shape: tuple[int, ...]) -> tuple[Array, ...]:
    """Sums of complete rows by cell: a cluster has the same weight in every column."""
    *weights, total = sums
    return *(np.repeat(w[:, None], shape[1], axis=1) for w in weights), total
