"""How good the clusters of each algorithm are, and what they cost, at its default settings.

``python -m benchmarks.algorithms [seeds]`` prints the tables of docs/choosing-an-algorithm.md.
Every registered algorithm is measured. Public data sets that are not on this machine are skipped.
"""

import os
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

import numpy as np
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.datasets import load_breast_cancer
from threadpoolctl import threadpool_limits

from fedclust.algorithms import ALGORITHMS, VERTICAL, make
from fedclust.channels import LocalChannel
from fedclust.clustering.columns import cluster_columns
from fedclust.clustering.rows import SCORING, cluster, run_seeding
from fedclust.core import (
    AnyAlgorithm,
    Channel,
    ClientSampling,
    Data,
    DataError,
    Plan,
    Run,
    Schema,
    run,
)
from fedclust.datasets import dirichlet, iid, load
from fedclust.kernels import fuzzy_objective, nearest
from fedclust.typing import FloatArray, IntArray

from .choice import blobs
from .timing import row

FUZZIFIER = 2.0  # the default of every fuzzy algorithm
STARTS = 20  # of the pooled runs that look for the best solution
MOST_ROWS = 1000  # larger sets are subsampled
ALPHA = 0.3  # of the Dirichlet splits
HEAVY_TAILED = ("wholesale_customers", "kddcup99_10")
EVERYBODY = ClientSampling()
A_QUARTER = ClientSampling(fraction=0.25)
ONE_START = {False: "pooled k-means, one start", True: "pooled fuzzy c-means, one start"}


@dataclass(frozen=True, eq=False)
class Case:
    """A table with columns of deviation 1, its number of clusters, and how it is split."""

    name: str
    X: FloatArray
    y: IntArray
    n_clusters: int
    n_clients: int
    split: str

    def channel(self, seed: int) -> LocalChannel:
        """The clients with their rows; every seed has its own split."""
        if self.split == "iid":
            owner = iid(len(self.X), self.n_clients, seed)
        else:
            owner = dirichlet(self.y, self.n_clients, ALPHA, seed)
        return LocalChannel({f"c{i:02d}": Data.of(self.X[owner == i]) for i in np.unique(owner)})


@dataclass(frozen=True, eq=False)
class Outcome:
    """One run: its objective over all rows, and its cost."""

    objective: float
    settled: float  # the objective after pooled steps from the final centres, until they rest
    rounds: int = 0  # seeding included
    sent: float = 0.0  # bytes, mean over clients, seeding and score included


Outcomes = dict[str, list[Outcome]]


def uneven_blobs(n_clients: int) -> Case:
    """Eight round clusters, the largest five times as large as the smallest."""
    X, y = blobs(8, 5, 6.0, 5.0, seed=0)
    return _case("uneven blobs", X, y, 8, n_clients, "dirichlet")


def cases() -> Iterator[Case]:
    """Sets of this package, of scikit-learn, and public ones: round, long-tailed, few, many."""
    yield uneven_blobs(10)
    X, y = load_breast_cancer(return_X_y=True)
    yield _case("breast cancer", X, y, 2, 5, "dirichlet")
    for name, k, n_clients, split in (
        ("penguins", 3, 5, "iid"),
        ("wholesale_customers", 6, 5, "dirichlet"),
        ("s2", 15, 20, "dirichlet"),
        ("pendigits", 10, 10, "dirichlet"),
        ("kddcup99_10", 8, 5, "iid"),
    ):
        try:
            data = load(name, download=False)
        except DataError:
            print(f"{name} is not on this machine", file=sys.stderr)
            continue
        yield _case(name, data.X, data.y, k, n_clients, split)


def _case(name: str, X: Any, y: Any, k: int, n_clients: int, split: str) -> Case:
    """Subsample, drop columns without spread, and standardise."""
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    if len(X) > MOST_ROWS:
        kept = np.random.default_rng(0).choice(len(X), MOST_ROWS, replace=False)
        X, y = X[kept], y[kept]
    X = X[:, X.std(axis=0) > 0]
    return Case(name, (X - X.mean(axis=0)) / X.std(axis=0), y, k, n_clients, split)


class _Count:
    """A runner that counts the rounds of seeding and clustering."""

    def __init__(self) -> None:
        self.rounds = 0

    def __call__(self, plan: Plan, channel: Channel, schema: Schema, **options: Any) -> Run:
        done = run(plan, channel, schema, **options)
        if plan.purpose != SCORING:
            self.rounds += done.n_rounds
        return done


def objective(X: FloatArray, centers: FloatArray, *, soft: bool) -> float:
    """Inertia, or the objective of fuzzy c-means."""
    if soft:
        return fuzzy_objective(X, centers, FUZZIFIER, np.ones(len(X)))
    return float(nearest(X, centers)[1].sum())


