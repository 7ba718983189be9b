"""Timing on a noisy machine: alternate the contestants, keep the best of each."""

import time
from collections.abc import Callable, Mapping

REST = 0.02  # seconds: OpenMP and BLAS threads of one contestant spin on into the next


def best_of(contestants: Mapping[str, Callable[[], object]], repeats: int = 25) -> dict[str, float]:
    """Shortest time of each, in seconds; they take turns, and each turn begins after a rest."""
    best = dict.fromkeys(contestants, float("inf"))
    for _ in range(repeats):
        for name, run in contestants.items():
            time.sleep(REST)
            run()  # wake threads, fill caches, and the first time compile
            for _ in range(2):
                start = time.perf_counter()
                run()
                best[name] = min(best[name], time.perf_counter() - start)
    return best


def row(*cells: object) -> str:
    """One line of a Markdown table."""
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def verdict(value: float, limit: float, *, at_least: bool = False) -> str:
    """Whether a ratio keeps its promise."""
    kept = value >= limit if at_least else value <= limit
    return f"{'≥' if at_least else '≤'} {limit:g} {'kept' if kept else '**missed**'}"
