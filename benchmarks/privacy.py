"""Cost of protection: integer sums compared with float sums, and masks."""

import time
from functools import partial
from typing import Any

import numpy as np

from fedclust.algorithms import make
from fedclust.channels import LocalChannel
from fedclust.core import Channel, Data, Plan, Schema, rounds
from fedclust.kernels import fuzzy_sums, hard_sums
from fedclust.kernels.grid import make_grid
from fedclust.privacy import FixedPoint, SecureChannel

from .local_step import SHAPES, problem
from .timing import best_of, row, verdict

_NO_WEIGHTS = np.empty(0)


def exact() -> list[str]:
    """Compare one step on a grid with the same step in floats."""
    lines = [
        row("rows x features, clusters", "step", "float", "exact", "ratio", "target"),
        row(*["---"] * 6),
    ]
    for n, F, k in SHAPES:
        X, C = problem(n, F, k, np.float64)
        grid = make_grid(np.full(F, -8.0), np.full(F, 8.0), n)
        steps: dict[str, tuple[partial[Any], float]] = {
            "hard": (partial(hard_sums, X, C, _NO_WEIGHTS), 2.0),
            "fuzzy": (partial(fuzzy_sums, X, C, 2.0, _NO_WEIGHTS), 4.0),
        }
        for name, (step, limit) in steps.items():
            best = best_of({"float": step, "exact": partial(step, grid)}, repeats=8)
            ratio = best["exact"] / best["float"]
            ms = (f"{1e3 * best[way]:.1f} ms" for way in ("float", "exact"))
            cells = (f"{n:,} x {F}, {k}", name, *ms, f"{ratio:.2f}", verdict(ratio, limit))
            lines.append(row(*cells))
    return lines


def masks() -> list[str]:
    """Rounds of 20 clients and 1,020 values each, with and without masks."""
    lines = [row("what", "measured", "target"), row("---", "---", "---")]
    X = np.random.default_rng(0).normal(size=(2000, 50))
    data = {f"c{i:02d}": Data.of(X[i::20]) for i in range(20)}
    schema = Schema(50, low=np.full(50, -9.0), high=np.full(50, 9.0))
    start = time.perf_counter()
    secure = SecureChannel(LocalChannel(data))
    keys = 1e3 * (time.perf_counter() - start)
    plain, masked = (_ms_per_round(c, X, schema) for c in (LocalChannel(data), secure))
    what = "masks of 20 clients x 1,020 values, all clients together, per round"
    lines.append(row(what, f"{masked - plain:.1f} ms", verdict(masked - plain, 50)))
    lines.append(row("keys of 20 clients, once per run", f"{keys:.1f} ms", ""))
    return lines


def _ms_per_round(channel: Channel, X: np.ndarray, schema: Schema) -> float:
    algorithm = make("llf-cm", 20, init=X[:20] + 0.01, tol=0.0, max_rounds=15)
    running = rounds(Plan(algorithm, (FixedPoint.over(schema),)), channel, schema)
    best = float("inf")
    while True:
        start = time.perf_counter()
        if next(running, None) is None:
            return best
        best = min(best, 1e3 * (time.perf_counter() - start))