def settle(X: FloatArray, centers: FloatArray, *, soft: bool) -> FloatArray:
    """Pooled steps of k-means or fuzzy c-means, until the centres rest."""
    pooled = make("llf-fcm" if soft else "llf-cm", len(centers), init=centers)
    done: FloatArray = run(Plan(pooled), LocalChannel({"all": X}), Schema(X.shape[1])).model
    return done


def _outcome(X: FloatArray, centers: FloatArray, soft: bool, rounds: int, sent: float) -> Outcome:
    settled = objective(X, settle(X, centers, soft=soft), soft=soft)
    return Outcome(objective(X, centers, soft=soft), settled, rounds, sent)


def run_rows(
    algorithm: AnyAlgorithm, case: Case, seed: int, sampling: ClientSampling = EVERYBODY
) -> Outcome:
    """One run over split rows."""
    count, channel, schema = _Count(), case.channel(seed), Schema(case.X.shape[1])
    found = cluster(algorithm, channel, schema, sampling=sampling, seed=seed, runner=count)
    sent = fmean(found.sent.values())
    return _outcome(case.X, found.centers, algorithm.soft, count.rounds, sent)


def run_columns(algorithm: Any, case: Case, seed: int) -> Outcome:
    """One run over split columns; each of two owners has every second column."""
    count, n = _Count(), len(case.X)
    channel = LocalChannel({f"o{i}": Data.of(case.X[:, i::2]) for i in range(2)})
    schema = Schema(case.X.shape[1], n_records=n)
    found = cluster_columns(algorithm, channel, schema, seed=seed, runner=count)
    centers = found.algorithm.local_centers(found.last, case.X)
    sent = fmean(found.sent.values())
    return _outcome(case.X, centers, algorithm.soft, count.rounds, sent)


def run_pooled(case: Case, seed: int, *, soft: bool) -> Outcome:
    """One run over all rows together, from scikit-learn's k-means++."""
    start = kmeans_plusplus(case.X, case.n_clusters, random_state=seed)[0]
    value = objective(case.X, settle(case.X, start, soft=soft), soft=soft)
    return Outcome(value, value)


def search(case: Case, *, soft: bool) -> float:
    """The best objective that pooled runs from many starts find."""
    k_means = KMeans(case.n_clusters, n_init=STARTS, random_state=0).fit(case.X)
    if not soft:
        return float(k_means.inertia_)
    settled = settle(case.X, k_means.cluster_centers_, soft=True)
    tries = [run_pooled(case, seed, soft=True).objective for seed in range(STARTS)]
    return min(objective(case.X, settled, soft=True), *tries)


def measure(case: Case, seeds: Sequence[int]) -> Mapping[str, list[Outcome]]:
    """All algorithms on one set; objectives are divided by the best that is known."""
    found: dict[bool, Outcomes] = {False: defaultdict(list), True: defaultdict(list)}
    measures: tuple[tuple[Iterable[str], Callable[..., Outcome]], ...] = (
        (ALGORITHMS, run_rows),
        (VERTICAL, run_columns),
    )
    for seed in seeds:
        for soft in (False, True):
            found[soft][ONE_START[soft]].append(run_pooled(case, seed, soft=soft))
        for keys, measure_one in measures:
            for key in keys:
                algorithm = make(key, case.n_clusters)
                if algorithm.traits.categories:
                    continue  # it has another objective, or does what LLF-CM does for numbers
                found[algorithm.soft][key].append(measure_one(algorithm, case, seed))
    ratios: Outcomes = {}
    for soft, outcomes in found.items():
        seen = (value for runs in outcomes.values() for one in runs for value in _values(one))
        best = min(search(case, soft=soft), *seen)
        for key, runs in outcomes.items():
            ratios[key] = [
                Outcome(one.objective / best, one.settled / best, one.rounds, one.sent)
                for one in runs
            ]
    return ratios


def _values(one: Outcome) -> tuple[float, float]:
    return one.objective, one.settled


def keys_of(*, soft: bool) -> list[str]:
    """The lines of a table: the pooled comparison, split rows, split columns."""
    registered = {**ALGORITHMS, **VERTICAL}
    kinds = {k: kind.traits for k, kind in registered.items() if not kind.traits.categories}
    return [ONE_START[soft], *(k for k, traits in kinds.items() if traits.soft == soft)]


