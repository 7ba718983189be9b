"""Timing on a noisy machine: alternate the candidates and keep the best time of each."""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from threadpoolctl import threadpool_limits

REST = 0.02  # seconds: OpenMP and BLAS threads of one candidate keep spinning for a while


def best_of(
    candidates: Mapping[str, Callable[[], object]],
    repeats: int = 25,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Shortest time of each candidate in seconds; they alternate, with a pause before each."""
    best = dict.fromkeys(candidates, float("inf"))
    for _ in range(repeats):
        for name, run in candidates.items():
            time.sleep(REST)
            run()  # wake threads, fill caches, and compile in the first call
            for _ in range(2):
                start = clock()
                run()
                best[name] = min(best[name], clock() - start)
    return best


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread for fedclust, BLAS and OpenMP, so that processor time compares candidates."""
    before = os.environ.get("FEDCLUST_NUM_THREADS")
    os.environ["FEDCLUST_NUM_THREADS"] = "1"
    try:
        with threadpool_limits(limits=1):
            yield
    finally:
        if before is None:
            del os.environ["FEDCLUST_NUM_THREADS"]
        else:
            os.environ["FEDCLUST_NUM_THREADS"] = before


def row(*cells: object) -> str:
    """One line of a Markdown table."""
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def verdict(value: float, limit: float, *, at_least: bool = False) -> str:
    """Whether a value meets its target, as text."""
    met = value >= limit if at_least else value <= limit
    return f"{'≥' if at_least else '≤'} {limit:g} {'met' if met else '**missed**'}"
