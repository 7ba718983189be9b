"""A reader of the published files of followed studies: how many records they give away.

For every data set and every split, studies with several numbers of clusters are followed. The
reader combines all that the files of all runs say. The unprotected forms are the same studies with
results as they would be without the rules: exact centres in all runs, and means that leave out
clients with few rows of a cluster. ``python -m tests.attacks.readers`` prints the table of
docs/privacy.md.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import combinations, permutations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from fedclust.datasets import dirichlet
from fedclust.kernels import k_means, nearest
from fedclust.study.run import Outcome
from fedclust.typing import FloatArray, IntArray

from ..support.following import Federation
from .followed import DATA, WITHIN
from .hostile import table_of
from .published import N_CLIENTS, sums_that_withhold

CONSENT = 'privacy = "secure"\nmax_queries = 1000000\nmax_rounds = 1000000'
PRIVACY = "max_queries = 50000"
SPLITS, KS = range(3), (3, 4, 5)
MOST = 4  # rows by which two sums may differ
MINIMUM = 5


class Published(NamedTuple):
    """Sizes and vectors for every cluster: a centre, or a mean."""

    sizes: FloatArray  # (C,)
    vectors: FloatArray  # (C, F)


class Study(NamedTuple):
    """What two kinds of readers know of a study, and the rows that it was about."""

    files: list[Published]  # of model.json and profile.json
    exact: list[Published]  # the same without rules for what is published


def split(X: FloatArray, seed: int) -> IntArray:
    """The owner of each row, by Dirichlet(0.3) over clusters of pooled rows; none without rows."""
    labels = nearest(X, k_means(X, 4, np.random.default_rng(seed), restarts=3))[0]
    owner = dirichlet(labels, N_CLIENTS, 0.3, seed)
    owner[:N_CLIENTS] = range(N_CLIENTS)
    return owner


def follow(folder: Path, X: FloatArray, owner: IntArray, k: int) -> Study:
    """Run a study that five clients follow, and read its files."""
    rows = {f"c{m:02d}": X[owner == m] for m in range(N_CLIENTS)}
    there = Federation(folder, rows, k=k, consent=CONSENT, privacy=PRIVACY)
    outcome = there.run(folder / "run")
    return Study(read_files(outcome.folder), know_exactly(outcome, X, owner))


def read_files(run: Path) -> list[Published]:
    """Centres and means of a run's files; rows of NaN for what is withheld."""
    model, profile = (json.loads((run / f"{n}.json").read_text()) for n in ("model", "profile"))
    sizes = np.array([cluster["size"] for cluster in model["clusters"]], dtype=float)
    F = len(model["columns"])
    centers = [cluster["center_in_units"] or [np.nan] * F for cluster in model["clusters"]]
    means = [[feature["mean"] for feature in c["features"]] for c in profile["clusters"]]
    overall = [[feature["overall_mean"] for feature in profile["clusters"][0]["features"]]]
    return [
        Published(sizes, np.array(centers, dtype=float)),
        Published(sizes, np.array(means, dtype=float)),
        Published(sizes.sum(keepdims=True), np.array(overall, dtype=float)),
    ]


def know_exactly(outcome: Outcome, X: FloatArray, owner: IntArray) -> list[Published]:
    """The server's centres to the last digit, and means without clients that have few rows."""
    centers: FloatArray = outcome.clustering.centers  # bounds are 0 and 1
    labels, k = nearest(X, np.ascontiguousarray(centers))[0], len(centers)
    sizes = np.bincount(labels, minlength=k).astype(float)
    held, means = sums_that_withhold(X, owner, labels, k, MINIMUM)
    return [Published(sizes, centers), Published(held, means)]


def combine(known: Sequence[Published]) -> FloatArray:
    """Means of the rows by which two sums differ: of clusters, of pairs of them, and of all rows.

    A cluster of one row is its own difference from nothing.
    """
    sums = [_sums(one) for one in known]
    found = [one.vectors[one.sizes == 1] for one in known]
    for (n_first, first), (n_second, second) in permutations(sums, 2):
        w = n_first[:, None] - n_second
        i, j = np.nonzero((w >= 1) & (w <= MOST))
        found.append((first[i] - second[j]) / w[i, j][:, None])
    vectors: FloatArray = np.vstack(found)
    finite: FloatArray = vectors[np.isfinite(vectors).all(axis=1)]
    return finite


def _sums(one: Published) -> tuple[FloatArray, FloatArray]:
    """Numbers and sums of rows of clusters, of pairs of clusters, and of all but some of them."""
    C, n, total = len(one.sizes), one.sizes, np.nan_to_num(one.sizes[:, None] * one.vectors)
    groups = [list(g) for size in (1, 2) for g in combinations(range(C), size)]
    groups += [[c for c in range(C) if c not in g] for g in groups if len(g) < C]
    return np.array([n[g].sum() for g in groups]), np.array([total[g].sum(axis=0) for g in groups])


def count(X: FloatArray, vectors: FloatArray, within: float) -> int:
    """How many records are among the vectors."""
    if len(vectors) == 0:
        return 0
    found = 0
    for row in X:
        found += bool((np.abs(vectors - row).max(axis=1) <= within).any())
    return found


def attack(name: str, splits: Sequence[int] = SPLITS, ks: Sequence[int] = KS) -> list[list[int]]:
    """Records found without the rules, and in the files: exactly and nearly, over all splits."""
    X = table_of(name, DATA[name])
    totals = np.zeros((2, 2), dtype=int)
    for seed in splits:
        owner, studies = split(X, seed), []
        for k in ks:
            with TemporaryDirectory() as folder:
                studies.append(follow(Path(folder), X, owner, k))
        for side, kind in enumerate(("exact", "files")):
            vectors = combine([one for study in studies for one in getattr(study, kind)])
            totals[side] += [count(X, vectors, within) for within in WITHIN]
    counts: list[list[int]] = totals.tolist()
    return counts


def lines(splits: Sequence[int] = SPLITS) -> Iterator[str]:
    """The table, as Markdown."""
    yield "| data | rows | studies | exact numbers | published files |"
    yield "|---|---|---|---|---|"
    for name, n in DATA.items():
        (exact, near), (found, found_near) = attack(name, splits)
        n_studies = len(splits) * len(KS)
        yield f"| {name} | {n} | {n_studies} | {exact} ({near}) | {found} ({found_near}) |"


if __name__ == "__main__":
    for line in lines():
        print(line, flush=True)  # noqa: T201
