"""Local steps of a mixture of Gaussian and categorical columns: a missing cell is NaN.

The deviance of a row in a cluster is minus two times the logarithm of the cluster's share times its
density. Over the observed cells o it is a sum of squares with a weight for every cell:

    D_nc = base_c + sum_f o_nf (weight_cf (x_nf - middle_cf)^2 + cost_cf)

A Gaussian column has the weight 1 / variance, around the mean, and the cost log(2 pi variance). A
cell of a category, which is 0 or 1, has the weight -2 log(share), around 0, and no cost.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, Self

import numpy as np

from ..typing import FloatArray, IntArray
from . import _mixture_plain
from ._mixture_plain import LOG_STEPS
from ._plain import chunks
from .grid import Grid
from .steps import _UNIT, _add_parts, _as_double
from .threads import map_blocks

_LEAST_SHARE = 1e-12  # of a category in a cluster: no row is impossible


class Density(NamedTuple):
    """The density of every cluster, times its share, as a weighted sum of squares."""

    base: FloatArray  # (C,)
    middle: FloatArray  # (C, F)
    weight: FloatArray  # (C, F)
    cost: FloatArray  # (C, F)

    @classmethod
    def of(
        cls, share: FloatArray, mean: FloatArray, variance: FloatArray, numbers: IntArray
    ) -> Self:
        """The density for shares (C,), and for means and variances of columns (C, F).

        `numbers` are the places of the Gaussian columns. The mean of other columns is the share of
        their category. Shares are above zero.
        """
        logs = -2.0 * np.log(np.clip(mean, _LEAST_SHARE, 1.0))
        middle, weight, cost = np.zeros_like(mean), logs, np.zeros_like(mean)
        middle[:, numbers] = mean[:, numbers]
        weight[:, numbers] = 1.0 / variance[:, numbers]
        cost[:, numbers] = np.log(2.0 * np.pi * variance[:, numbers])
        return cls(-2.0 * np.log(share), middle, weight, cost)

    @classmethod
    def around(cls, centers: FloatArray, numbers: IntArray) -> Self:
        """Squared distances to centres, over observed cells.

        For a cell x of 0 or 1, (x - c)^2 = (1 - 2 c) x^2 + c^2.
        """
        middle, weight, cost = np.zeros_like(centers), 1.0 - 2.0 * centers, centers**2
        middle[:, numbers], weight[:, numbers], cost[:, numbers] = centers[:, numbers], 1.0, 0.0
        return cls(np.zeros(len(centers)), middle, weight, cost)

    def pack(self) -> FloatArray:
        """One array (C, 1 + 3F), for a message."""
        return np.hstack([self.base[:, None], self.middle, self.weight, self.cost])

    @classmethod
    def unpack(cls, packed: FloatArray) -> Self:
        """Inverse of `pack`."""
        return cls(packed[:, 0], *np.split(packed[:, 1:], 3, axis=1))


class MixtureSums(NamedTuple):
    """Sums over all rows, weighted by their posteriors, around the middles of the density."""

    mass: FloatArray  # (C,)    sum of r
    cells: FloatArray  # (C, F)  sum of r o
    moved: FloatArray  # (C, F)  sum of r o (x - middle)
    square: FloatArray  # (C, F)  sum of r o (x - middle)^2
    loglik: FloatArray  # (1,)    log-likelihood


@cache
def _backend() -> Any:
    try:
        from . import _mixture_compiled
    except ImportError:
        return _mixture_plain
    return _mixture_compiled


def mixture_sums(
    X: FloatArray,
    density: Density,
    weight: FloatArray = _UNIT,
    grid: Grid | None = None,
    *,
    unit: FloatArray = _UNIT,
    hard: bool = False,
) -> MixtureSums:
    """The sums of an EM step; with `hard` each row belongs to its nearest cluster alone.

    `unit` (F,) is that of differences, 1 by default. On a grid the sums are integers, each record's
    contribution rounded once.
    """
    X, code = np.ascontiguousarray(X), _backend()
    ready = Density(*map(np.ascontiguousarray, density))
    to_one = 1.0 / unit if len(unit) else np.ones(X.shape[1])

    def step(block: slice) -> tuple[Any, ...]:
        rows, w = _as_double(X[block]), weight[block] if len(weight) else weight
        return tuple(code.mixture_block(rows, w, ready, to_one, grid, hard))

    return MixtureSums(*_add_parts(map_blocks(step, *X.shape, products=False)))


def unit_of(grid: Grid) -> FloatArray:
    """The least unit of differences within the bounds of a grid: no difference exceeds it."""
    unit: FloatArray = 2.0 * grid.mass / grid.unit
    return unit


def to_steps(logs: FloatArray) -> IntArray:
    """Log-likelihoods on a grid: integers."""
    steps: IntArray = np.rint(logs * LOG_STEPS).astype(np.int64)
    return steps


def from_steps(logs: FloatArray) -> FloatArray:
    """Log-likelihoods on a grid as numbers again."""
    return logs / LOG_STEPS


def deviances(X: FloatArray, density: Density) -> FloatArray:
    """Minus two times the log of share and density (n, C)."""
    D = np.empty((len(X), len(density.base)))
    _by_chunk(X, density, lambda at, part: D.__setitem__(at, part))
    return D


def posteriors(X: FloatArray, density: Density) -> FloatArray:
    """The probability of each cluster for each row (n, C); rows add up to one."""
    R = np.empty((len(X), len(density.base)))
    _by_chunk(X, density, lambda at, D: R.__setitem__(at, _mixture_plain.posteriors_of(D)[0]))
    return R


def most_probable(X: FloatArray, density: Density) -> IntArray:
    """The most probable cluster of each row; ties to the lowest index."""
    labels = np.empty(len(X), np.int32)
    _by_chunk(X, density, lambda at, D: labels.__setitem__(at, D.argmin(axis=1)))
    return labels


def _by_chunk(X: FloatArray, density: Density, use: Callable[[slice, FloatArray], object]) -> None:
    """Pass the deviances of every few rows on, without holding those of all rows."""

    def step(block: slice) -> None:
        for part in chunks(block.stop - block.start, len(density.base)):
            at = slice(block.start + part.start, block.start + part.stop)
            use(at, _mixture_plain.deviances(_as_double(X[at]), density))

    map_blocks(step, len(X), X.shape[1] + len(density.base), products=False)


def score_mixture(X: FloatArray, density: Density) -> tuple[FloatArray, FloatArray]:
    """Log-likelihood of each row, and the entropy of its posteriors."""
    logs, entropy = np.empty(len(X)), np.empty(len(X))

    def score(at: slice, D: FloatArray) -> None:
        R, logs[at] = _mixture_plain.posteriors_of(D)
        entropy[at] = (R * (0.5 * D)).sum(axis=1) + logs[at]

    _by_chunk(X, density, score)
    return logs, np.maximum(entropy, 0.0)
