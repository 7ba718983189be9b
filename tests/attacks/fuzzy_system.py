"""Fuzzy sums as equations: several rounds determine the records of a small client."""

from collections.abc import Sequence

import numpy as np
from scipy.optimize import least_squares

from fedclust.typing import FloatArray

from .server import Look


def recovered(
    looks: Sequence[Look], n: int, *, fuzzifier: float = 2.0, starts: int = 6, seed: int = 0
) -> FloatArray:
    """n records whose sums are those of all rounds, as far as a stock solver finds any."""
    F, rng = looks[0].total.shape[1], np.random.default_rng(seed)
    wanted = np.concatenate([np.append(look.count, look.total) for look in looks])

    def misfit(x: FloatArray) -> FloatArray:
        rows = x.reshape(n, F)
        weights = (_weights(rows, look.centers, fuzzifier)[0] for look in looks)
        sums = [np.append(weight.sum(axis=0), weight.T @ rows) for weight in weights]
        return np.asarray(np.concatenate(sums) - wanted)

    def slopes(x: FloatArray) -> FloatArray:
        return np.vstack([_slopes(x.reshape(n, F), look.centers, fuzzifier) for look in looks])

    best: FloatArray = np.empty((0, F))
    cost = np.inf
    for _ in range(starts):
        start = rng.random(n * F)
        try:
            fit = least_squares(misfit, start, slopes, (-0.1, 1.1), max_nfev=150, xtol=1e-14)
        except ValueError:  # answers that are no numbers
            break
        if fit.cost < cost:
            best, cost = fit.x.reshape(n, F), float(fit.cost)
        if cost < 1e-16:
            break
    return best


def _weights(rows: FloatArray, centers: FloatArray, m: float) -> tuple[FloatArray, FloatArray]:
    """Memberships to the power m (n, C), and their derivatives by the cells (n, C, F)."""
    apart = rows[:, None] - centers
    d2 = (apart**2).sum(axis=2) + 1e-12
    ratio = d2 ** (-1.0 / (m - 1.0))
    share = ratio / ratio.sum(axis=1, keepdims=True)
    log_slope = (-2.0 / (m - 1.0) / d2)[:, :, None] * apart  # of the ratio
    log_slope = log_slope - (share[:, :, None] * log_slope).sum(axis=1, keepdims=True)
    weight = share**m
    return weight, m * weight[:, :, None] * log_slope


def _slopes(rows: FloatArray, centers: FloatArray, m: float) -> FloatArray:
    """Derivatives of the sums of one round (C + C F) by all cells (n F)."""
    weight, slope = _weights(rows, centers, m)
    n, C, F = slope.shape
    of_totals = np.einsum("pcf,pg->cgpf", slope, rows)
    of_totals[:, range(F), :, range(F)] += weight.T
    of_counts = slope.transpose(1, 0, 2).reshape(C, n * F)
    return np.vstack([of_counts, of_totals.reshape(C * F, n * F)])
