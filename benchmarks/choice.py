"""How often the recommended number of clusters is right, and its cost.

``python -m benchmarks.choice [llf-cm | llf-fcm | llf-mixture] [blobs] [96]`` prints the tables of
docs/choosing-k.md; public data sets that are not on this machine are skipped. A number is that of
data sets drawn at random; without it all count.
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np

from fedclust.algorithms import make
from fedclust.channels import LocalChannel
from fedclust.clustering.choose_k import choose
from fedclust.clustering.choose_k.sweep import compared_centers
from fedclust.clustering.rows import cluster, run_seeding
from fedclust.core import AnyAlgorithm, DataError, Plan, Schema, derive_seed, run
from fedclust.datasets import dirichlet, iid, load
from fedclust.typing import FloatArray, IntArray

from .timing import best_of, row, verdict

TOP = 15
INDICES = ("simplified-silhouette", "soft-davies-bouldin", "xie-beni", "elbow", "stability")
SPLITS = ("iid", "dirichlet", "one cluster per client")


@dataclass(frozen=True, eq=False)
class Case:
    """A table, its number of clusters, and its line in the results."""

    line: str
    X: FloatArray
    y: IntArray
    n_clusters: int
    splits: tuple[str, ...]


def blobs(k: int, F: int, apart: float, imbalance: float, seed: int) -> tuple[FloatArray, IntArray]:
    """1500 rows in k round clusters of deviation 1, with centres at least `apart` apart."""
    rng = np.random.default_rng(seed)
    box, centers = 0.9 * apart * k ** (1 / F), np.empty((0, F))
    while len(centers) < k:
        one = rng.uniform(0, box, F)
        if len(centers) == 0 or np.linalg.norm(centers - one, axis=1).min() >= apart:
            centers = np.vstack([centers, one])
        else:
            box *= 1.001  # otherwise there may be no space
    share = np.geomspace(imbalance, 1, k)
    y = rng.choice(k, 1500, p=share / share.sum())
    return rng.normal(centers[y], 1.0), y


def with_clusters() -> Iterator[Case]:
    """Blobs that differ in number, dimension, distance and size, and public data sets."""
    sizes, features, draws = (2, 3, 4, 5, 6, 8, 10, 12), (2, 5, 10, 20), (2, 3)
    for apart in (4, 6, 9):
        settings = product(sizes, features, (1, 5), draws)
        for number, (k, F, imbalance, draw) in enumerate(settings):
            X, y = blobs(k, F, apart, imbalance, 100 * draw + k + F)
            yield Case(f"blobs, {apart} deviations apart", X, y, k, (SPLITS[number % 3],))
    known = {"s1": 15, "s2": 15, "s4": 15, "xclara": 3, "g2": 2, "penguins": 3}
    for name, k in {**known, "pendigits": 10, "heart_disease": 2}.items():
        try:
            data = load(name, download=False)
        except DataError:
            continue
        if name == "g2":
            for F, sd in product((2, 8, 32), (30, 50)):
                X = data.extra[f"g2_{F}_{sd}"].astype(float)
                yield Case(f"g2, deviation {sd}", X, _labels(data.y), k, SPLITS)
            continue
        complete = np.isfinite(data.X).all(axis=1)
        X, y = data.X[complete], _labels(data.y)[complete]
        if name in ("penguins", "heart_disease"):  # columns in different units
            X = (X - X.mean(axis=0)) / X.std(axis=0)
        yield Case(name, X, y, k, SPLITS)


def _labels(y: IntArray | None) -> IntArray:
    assert y is not None
    return y


def without_clusters() -> Iterator[Case]:
    """One cloud: round, long, or a box."""
    for F, draw in product((1, 2, 5, 10, 20), range(5)):
        rng = np.random.default_rng(1000 + 10 * F + draw)
        labels = np.zeros(1500, dtype=int)
        yield Case("one round Gaussian", rng.normal(size=(1500, F)), labels, 1, SPLITS[:1])
        yield Case("one box, uniform", rng.uniform(size=(1500, F)), labels, 1, SPLITS[:1])
        if F > 1:
            long = rng.normal(size=(1500, F)) * np.where(np.arange(F) == 0, 4.0, 1.0)
            yield Case("one Gaussian, four times as long", long, labels, 1, SPLITS[:1])


def channel(case: Case, split: str) -> LocalChannel:
    """Split the rows of a case between five clients, or with one client per cluster."""
    if split == "iid":
        owner = iid(len(case.X), 5)
    elif split == "dirichlet":
        owner = dirichlet(case.y, 5, alpha=0.3)
    else:
        owner = np.unique(case.y, return_inverse=True)[1]
    return LocalChannel({f"c{i:02d}": case.X[owner == i] for i in range(owner.max() + 1)})


def draw(only: str, most: int | None) -> list[Case]:
    """Cases whose names begin like this, or some of them drawn at random."""
    cases = [c for c in (*with_clusters(), *without_clusters()) if c.line.startswith(only)]
    drawn = np.random.default_rng(0).permutation(len(cases))[:most]
    return [cases[i] for i in np.sort(drawn)]


def hits(key: str, only: str = "", most: int | None = None) -> list[str]:
    """Hits of each index alone and of the rule, and how often the evidence is called weak.

    `only` is the beginning of the names of the data; with all data if it is empty.
    """
    indices = ("bic", "icl") if key == "llf-mixture" else INDICES
    right: dict[str, Counter[str]] = defaultdict(Counter)
    cases, weak = Counter[str](), Counter[str]()
    for case in draw(only, most):
        for split in case.splits:
            choice = choose(make(key, TOP), channel(case, split), Schema(case.X.shape[1]))
            cases[case.line] += 1
            weak[case.line] += choice.weak
            for name, k in {**choice.favourites, "rule": choice.recommended}.items():
                right[case.line][name] += k == case.n_clusters
    lines = [row("data", "runs", *indices, "the rule", "called weak")]
    lines.append(row(*["---"] * (len(indices) + 4)))
    clustered = [line for line in cases if not line.startswith("one ")]
    for line in cases:
        hits_by = [right[line][n] if line in clustered else "" for n in (*indices, "rule")]
        lines.append(row(line, cases[line], *hits_by, weak[line]))
    totals = [sum(right[line][n] for line in clustered) for n in (*indices, "rule")]
    lines.append(row("**all with clusters**", sum(cases[line] for line in clustered), *totals, ""))
    return lines


def work_of_one(algorithm: AnyAlgorithm, rows: LocalChannel, schema: Schema) -> int:
    """Centres that a row is compared with in one clustering: its start, its rounds, its score."""
    ready, start = run_seeding(algorithm, rows, schema, seed=derive_seed(0, "seeding", 0))
    started = sum(compared_centers(part.algorithm) * part.n_rounds for part in start)
    return started + TOP * (run(Plan(ready), rows, schema).n_rounds + 1)


def cost() -> list[str]:
    """Compare a sweep over 2 to 15 clusters with one clustering of 15, by time and work."""
    headings = ("algorithm", "rows x features, clusters", "one clustering", "sweep", "times")
    works = ("work of one clustering", "work of a sweep", "times", "limit")
    lines = [row(*headings, "limit", *works), row(*["---"] * 10)]
    for key, (n, F, k, wide) in product(
        ("llf-cm", "llf-fcm"),
        ((200_000, 16, 10, 10.0), (500_000, 2, 8, 10.0), (200_000, 16, 15, 60.0)),
    ):
        rng = np.random.default_rng(0)
        X = rng.normal(rng.uniform(0, wide, (k, F))[rng.integers(0, k, n)], 1.0)
        rows, schema = LocalChannel({f"c{i}": X[i::5] for i in range(5)}), Schema(F)
        one = partial(cluster, make(key, TOP), rows, schema)
        sweep = partial(choose, make(key, TOP), rows, schema)
        best = best_of({"one": one, "sweep": sweep}, repeats=3)
        times = best["sweep"] / best["one"]
        work, all_work = work_of_one(make(key, TOP), rows, schema), sweep().work
        seconds = (f"{best['one']:.2f} s", f"{best['sweep']:.2f} s", f"{times:.1f}")
        share = all_work / work
        worked = (f"{work:,}", f"{all_work:,.0f}", f"{share:.1f}", verdict(share, 6))
        lines.append(row(key, f"{n:,} x {F}, {k}", *seconds, verdict(times, 6), *worked))
    return lines


if __name__ == "__main__":
    key, only, most = (*sys.argv[1:], *("llf-cm", "", "")[len(sys.argv) - 1 :])[:3]
    lines = hits(key, only, int(most) if most else None)
    print("\n".join([*lines, *(["", *cost()] if not only else [])]))
