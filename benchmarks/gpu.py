"""Steps on a GPU, against flash-kmeans, plain PyTorch and one read: ``python -m benchmarks.gpu``.

Needs an NVIDIA GPU and ``fedclust[gpu]``. PyTorch and flash-kmeans are compared if installed.
Every step is timed from its call to its sums on the host, with the rows on the GPU. Medians.
"""

import statistics
import sys
import time
import warnings
from collections.abc import Callable
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fedclust import FederatedKMeans
from fedclust.core.device import find_gpu
from fedclust.kernels import fuzzy_sums, hard_sums, nearest
from fedclust.kernels.gpu import place
from fedclust.kernels.grid import make_grid
from fedclust.typing import FloatArray

from .timing import row

REPEATS = 7
RUNS = 100  # whose bits are compared
EXACT = 1.5  # goal of steps in integers, in steps in fractions


class Case(NamedTuple):
    """A step over a table, and its goal in milliseconds on one H200."""

    step: str
    n: int
    F: int
    k: int
    dtype: type
    goal: float | None


CASES = [
    Case("hard", 20_000_000, 16, 10, np.float64, 1.3),
    Case("hard", 20_000_000, 16, 10, np.float32, 0.8),
    Case("hard, exact", 20_000_000, 16, 10, np.float64, None),
    Case("fuzzy, m = 2", 20_000_000, 16, 10, np.float64, 2.5),
    Case("fuzzy, m = 1.7", 20_000_000, 16, 10, np.float64, None),
    Case("hard", 10_000_000, 64, 64, np.float64, 4.0),
    Case("hard", 10_000_000, 64, 64, np.float32, 2.2),
    Case("hard, exact", 10_000_000, 64, 64, np.float64, None),
    Case("fuzzy, m = 2", 10_000_000, 64, 64, np.float64, 7.0),
    Case("fuzzy, m = 2", 10_000_000, 64, 64, np.float32, 4.0),
    Case("hard", 20_000_000, 2, 15, np.float64, 0.5),
    Case("hard", 4_000_000, 128, 1024, np.float32, 12.0),
]


@lru_cache(1)
def table_of(n: int, F: int, k: int) -> tuple[FloatArray, FloatArray]:
    """Rows around as many places as there are clusters, and centres near these places."""
    rng = np.random.default_rng(0)
    places = rng.uniform(-10.0, 10.0, (k, F))
    X: FloatArray = rng.standard_normal((n, F), np.float32)
    X += places[np.arange(n) % k].astype(np.float32)
    return X, places + rng.normal(0.0, 0.3, places.shape)


def rows_of(case: Case) -> tuple[FloatArray, FloatArray]:
    """The rows of a case in its type, and the centres."""
    X, centers = table_of(case.n, case.F, case.k)
    return X.astype(case.dtype, copy=False), centers


def median(step: Callable[[], Any], settle: Callable[[], Any] = lambda: None) -> float:
    """Median of several runs in milliseconds, after one that compiles."""
    times = []
    for _ in range(REPEATS + 1):
        settle()
        start = time.perf_counter()
        step()
        settle()
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times[1:])


def wrong_labels(X: FloatArray, there: FloatArray, centers: FloatArray) -> int:
    """Rows whose label is not the CPU's."""
    return int((nearest(there, centers)[0] != nearest(X, centers)[0]).sum())


