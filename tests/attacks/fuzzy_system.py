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
        sums = []
        for look in looks:
            d2 = ((rows[:, None] - look.centers) ** 2).sum(axis=2) + 1e-12
            ratio = d2 ** (-1.0 / (fuzzifier - 1.0))
            weight = (ratio / ratio.sum(axis=1, keepdims=True)) ** fuzzifier
            sums += [weight.sum(axis=0), (weight.T @ rows).ravel()]
        return np.asarray(np.concatenate(sums) - wanted)

    best: FloatArray = np.empty((0, F))
    cost = np.inf
    for _ in range(starts):
        start = rng.random(n * F)
        try:
            fit = least_squares(misfit, start, bounds=(-0.1, 1.1), max_nfev=150, xtol=1e-14)
        except ValueError:  # answers that are no numbers
            break
        if fit.cost < cost:
            best, cost = fit.x.reshape(n, F), float(fit.cost)
        if cost < 1e-16:
            break
    return best
