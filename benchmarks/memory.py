"""Extra memory of one local step, measured in a separate process (Linux)."""

import subprocess
import sys

from .timing import row, verdict

CODE = """
import sys
import numpy as np
from fedclust.kernels import Density, fuzzy_cell_sums, fuzzy_sums, hard_cell_sums, hard_sums
from fedclust.kernels import sq_distances
from fedclust.kernels.mixture import mixture_sums
from fedclust.kernels.threads import blocks
kind, n, F, k = sys.argv[1], *map(int, sys.argv[2:])
def mixture(X, C):
    return mixture_sums(X, Density.of(np.full(k, 1 / k), C, np.ones((k, F)), np.arange(F)))
step = {
    "hard": hard_sums,
    "fuzzy": lambda X, C: fuzzy_sums(X, C, 2.0),
    "matrix": sq_distances,
    "hard cells": hard_cell_sums,
    "fuzzy cells": lambda X, C: fuzzy_cell_sums(X, C, 2.0),
    "mixture": mixture,
    "mixture cells": mixture,
}[kind]
C = np.random.default_rng(1).normal(size=(k, F))
def rows(n):
    X = np.random.default_rng(0).normal(size=(n, F))
    if kind.endswith("cells"):
        X.ravel()[::5] = np.nan
    return X
warm = rows(3 * (blocks(n, F)[0].stop))
step(warm, C)  # create threads, compiled code and buffers
del warm
X = rows(n)
def peak():
    lines = open("/proc/self/status").read().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1])
open("/proc/self/clear_refs", "w").write("5")  # reset the peak
before = peak()
step(X, C)
print((peak() - before) / 1024)
"""


def table() -> list[str]:
    """Increase of the peak memory during the step."""
    lines = [
        row(
            "step",
            "rows x features, clusters",
            "extra memory",
            "rows x clusters would be",
            "target",
        ),
        row(*["---"] * 5),
    ]
    n = 1_000_000
    for kind in ("hard", "fuzzy"):
        for F, k in [(2, 15), (16, 50), (64, 50)]:
            extra = extra_memory(kind, n, F, k)
            matrix, guarantee = f"{n * k * 8 / 2**20:.0f} MB", verdict(extra, 64)
            lines.append(row(kind, f"{n:,} x {F}, {k}", f"{extra:.1f} MB", matrix, guarantee))
    control = extra_memory("matrix", n, 2, 15)
    what = "all distances, as a check of the method"
    lines.append(row(what, f"{n:,} x 2, 15", f"{control:.1f} MB", "114 MB", ""))
    return lines


def extra_memory(kind: str, n: int, F: int, k: int) -> float:
    """Increase of the peak memory by one step, in megabytes."""
    command = [sys.executable, "-c", CODE, kind, str(n), str(F), str(k)]
    out = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(out.stdout)