def summary(results: Mapping[str, Mapping[str, list[Outcome]]], *, soft: bool) -> list[str]:
    """A line for each algorithm, over all sets."""
    headings = ("algorithm", "mean", "deviation", "worst", "after pooled steps", "rounds")
    lines = [row(*headings, "bytes per client", "runs"), row(*["---"] * 8)]
    for key in keys_of(soft=soft):
        by_set = [found[key] for found in results.values()]
        runs = [one for outcomes in by_set for one in outcomes]
        deviations = [_deviation([one.objective for one in outcomes]) for outcomes in by_set]
        pooled = key in ONE_START.values()
        cells = (
            _ratio(one.objective for one in runs),
            f"{fmean(deviations):.3f}",
            f"{max(one.objective for one in runs):.3f}",
            _ratio(one.settled for one in runs),
            "" if pooled else f"{fmean(one.rounds for one in runs):.0f}",
            "" if pooled else f"{fmean(one.sent for one in runs):,.0f}",
        )
        lines.append(row(_name(key), *cells, len(runs)))
    return lines


def by_set(results: Mapping[str, Mapping[str, list[Outcome]]], *, soft: bool) -> list[str]:
    """The mean and the worst ratio of each algorithm on each set."""
    lines = [row("algorithm", *results), row(*["---"] * (len(results) + 1))]
    for key in keys_of(soft=soft):
        ratios = [[one.objective for one in found[key]] for found in results.values()]
        lines.append(row(_name(key), *(f"{_ratio(r)} / {max(r):.3f}" for r in ratios)))
    return lines


def _name(key: str) -> str:
    return key if key in ONE_START.values() else f"`{key}`"


def _ratio(values: Iterable[float]) -> str:
    return f"{fmean(values):.3f}"


def _deviation(values: Sequence[float]) -> float:
    return stdev(values) if len(values) > 1 else 0.0


def same_start(measured: Sequence[Case], seeds: Sequence[int]) -> list[str]:
    """k-means in many rounds, all from the initial centres of the default algorithm."""
    keys = [k for k in keys_of(soft=False) if k in ALGORITHMS and make(k, 2).has_parameter("init")]
    cells: dict[str, list[str]] = {key: [] for key in keys}
    for case in measured:
        values: dict[str, list[float]] = defaultdict(list)
        k, schema = case.n_clusters, Schema(case.X.shape[1])
        for seed in seeds:
            seeded, _ = run_seeding(make("llf-cm", k), case.channel(seed), schema, seed=seed)
            for key in keys:
                algorithm = make(key, k, init=seeded.parameter("init"))
                values[key].append(run_rows(algorithm, case, seed).objective)
        best = min(search(case, soft=False), *(min(found) for found in values.values()))
        for key, found in values.items():
            cells[key].append(f"{_ratio(v / best for v in found)} / {max(found) / best:.3f}")
    lines = [row("algorithm", *(c.name for c in measured)), row(*["---"] * (len(measured) + 1))]
    return [*lines, *(row(_name(key), *shown) for key, shown in cells.items())]


def sampled(seeds: Sequence[int]) -> list[str]:
    """k-means in many rounds, with a quarter of 20 clients in each."""
    case = uneven_blobs(20)
    best = search(case, soft=False)
    lines = [row("algorithm", "mean", "worst", "rounds", "runs"), row(*["---"] * 5)]
    compared = {f"`{key}`": make(key, case.n_clusters) for key in ("llf-cm", "fkm", "dwf", "ewf")}
    for key in ("dwf", "ewf"):
        slow = make(key, case.n_clusters, preset="reference", max_rounds=300)
        compared[f"`{key}`, `reference`"] = slow
    for name, algorithm in compared.items():
        runs = [run_rows(algorithm, case, seed, A_QUARTER) for seed in seeds]
        ratios = [one.objective / best for one in runs]
        rounds = fmean(one.rounds for one in runs)
        lines.append(row(name, _ratio(ratios), f"{max(ratios):.3f}", f"{rounds:.0f}", len(runs)))
    return lines


def sets(measured: Sequence[Case]) -> list[str]:
    """The sets, with their sizes and splits."""
    lines = [row("set", "rows", "columns", "clusters", "clients", "split"), row(*["---"] * 6)]
    for case in measured:
        n, F = case.X.shape
        lines.append(row(case.name, n, F, case.n_clusters, case.n_clients, case.split))
    return lines


def tables(measured: Sequence[Case], seeds: Sequence[int]) -> list[str]:
    """Measure, and return all tables."""
    results = {}
    for case in measured:
        print(f"measuring: {case.name}", file=sys.stderr, flush=True)
        results[case.name] = measure(case, seeds)
    lines = []
    for soft in (False, True):
        lines += [*summary(results, soft=soft), "", *by_set(results, soft=soft), ""]
    heavy_tailed = [case for case in measured if case.name in HEAVY_TAILED]
    lines += [*same_start(heavy_tailed, seeds), "", *sampled(seeds), ""]
    return [*lines, *sets(measured)]


if __name__ == "__main__":
    os.environ["FEDCLUST_NUM_THREADS"] = (
        "1"  # the steps are small: threads cost more than they save
    )
    with threadpool_limits(1):
        wanted = range(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
        print("\n".join(tables(list(cases()), wanted)))
