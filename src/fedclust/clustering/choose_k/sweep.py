"""Cluster with every k from the largest down, each starting from the one before.

Merging two clusters is a good start for one cluster fewer, so a few rounds are enough.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np

from ...core import AnyAlgorithm, EmptyRound, derive_seed
from ...kernels.features import merge_centers
from ...metrics import INDICES, Evaluated, Evaluation, inertia
from ...tiers import Tier
from ...typing import FloatArray
from ..rows import Init, run_seeding
from ..starts import StartCost
from .runs import LOOSE, Runs
from .stability import merge_pair, seed_pair

LIMIT = 6  # maximum work of a sweep, in clusterings at its largest k
_FEWEST = 3  # queries of a clustering: a start, a round, and its indices
HALF_ROUNDS = 15  # that the halves may take at the largest k, from plainer starts


class Step(NamedTuple):
    """Results for one number of clusters."""

    centers: FloatArray  # (C, F)
    indices: dict[str, float]
    sizes: FloatArray  # (C,)
    table: FloatArray | None = None  # (C, C) rows by their clusters under the two halves


def sweep(algorithm: AnyAlgorithm, ks: Sequence[int], runs: Runs, init: Init) -> Iterator[Step]:
    """Yield results for every k of the ascending `ks`, from the largest down, then for k = 1."""
    top, names = ks[-1], indices_of(ks)
    try:
        centers, n_rounds = _cluster(algorithm, top, runs, init)
    except EmptyRound as problem:
        raise EmptyRound(f"k = {top}, the largest of ks: {problem}; or use smaller ks") from None
    evaluated = _evaluate(algorithm, centers, names, runs)
    half_rounds = max(n_rounds, HALF_ROUNDS)
    per_k = rounds_per_k(runs.work, half_rounds, ks)
    pair = seed_pair(algorithm, top, half_rounds, runs)
    yield Step(centers, *evaluated, pair and pair.table)
    for k in reversed(ks[:-1]):
        centers = _refine(algorithm, merge_centers(centers, evaluated.sizes, k), per_k, runs)
        evaluated = _evaluate(algorithm, centers, names, runs)
        pair = merge_pair(algorithm, pair, k, per_k, runs)
        yield Step(centers, *evaluated, pair and pair.table)
    mean = merge_centers(centers, evaluated.sizes, 1)
    value = runs.run(Evaluation(1, mean, inertia.name), 1, all_clients=True)
    yield Step(mean, {inertia.name: value}, np.array([evaluated.sizes.sum()]))


def rounds_per_k(spent: float, n_rounds: int, ks: Sequence[int]) -> int:
    """Number of rounds at every k but the largest, for all rows and for the halves.

    One clustering at the largest k took `spent` work; the halves may take `n_rounds` rounds there.
    The fixed work of a sweep is subtracted from the limit first: at every k each row is compared
    with k centres for the indices and 2k for the agreement. The rest is for rounds. It must not
    depend on the rounds of the halves, or indices would depend on the split of rows.
    """
    top, others = ks[-1], sum(ks[:-1])
    spare = (LIMIT - 1) * spent - top * (1 + n_rounds + 2) - 3 * others - 1
    return max(0, int(spare // (2 * others))) if others else 0


def count_queries(ks: Sequence[int], n_rounds: int, start: StartCost) -> int:
    """The most queries that a sweep can send, if a clustering takes at most `n_rounds`."""
    top, others = max(ks), len(ks) - 1
    half_rounds = max(n_rounds, HALF_ROUNDS)
    seeded = start.work + top * (n_rounds + 1)  # the first clustering, with its start and indices
    per_k = rounds_per_k(seeded, half_rounds, sorted(ks))
    whole, halves = start.rounds + n_rounds + 1, 2 + half_rounds + 1
    each = 2 * (per_k + 1) if per_k else 1  # without rounds the halves need no new table
    return whole + halves + others * each + 1


def explain_refusal(tier: Tier, algorithm: AnyAlgorithm, ks: Sequence[int]) -> str:
    """Why a tier with few queries allows no sweep, in numbers."""
    trying = f"trying {min(ks)} to {max(ks)} clusters"
    if tier.query_limit is None:
        least = 2 * _FEWEST + len(ks) + 1  # all rows and halves at the largest k, then one for each
        return f"{trying} takes at least {least:,} queries, each of which spends privacy budget"
    rounds = [n for n in (algorithm.parameter("max_rounds"), tier.most_rounds(algorithm)) if n]
    start = StartCost(1, max(ks))  # where queries are limited, one round has to be enough
    most = count_queries(ks, min(rounds, default=1), start)
    return f"{trying} can take {most:,} queries, but a data set answers {tier.query_limit:,}"


def _cluster(algorithm: AnyAlgorithm, k: int, runs: Runs, init: Init) -> tuple[FloatArray, int]:
    """Centres and rounds of a full run, identical to `clustering.rows.cluster` with this seed."""
    ready, seeding = run_seeding(
        _with(algorithm, n_clusters=k),
        runs.channel,
        runs.schema,
        init=init,
        privacy=runs.tier,
        sampling=runs.sampling,
        seed=derive_seed(runs.seed, "seeding", 0),
        runner=runs.runner,
    )
    for done in seeding:
        runs.record(done, compared_centers(done.algorithm))
    before = runs.rounds
    centers = runs.run(ready, k, seed=derive_seed(runs.seed, "clustering", 0))
    return centers, runs.rounds - before


def compared_centers(algorithm: AnyAlgorithm) -> int:
    """The number of centres that a round compares each row with."""
    init = algorithm.parameter("init")
    return algorithm.parameter("n_clusters", 0) if init is None else len(init)


def _refine(algorithm: AnyAlgorithm, start: FloatArray, n_rounds: int, runs: Runs) -> FloatArray:
    """Run a few rounds from a nearly converged start."""
    if n_rounds == 0:
        return start
    k, stop = len(start), {"max_rounds": n_rounds, "tol": LOOSE, "absolute_tol": False}
    return cast(FloatArray, runs.run(_with(algorithm, n_clusters=k, init=start, **stop), k))


def indices_of(ks: Sequence[int]) -> tuple[str, ...]:
    """Names of the inertia, for the elbow, and of all indices that can compare these `ks`."""
    comparable = (i.name for i in INDICES.values() if i.chooses_k and i.min_clusters <= min(ks))
    return inertia.name, *comparable


def _evaluate(
    algorithm: AnyAlgorithm, centers: FloatArray, names: tuple[str, ...], runs: Runs
) -> Evaluated:
    """Compute all indices, and the sizes for the next merge, in one round."""
    k, fuzzifier = len(centers), algorithm.parameter("fuzzifier") if algorithm.soft else 2.0
    scoring = Evaluation(k, centers, names, fuzzifier)
    return cast(Evaluated, runs.run(scoring, k, all_clients=True))


def _with(algorithm: AnyAlgorithm, **changes: Any) -> AnyAlgorithm:
    return cast(AnyAlgorithm, replace(cast(Any, algorithm), **changes))
