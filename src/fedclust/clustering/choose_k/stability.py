"""Cluster two halves of the rows separately, and compare the results."""

from typing import Any, NamedTuple

import numpy as np

from ...core import AnyAlgorithm, EmptyRound, derive_seed
from ...kernels import nearest
from ...kernels.features import merge_centers
from ...metrics import Contingency
from ...typing import FloatArray
from .halves import HalfSeeding, halves_of
from .runs import LOOSE, Runs


class Pair(NamedTuple):
    """Centres of each half, and counts of all rows by their clusters under both."""

    first: FloatArray  # (C, F)
    second: FloatArray  # (C, F)
    table: FloatArray  # (C, C)


def seed_pair(algorithm: AnyAlgorithm, k: int, n_rounds: int, runs: Runs) -> Pair | None:
    """Seed and cluster each half; None if no client has enough rows."""
    split = _split(runs)
    try:
        first, second = (
            runs.run(
                HalfSeeding(k, split=split, second=second),
                k / 2,
                seed=derive_seed(runs.seed, "half", second),
            )
            for second in (False, True)
        )
        return _refine(algorithm, first, second, n_rounds, runs)
    except EmptyRound:
        return None


def merge_pair(
    algorithm: AnyAlgorithm, pair: Pair | None, k: int, n_rounds: int, runs: Runs
) -> Pair | None:
    """Merge the clusters of each half to k, by the sizes in the table.

    With ``n_rounds = 0`` no client is queried, and the cells of the table are added up.
    """
    if pair is None:
        return None
    first = merge_centers(pair.first, pair.table.sum(axis=1), k)
    second = merge_centers(pair.second, pair.table.sum(axis=0), k)
    if n_rounds > 0:
        return _refine(algorithm, first, second, n_rounds, runs)
    rows, columns = _merge_matrix(pair.first, first), _merge_matrix(pair.second, second)
    return Pair(first, second, rows.T @ pair.table @ columns)


def _merge_matrix(before: FloatArray, after: FloatArray) -> FloatArray:
    """Table with a one where a centre was merged into another."""
    merges: FloatArray = np.eye(len(after))[nearest(before, after)[0]]
    return merges


def _refine(
    algorithm: AnyAlgorithm, first: FloatArray, second: FloatArray, n_rounds: int, runs: Runs
) -> Pair:
    k = len(first)
    settings: dict[str, Any] = {"max_rounds": n_rounds, "tol": LOOSE, "split": _split(runs)}
    settings["init"] = np.vstack([first, second])
    plan = halves_of(algorithm, 2 * k, **settings)
    first, second = np.split(runs.run(plan, k), 2)  # each half of the rows with its k centres
    table = runs.run(Contingency(k, first, second), 2 * k, all_clients=True)
    return Pair(first, second, table)


def _split(runs: Runs) -> int:
    return derive_seed(runs.seed, "halves")
