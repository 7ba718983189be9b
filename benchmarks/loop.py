"""Cost of the loop in addition to the kernels, and of the import."""

import subprocess
import sys
import time
import tracemalloc
import warnings
from collections.abc import Callable

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from fedclust import FederatedKMeans
from fedclust.algorithms import make
from fedclust.channels import LocalChannel
from fedclust.core import Data, Plan, Schema, rounds, run
from fedclust.typing import FloatArray

from .timing import best_of, one_thread, row, verdict


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


def small_clients() -> list[str]:
    """Few wide rows at each client, and very many clients of few rows."""
    lines = [row("what", "measured", "target"), row("---", "---", "---")]
    with one_thread():
        return [*lines, *wide_clients(), many_tiny_clients()]


def wide_clients() -> list[str]:
    """Whole fits of a few wide rows, against scikit-learn's; a round is the difference of two."""
    X = np.random.default_rng(0).normal(size=(20_000, 784))
    start, k = X[:10] + 0.01, 10
    lengths = (4, 14)

    def of_sklearn(rounds: int) -> Callable[[], object]:
        return lambda: KMeans(k, init=start, n_init=1, max_iter=rounds, tol=0.0).fit(X)

    def of_clients(n_clients: int, rounds: int) -> Callable[[], object]:
        clients = federation(X, n_clients)
        plan = Plan(make("llf-cm", k, init=start, tol=0.0, max_rounds=rounds))
        return lambda: run(plan, clients, Schema(784))

    fits = {
        f"{n} {rounds}": of_clients(n, rounds) if n else of_sklearn(rounds)
        for n in (0, 10, 100)
        for rounds in lengths
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        best = best_of(fits, 6, time.process_time)
    short, long = lengths
    seconds = {n: best[f"{n} {long}"] - best[f"{n} {short}"] for n in (0, 10, 100)}
    return [
        row(
            f"a round of 20,000 x 784 rows in {n} clients, against an iteration of scikit-learn",
            f"{seconds[n] / seconds[0]:.2f} times",
            verdict(seconds[n] / seconds[0], limit),
        )
        for n, limit in ((10, 1.1), (100, 1.3))
    ]


def many_tiny_clients(n_clients: int = 100_000) -> str:
    """A whole fit of many clients with 20 rows each, its default start included."""
    rows = np.random.default_rng(0).normal(size=(n_clients * 20, 8))
    owners = np.repeat(np.arange(n_clients), 20)
    model = FederatedKMeans(8, max_rounds=20, tol=0.0, random_state=0)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(rows, clients=owners)
    seconds = time.process_time() - start
    rounds = model.n_start_rounds_ + model.n_rounds_
    each = 1e6 * seconds / rounds / n_clients
    what = f"{n_clients:,} clients of 20 x 8 rows, {rounds} rounds with those of the start"
    return row(what, f"{seconds:.0f} s, {each:.0f} µs per client and round", verdict(seconds, 141))


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
