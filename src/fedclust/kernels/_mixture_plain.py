"""The steps of a mixture in NumPy; `_mixture_compiled.py` exists only for speed."""

from typing import Any

import numpy as np

from ..typing import Array, FloatArray
from ._plain import chunks
from .grid import Grid

LOG_STEPS = 2.0**20  # of a log-likelihood, per unit: a record's is rounded to these on a grid


def deviances(X: FloatArray, density: Any) -> FloatArray:
    """Minus two times the log of share and density (n, C), column by column.

    Each row's has the same bits wherever the row is in its block.
    """
    D = np.repeat(density.base[None], len(X), axis=0)
    for f in range(X.shape[1]):
        seen = ~np.isnan(X[:, f])
        apart = X[:, f, None] - density.middle[:, f]
        part = apart * apart * density.weight[:, f] + density.cost[:, f]
        D += part if seen.all() else np.where(seen[:, None], part, 0.0)
    return D


def posteriors_of(D: FloatArray, *, hard: bool = False) -> tuple[FloatArray, FloatArray]:
    """Posteriors from deviances, and the log-likelihood of each row; with `hard` it is zero."""
    low = D.min(axis=1, keepdims=True)
    if hard:
        R = np.zeros_like(D)
        R[np.arange(len(D)), D.argmin(axis=1)] = 1.0
        return R, np.zeros(len(D))
    R = np.exp(0.5 * (low - D))
    total = R.sum(axis=1, keepdims=True)
    R /= total
    loglik: FloatArray = (np.log(total) - 0.5 * low)[:, 0]
    return R, loglik


def mixture_block(
    X: FloatArray, w: FloatArray, density: Any, to_one: FloatArray, grid: Grid | None, hard: bool
) -> tuple[Any, ...]:
    """Add up mass, cells, first and second moments, and log-likelihood of a block."""
    C, F = density.middle.shape
    kind = np.float64 if grid is None else np.int64
    sums = [np.zeros(shape, kind) for shape in ((C,), (C, F), (C, F), (C, F), (1,))]
    for chunk in chunks(len(X), C):
        rows, v = X[chunk], w[chunk] if len(w) else np.ones(len(X[chunk]))
        D = deviances(rows, density)
        R, loglik = posteriors_of(D, hard=hard)
        R *= v[:, None]
        seen = ~np.isnan(rows)
        for c in range(C):
            apart = np.where(seen, (rows - density.middle[c]) * to_one, 0.0)
            r = R[:, c, None]
            parts = (r[:, 0], r * seen, r * apart, r * (apart * apart))
            for total, part in zip(sums, parts, strict=False):
                total[c] += _add(part, None if grid is None else grid.mass)
        sums[4] += _add(v * loglik, None if grid is None else LOG_STEPS)
    return tuple(sums)


def _add(parts: FloatArray, steps: float | None) -> Array:
    """Sum over rows; with `steps` each row's part is rounded to these, and sums are integers."""
    if steps is None:
        return np.asarray(parts.sum(axis=0))
    return np.asarray(np.rint(parts * steps).astype(np.int64).sum(axis=0))
