"""Split columns: time, memory and bytes of a round."""

import subprocess
import sys
import time

import numpy as np

from fedclust.algorithms import make
from fedclust.channels import LocalChannel
from fedclust.clustering.alignment import align
from fedclust.core import Data, Plan, Schema, rounds
from fedclust.typing import FloatArray

from .timing import row, verdict

N, K = 1_000_000, 20

MEMORY = """
import sys
import numpy as np
from fedclust.algorithms import make
from fedclust.channels import LocalChannel
from fedclust.core import Data, Plan, Schema, rounds
key, n, F, k = sys.argv[1], *map(int, sys.argv[2:])
def federation(n):
    X = np.random.default_rng(0).normal(size=(n, F))
    return LocalChannel({f"o{i}": Data.of(p) for i, p in enumerate(np.split(X, 4, axis=1))})
def run_rounds(channel, n):
    plan = Plan(make(key, k, init=np.arange(k), tol=0.0, max_rounds=4))
    for _ in rounds(plan, channel, Schema(F, n_records=n)):
        pass
run_rounds(federation(100_000), 100_000)  # create threads, compiled code and buffers
channel = federation(n)
def peak():
    lines = open("/proc/self/status").read().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1])
open("/proc/self/clear_refs", "w").write("5")  # reset the peak
before = peak()
run_rounds(channel, n)
print((peak() - before) / 1024)
"""


def seconds_per_round(key: str, parts: list[FloatArray], n_rounds: int = 6) -> float:
    """Best time of a round."""
    vertical = key.startswith("vertical")
    F = sum(part.shape[1] for part in parts)
    init = np.arange(K) if vertical else parts[0][:K]
    plan = Plan(make(key, K, init=init, tol=0.0, max_rounds=n_rounds + 2))
    channel = LocalChannel({f"o{i}": Data.of(part) for i, part in enumerate(parts)})
    running = rounds(plan, channel, Schema(F, n_records=N))
    next(running)
    next(running)
    best = float("inf")
    for _ in range(n_rounds):
        start = time.perf_counter()
        next(running)
        best = min(best, time.perf_counter() - start)
    return best


def table() -> list[str]:
    """Compare four owners with one owner of all columns, and with pooled rows."""
    headings = (
        "algorithm",
        "records x features, clusters",
        "four owners",
        "one owner",
        "ratio",
        "target",
        "pooled rows, no matrix",
        "peak memory, in matrices",
        "target",
        "sent per owner and round",
    )
    lines = [row(*headings), row(*["---"] * len(headings))]
    rng = np.random.default_rng(0)
    for F in (16, 64):
        X = rng.normal(size=(N, F)) + 2 * rng.integers(0, 5, (N, 1))
        for key in ("llf-cm", "llf-fcm"):
            four = seconds_per_round(f"vertical-{key}", np.split(X, 4, axis=1))
            one = seconds_per_round(f"vertical-{key}", [X])
            rows = seconds_per_round(key, [X])
            matrices = _peak(f"vertical-{key}", F) * 2**20 / (N * K * 8)
            lines.append(
                row(
                    f"vertical-{key}",
                    f"{N:,} x {F}, {K}",
                    f"{four * 1e3:.0f} ms",
                    f"{one * 1e3:.0f} ms",
                    f"{four / one:.2f}",
                    verdict(four / one, 1.3),
                    f"{rows * 1e3:.0f} ms",
                    f"{matrices:.2f}",
                    verdict(matrices, 3.0),
                    f"{N * K * 8 / 1e6:.0f} MB (float32 {N * K * 4 / 1e6:.0f} MB)",
                )
            )
    return lines


def _peak(key: str, F: int) -> float:
    command = [sys.executable, "-c", MEMORY, key, str(N), str(F), str(K)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def alignment() -> list[str]:
    """Time to align the shared records of two owners, by each method."""
    n = 20_000
    ids = {"a": ("id", list(range(n))), "b": ("id", list(range(n // 2, n + n // 2)))}
    lines = [row("method", "ids of each owner", "time"), row("---", "---", "---")]
    for method in ("hash", "psi"):
        start = time.perf_counter()
        aligned = align(ids, method=method)
        seconds = time.perf_counter() - start
        assert aligned.n_records == n // 2
        lines.append(row(method, f"{n:,}", f"{seconds:.2f} s"))
    return lines
