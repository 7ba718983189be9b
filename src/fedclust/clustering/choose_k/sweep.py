"""One number of clusters after the other, from the largest down, each from the one before.

Two clusters merged are a good start for one cluster fewer, so a few rounds are enough.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np

from ...core import AnyAlgorithm, EmptyRound, derive_seed
from ...kernels.features import merge_centers
from ...metrics import INDICES, Evaluated, Evaluation, inertia
from ...typing import FloatArray
from ..rows import Init, run_seeding
from .runs import LOOSE, Runs
from .stability import merged_pair, seeded_pair

LIMIT = 6  # a sweep takes at most so many times the work of one clustering at its largest k


class Found(NamedTuple):
    """What was measured at one number of clusters."""

    centers: FloatArray  # (C, F)
    indices: dict[str, float]
    sizes: FloatArray  # (C,)
    table: FloatArray | None = None  # (C, C) rows by their clusters under the two halves


def sweep(algorithm: AnyAlgorithm, ks: Sequence[int], runs: Runs, init: Init) -> Iterator[Found]:
    """Every k of `ks`, which ascend, from the largest down; at last a single cluster."""
    top, names = ks[-1], indices_of(ks)
    try:
        centers, n_rounds = _clustered(algorithm, top, runs, init)
    except EmptyRound as problem:
        raise EmptyRound(f"{top} clusters, the largest of ks: {problem}; try fewer") from None
    found = _evaluated(algorithm, centers, names, runs)
    per_k = rounds_per_k(runs.work, n_rounds, ks)
    pair = seeded_pair(algorithm, top, n_rounds, runs)
    yield Found(centers, *found, pair and pair.table)
    for k in reversed(ks[:-1]):
        centers = _refined(algorithm, merge_centers(centers, found.sizes, k), per_k, runs)
        found = _evaluated(algorithm, centers, names, runs)
        pair = merged_pair(algorithm, pair, k, per_k, runs)
        yield Found(centers, *found, pair and pair.table)
    mean = merge_centers(centers, found.sizes, 1)
    value = runs.of(Evaluation(1, mean, inertia.name), 1, everybody=True)
    yield Found(mean, {inertia.name: value}, np.array([found.sizes.sum()]))


def rounds_per_k(spent: float, n_rounds: int, ks: Sequence[int]) -> int:
    """Rounds that either path may take at every k but the largest.

    One clustering at the largest k took so much work and so many rounds; the halves may take as
    many there. What else a sweep has to do comes off the limit first: at every k each row is
    compared with k centres for the indices and 2k for the agreement. The rest is for rounds. How
    many must not depend on what the halves took, or indices would depend on how rows are split.
    """
    top, others = ks[-1], sum(ks[:-1])
    spare = (LIMIT - 1) * spent - top * (1 + n_rounds + 2) - 3 * others - 1
    return max(0, int(spare // (2 * others))) if others else 0


def _clustered(algorithm: AnyAlgorithm, k: int, runs: Runs, init: Init) -> tuple[FloatArray, int]:
    """Centres and rounds of a whole run: the very one that `chain.cluster` makes of this seed."""
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
        runs.note(done, k)
    before = runs.rounds
    centers = runs.of(ready, k, seed=derive_seed(runs.seed, "clustering", 0))
    return centers, runs.rounds - before


def _refined(algorithm: AnyAlgorithm, start: FloatArray, n_rounds: int, runs: Runs) -> FloatArray:
    """A few rounds from a start that is nearly right."""
    if n_rounds == 0:
        return start
    k, stop = len(start), {"max_rounds": n_rounds, "tol": LOOSE, "absolute_tol": False}
    return cast(FloatArray, runs.of(_with(algorithm, n_clusters=k, init=start, **stop), k))


def indices_of(ks: Sequence[int]) -> tuple[str, ...]:
    """The inertia, for the elbow, and every index that chooses k and exists for all of `ks`."""
    fit = (i.name for i in INDICES.values() if i.chooses_k and i.min_clusters <= min(ks))
    return inertia.name, *fit


def _evaluated(
    algorithm: AnyAlgorithm, centers: FloatArray, names: tuple[str, ...], runs: Runs
) -> Evaluated:
    """All indices, and the sizes that the next merge needs, in one exchange."""
    k, fuzzifier = len(centers), vars(algorithm)["fuzzifier"] if algorithm.soft else 2.0
    scoring = Evaluation(k, centers, names, fuzzifier)
    return cast(Evaluated, runs.of(scoring, k, everybody=True))


def _with(algorithm: AnyAlgorithm, **changes: Any) -> AnyAlgorithm:
    return cast(AnyAlgorithm, replace(cast(Any, algorithm), **changes))