def of_torch(case: Case, X: FloatArray, centers: FloatArray) -> dict[str, float]:
    """The same step in plain PyTorch, flash-kmeans, and one read of the rows."""
    if find_spec("torch") is None:
        return {}
    import torch

    x = torch.from_numpy(X).cuda()
    c = torch.from_numpy(centers.astype(case.dtype)).cuda()
    wait = torch.cuda.synchronize
    found = {"read": median(lambda: x.sum(), wait)}

    def plain() -> Any:
        labels = torch.cat([torch.cdist(part, c).argmin(1) for part in x.split(2**20)])
        return torch.zeros_like(c).index_add_(0, labels, x), labels.bincount(minlength=case.k)

    if case.step.startswith("hard"):
        found["torch"] = median(plain, wait)
        if find_spec("flash_kmeans") is not None and case.dtype is np.float32:
            from flash_kmeans import batch_kmeans_Euclid

            def flash() -> Any:
                return batch_kmeans_Euclid(
                    x[None], case.k, max_iters=1, init_centroids=c[None], verbose=False
                )

            try:
                found["flash-kmeans"] = median(flash, wait)
            except Exception as problem:  # its newest version may take other arguments
                print(f"flash-kmeans failed: {problem}", file=sys.stderr)
    return found


def measure(case: Case, device: Any, floats: dict[tuple[int, ...], float]) -> str:
    """A line of the table; steps in integers are compared with those in fractions before."""
    X, centers = rows_of(case)
    there, no_weight = place(X, device), np.empty(0)
    grid = None
    if "exact" in case.step:
        low, high = np.full(case.F, -64.0), np.full(case.F, 64.0)
        grid = make_grid(low, high, case.n)

    def step() -> Any:
        if case.step.startswith("hard"):
            return hard_sums(there, centers, no_weight, grid)
        m = float(case.step.split("=")[1])
        return fuzzy_sums(there, centers, m, no_weight, grid)

    ours, first = median(step), step()
    shape, goal = (case.n, case.F, case.k), case.goal
    if grid is None:
        floats.setdefault(shape, ours)
    else:
        goal = EXACT * floats[shape]
    same = all((a == b).all() for _ in range(RUNS) for a, b in zip(first, step(), strict=True))
    wrong: object = "-"
    if case.step.startswith("hard"):
        wrong = wrong_labels(X, there, centers)
    others = of_torch(case, X, centers)
    return row(
        f"{case.step}, {case.n:,} x {case.F}, {case.k}",
        np.dtype(case.dtype).name,
        f"{ours:.2f} ms",
        "-" if goal is None else f"{goal:.3g} ms",
        *(
            f"{ours / others[name]:.2f}" if name in others else "-"
            for name in ("flash-kmeans", "torch", "read")
        ),
        wrong,
        "yes" if same else "**no**",
    )


def fits() -> list[str]:
    """Seconds of whole fits from rows in the host's memory, on the CPU and on the GPU."""
    X, centers = rows_of(CASES[0])
    lines = [row("fit", "CPU", "GPU", "times faster", "goal"), row(*["---"] * 5)]
    starts: dict[str, Any] = {"20 rounds from given centres": centers, "the default start": "auto"}
    for name, init in starts.items():
        seconds = {}
        for device in ("cpu", "gpu"):
            model = FederatedKMeans(
                len(centers), init=init, max_rounds=20, tol=0.0, random_state=0, device=device
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit({"all": X[:100_000]})  # compiles
                start = time.perf_counter()
                model.fit({"all": X})
            seconds[device] = time.perf_counter() - start
        times = (f"{seconds[device]:.2f} s" for device in seconds)
        ratio = f"{seconds['cpu'] / seconds['gpu']:.1f}"
        lines.append(row(f"{len(X):,} x {X.shape[1]}, {name}", *times, ratio, 20))
    return lines


def main() -> None:
    """Print the tables."""
    device, reason = find_gpu()
    if device is None:
        sys.exit(f"no GPU: {reason}")
    print(f"{device.name}; medians of {REPEATS}; rows on the GPU, sums on the host")
    print()
    head = ("step", "rows", "fedclust", "goal", "of flash-kmeans", "of PyTorch", "of one read")
    print(row(*head, "wrong labels", f"same bits in {RUNS} runs"))
    print(row(*["---"] * (len(head) + 2)))
    floats: dict[tuple[int, ...], float] = {}
    for case in CASES:
        print(measure(case, device, floats), flush=True)
    print()
    print("\n".join(fits()))


if __name__ == "__main__":
    main()
