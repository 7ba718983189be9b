"""Two halves of the rows on paths of their own, and how well what they find agrees."""

from typing import Any, NamedTuple

import numpy as np

from ...core import AnyAlgorithm, EmptyRound, derive_seed
from ...kernels import nearest
from ...kernels.features import merge_centers
from ...metrics import Contingency
from ...typing import FloatArray
from .halves import HalfSeeding, HalvesCMeans, HalvesFuzzyCMeans
from .runs import LOOSE, Runs


class Pair(NamedTuple):
    """The centres of each half, and all rows counted by their clusters under both."""

    first: FloatArray  # (C, F)
    second: FloatArray  # (C, F)
    table: FloatArray  # (C, C)


def seeded_pair(algorithm: AnyAlgorithm, k: int, n_rounds: int, runs: Runs) -> Pair | None:
    """Each half from a seeding of its own; None where no client has rows enough for that."""
    split = _split(runs)
    try:
        first, second = (
            runs.of(
                HalfSeeding(k, split=split, second=second),
                k / 2,
                seed=derive_seed(runs.seed, "half", second),
            )
            for second in (False, True)
        )
        return _refined(algorithm, first, second, n_rounds, runs)
    except EmptyRound:
        return None


def merged_pair(
    algorithm: AnyAlgorithm, pair: Pair | None, k: int, n_rounds: int, runs: Runs
) -> Pair | None:
    """Fewer clusters: the merges of each half are its own, by sizes that the table has.

    Without rounds nobody is asked: clusters are what was merged, and so are the table's cells.
    """
    if pair is None:
        return None
    first = merge_centers(pair.first, pair.table.sum(axis=1), k)
    second = merge_centers(pair.second, pair.table.sum(axis=0), k)
    if n_rounds > 0:
        return _refined(algorithm, first, second, n_rounds, runs)
    rows, columns = _merge_of(pair.first, first), _merge_of(pair.second, second)
    return Pair(first, second, rows.T @ pair.table @ columns)


def _merge_of(before: FloatArray, after: FloatArray) -> FloatArray:
    """Which centre went into which, as ones in a table of zeros."""
    into: FloatArray = np.eye(len(after))[nearest(before, after)[0]]
    return into


def _refined(
    algorithm: AnyAlgorithm, first: FloatArray, second: FloatArray, n_rounds: int, runs: Runs
) -> Pair:
    k = len(first)
    settings: dict[str, Any] = {"max_rounds": n_rounds, "tol": LOOSE, "split": _split(runs)}
    settings["init"] = np.vstack([first, second])
    plan: AnyAlgorithm = HalvesCMeans(2 * k, **settings)
    if algorithm.soft:
        plan = HalvesFuzzyCMeans(2 * k, fuzzifier=vars(algorithm)["fuzzifier"], **settings)
    first, second = np.split(runs.of(plan, k), 2)  # k centres for half of the rows, twice
    table = runs.of(Contingency(k, first, second), 2 * k, everybody=True)
    return Pair(first, second, table)


def _split(runs: Runs) -> int:
    return derive_seed(runs.seed, "halves")
