"""Cost of the loop in addition to the kernels, and of the import."""

import subprocess
import sys
import time
import tracemalloc

import numpy as np

from fedclust.algorithms import make
from fedclust.channels import LocalChannel
from fedclust.core import Data, Plan, Schema, rounds
from fedclust.typing import FloatArray

from .timing import row, verdict


def federation(X: FloatArray, n_clients: int) -> LocalChannel:
    """Split rows into equal shares."""
    return LocalChannel(
        {f"c{i:05d}": Data.of(part) for i, part in enumerate(np.array_split(X, n_clients))}
    )


def seconds_per_round(X: FloatArray, n_clients: int, n_rounds: int) -> float:
    """Best time of a round of LLF-CM, 10 clusters."""
    plan = Plan(make("llf-cm", 10, init=X[:10] + 0.01, tol=0.0, max_rounds=n_rounds + 1))
    running = rounds(plan, federation(X, n_clients), Schema(X.shape[1]))
    next(running)
    best = float("inf")
    for _ in range(n_rounds):
        start = time.perf_counter()
        next(running)
        best = min(best, time.perf_counter() - start)
    return best


def table() -> list[str]:
    """Many clients against one, and the cost of a client."""
    X = np.random.default_rng(0).normal(size=(1_000_000, 16))
    lines = [row("what", "measured", "target"), row("---", "---", "---")]
    one = seconds_per_round(X, 1, 10)
    for n_clients, n_rounds in ((100, 10), (10_000, 5)):
        many = seconds_per_round(X, n_clients, n_rounds)
        over = 1e6 * (many - one) / n_clients
        what = f"{n_clients:,} clients sharing 1,000,000 x 16 rows, against one with all of them"
        if n_clients == 100:
            lines.append(row(what, f"{many / one:.2f} times", verdict(many / one, 1.25)))
        lines.append(row(f"{what}: more per client", f"{over:.0f} µs", verdict(over, 50)))
    lines.append(row("memory kept per round, 10,000 clients", *growth(X)))
    lines.append(row("`import fedclust`", *import_time()))
    return lines


def growth(X: FloatArray) -> tuple[str, str]:
    """Bytes that stay allocated per round, on average over many rounds."""
    plan = Plan(make("llf-cm", 10, init=X[:10] + 0.01, tol=0.0, max_rounds=14))
    running = rounds(plan, federation(X, 10_000), Schema(16))
    for _ in range(4):
        next(running)
    tracemalloc.start()
    for _ in range(2):
        next(running)
    first = tracemalloc.get_traced_memory()[0]
    for _ in range(6):
        next(running)
    kept = (tracemalloc.get_traced_memory()[0] - first) / 6
    tracemalloc.stop()
    return f"{kept / 1024:.1f} kB", verdict(kept / 1024, 10)


def import_time() -> tuple[str, str]:
    """Import in a fresh interpreter, best of several."""
    code = "import time; t = time.perf_counter(); import fedclust; print(time.perf_counter() - t)"
    times = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout)
        for _ in range(7)
    ]
    return f"{min(times):.2f} s", verdict(min(times), 0.5)
