"""One local step against scikit-learn's Lloyd iteration, skfuzzy, and bare matrix products."""

import time
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import skfuzzy
from sklearn.cluster._k_means_lloyd import lloyd_iter_chunked_dense
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
from threadpoolctl import ThreadpoolController

from fedclust.kernels import fuzzy_cell_sums, fuzzy_sums, hard_cell_sums, hard_sums
from fedclust.typing import FloatArray

from .timing import best_of, one_thread, row, verdict

SHARE_OF_PRODUCTS = {(64, 2.0): 1.4, (784, 2.0): 1.4, (2, 1.7): 2.0, (16, 1.7): 1.5}  # F, m
SHAPES = [(1_000_000, 2, 15), (500_000, 16, 10), (200_000, 64, 50), (60_000, 784, 20)]


def problem(n: int, F: int, k: int, dtype: type) -> tuple[FloatArray, FloatArray]:
    """Random rows, and the first of them, slightly shifted, as centres."""
    X: FloatArray = np.random.default_rng(0).normal(size=(n, F)).astype(dtype)
    return X, (X[:k] + 0.01).astype(dtype)


def lloyd(blas: ThreadpoolController, *args: object) -> None:
    """One iteration of scikit-learn's KMeans, with one BLAS thread per worker as there."""
    with blas.limit(limits=1, user_api="blas"):
        lloyd_iter_chunked_dense(*args)


def two_products(X: FloatArray, C: FloatArray, U: FloatArray) -> None:
    """The two matrix products that every fuzzy step needs."""
    _ = X @ C.T
    _ = U @ X


def cmeans_iteration(X: FloatArray, k: int, m: float) -> float:
    """Seconds per iteration of `skfuzzy.cmeans`: a quarter of four further iterations."""
    rows = np.ascontiguousarray(X.T)

    def run(iterations: int) -> float:
        start = time.process_time()
        skfuzzy.cmeans(rows, k, m, error=0.0, maxiter=iterations, seed=0)
        return time.process_time() - start

    return min(run(6) - run(2) for _ in range(2)) / 4


def hard() -> list[str]:
    """The hard step: assign and sum."""
    lines = [
        row("rows x features, clusters", "type", "scikit-learn", "fedclust", "ratio", "target"),
        row(*["---"] * 6),
    ]
    blas = ThreadpoolController()
    for dtype in (np.float64, np.float32):
        for n, F, k in SHAPES:
            X, C = problem(n, F, k, dtype)
            new, weight, shift = np.empty_like(C), np.zeros(k, dtype), np.zeros(k, dtype)
            ones, labels = np.ones(n, dtype), np.empty(n, np.int32)
            threads = _openmp_effective_n_threads()

            args = (X, ones, C, new, weight, labels, shift, threads)
            best = best_of(
                {"theirs": partial(lloyd, blas, *args), "ours": partial(hard_sums, X, C)}
            )
            ratio = best["ours"] / best["theirs"]
            limit = 0.7 if F == 2 else 1.0 if F == 16 else 1.1
            ms = (f"{1e3 * best[name]:.1f} ms" for name in ("theirs", "ours"))
            kind = np.dtype(dtype).name
            lines.append(row(f"{n:,} x {F}, {k}", kind, *ms, f"{ratio:.2f}", verdict(ratio, limit)))
    return lines


def fuzzy() -> list[str]:
    """The fuzzy step: memberships and sums, in float64."""
    lines = [
        row(
            "rows x features, clusters",
            "fuzzifier",
            "skfuzzy",
            "two products",
            "fedclust",
            "times faster than skfuzzy",
            "of two products",
        ),
        row(*["---"] * 7),
    ]
    for n, F, k in SHAPES:
        X, C = problem(n, F, k, np.float64)
        U = np.random.default_rng(1).random((k, n))
        for m in (2.0, 1.5, 1.7):
            with one_thread():
                best = best_of(
                    {
                        "products": partial(two_products, X, C, U),
                        "ours": partial(fuzzy_sums, X, C, m),
                    },
                    repeats=6,
                    clock=time.process_time,
                )
                best["skfuzzy"] = cmeans_iteration(X, k, m)
            lines.append(fuzzy_line(n, F, k, m, best))
    return lines


def fuzzy_line(n: int, F: int, k: int, m: float, best: Mapping[str, float]) -> str:
    """A line of the table, with targets for the fuzzifier 2, and for one that needs powers."""
    speed, share = best["skfuzzy"] / best["ours"], best["ours"] / best["products"]
    faster, limit = {2: 50, 16: 12, 64: 5, 784: 3}[F], SHARE_OF_PRODUCTS.get((F, m))
    return row(
        f"{n:,} x {F}, {k}",
        f"{m:g}",
        *(f"{1e3 * best[name]:.1f} ms" for name in ("skfuzzy", "products", "ours")),
        f"{speed:.0f}" + (f" ({verdict(speed, faster, at_least=True)})" if m == 2.0 else ""),
        f"{share:.2f}" + (f" ({verdict(share, limit)})" if limit else ""),
    )


def missing() -> list[str]:
    """Both steps over rows of which a fifth of the cells is missing, against complete rows."""
    heading = ("rows x features, clusters", "step", "complete", "missing cells", "ratio", "target")
    lines = [row(*heading), row(*["---"] * len(heading))]
    for n, F, k in SHAPES:
        X, C = problem(n, F, k, np.float64)
        holed = np.where(np.random.default_rng(1).random(X.shape) < 0.2, np.nan, X)
        steps: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
            "hard": (partial(hard_sums, X, C), partial(hard_cell_sums, holed, C)),
            "fuzzy": (partial(fuzzy_sums, X, C, 2.0), partial(fuzzy_cell_sums, holed, C, 2.0)),
        }
        for name, (plain, cells) in steps.items():
            best = best_of({"plain": plain, "cells": cells}, repeats=6)
            ratio = best["cells"] / best["plain"]
            ms = (f"{1e3 * best[which]:.1f} ms" for which in ("plain", "cells"))
            what = f"{n:,} x {F}, {k}"
            lines.append(row(what, name, *ms, f"{ratio:.2f}", verdict(ratio, 2.0)))
    return lines
