"""What the summary of one run gives: starts for every k, the choice of k, and shapes.

``python -m benchmarks.summary [starts | given | choice | shapes | noise]`` prints the tables of
docs/summary.md; public data sets that are not on this machine are skipped.
"""

import sys
from collections import Counter
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_circles, make_moons
from sklearn.metrics import adjusted_rand_score

from fedclust.algorithms import make
from fedclust.channels import LocalChannel
from fedclust.cli.tools.budget import blobs
from fedclust.clustering.auto import choose_noisy
from fedclust.clustering.rows import cluster
from fedclust.clustering.summary import (
    DataSummary,
    SummaryRun,
    choose_from,
    find_centers,
    find_shapes,
    publish,
)
from fedclust.core import DataError, Schema
from fedclust.datasets import load
from fedclust.kernels import inertia, nearest
from fedclust.tiers import tier_of
from fedclust.typing import FloatArray, IntArray

from . import choice, start_cases
from .timing import row

KS = range(2, 21)
_LARGE = 5_000  # rows of a set, at most, on which starts are compared
_DRAWN = 0.8  # of the rows of a set, for a seed
_CLIENTS = 3
_MIN_COUNT = 5  # the default of a study


def with_bounds(X: FloatArray) -> Schema:
    """Bounds that are a tenth wider than the rows, on both sides."""
    wide = np.maximum(X.max(axis=0) - X.min(axis=0), 1e-9)
    return Schema(X.shape[1], low=X.min(axis=0) - 0.1 * wide, high=X.max(axis=0) + 0.1 * wide)


def deal(X: FloatArray) -> LocalChannel:
    """Three clients, with rows in turn."""
    return LocalChannel({f"c{i}": X[i::_CLIENTS] for i in range(_CLIENTS)})


def summarise(X: FloatArray, n_micro: int = 80) -> DataSummary:
    """The summary of rows that three clients have, under masks."""
    schema, secure = with_bounds(X), tier_of("secure")
    return SummaryRun(secure.channel(deal(X)), schema, secure).learn(n_micro)


class Start(NamedTuple):
    """Inertia by that of the best of ten k-means++ runs, for each k."""

    at_once: FloatArray
    later: FloatArray  # after five rounds
    queries: int


def start_sets() -> Iterator[tuple[str, FloatArray]]:
    """One case of each data set of a thousand rows or more, and blobs."""
    seen = set[str]()
    for case in start_cases.all_cases():
        name = case if isinstance(case, str) else case.name.split(",")[0]
        if isinstance(case, str) or name in seen or len(case.X) < 1_000:
            continue
        seen.add(name)
        yield name, np.ascontiguousarray(case.X, dtype=float)
    for name in ("xclara", "rice"):
        try:
            X = load(name, download=False).X
        except DataError:
            continue
        yield name, (X - X.mean(axis=0)) / X.std(axis=0)
    for F, k in ((2, 5), (2, 8), (5, 4), (5, 10), (10, 6), (10, 12), (16, 10)):
        rng = np.random.default_rng(F * k)
        centers = rng.uniform(-6, 6, (k, F))
        yield f"{k} blobs, {F} columns", rng.normal(centers[rng.integers(0, k, 4_000)], 1.0)


def compare_starts(X: FloatArray, seed: int) -> Start:
    """Starts for every k, on rows that are drawn from a set."""
    rng = np.random.default_rng(seed)
    n = min(_LARGE, int(_DRAWN * len(X)))
    X = X[rng.choice(len(X), n, replace=False)]
    summary = summarise(X)
    ratios = []
    for k in KS:
        best = KMeans(k, n_init=10, random_state=seed).fit(X).inertia_
        found = find_centers(summary, k)
        later = KMeans(k, init=found, n_init=1, max_iter=5).fit(X).inertia_
        ratios.append((inertia(X, found) / best, later / best))
    at_once, after = np.array(ratios).T
    return Start(at_once, after, summary.queries)


def start_table(seeds: int = 20) -> list[str]:
    """The table of starts: mean over k and seeds, and the largest of all."""
    lines = [row("data", "no further round: mean (largest)", "after 5 rounds", "queries")]
    lines.append(row(*["---"] * 4))
    for name, X in start_sets():
        found = [compare_starts(X, seed) for seed in range(seeds)]
        both = [np.array([one[i] for one in found]) for i in (0, 1)]
        shown = [f"{values.mean():.3f} ({values.max():.3f})" for values in both]
        lines.append(row(name, *shown, max(one.queries for one in found)))
        print(lines[-1], file=sys.stderr, flush=True)
    return lines


def given_table(seeds: int = 5) -> list[str]:
    """Inertia of whole fits with a given k under masks, by the best known, and their rounds."""
    lines = [row("data", "rows x features, k", "from cells", "from a summary", "rounds of each")]
    lines.append(row(*["---"] * 5))
    seen = set[tuple[str, str]]()
    for case in start_cases.all_cases():
        if isinstance(case, str) or (case.name.split(",")[0], case.shape) in seen:
            continue
        seen.add((case.name.split(",")[0], case.shape))
        X, k = np.ascontiguousarray(case.X, dtype=float), case.n_clusters
        schema = with_bounds(X)
        best = [KMeans(k, n_init=20, random_state=0).fit(X).inertia_]
        found, rounds = {}, {}
        for init, n in (("cells", seeds), ("summary", 1)):  # a summary depends on no seed
            fits = [
                cluster(make("llf-cm", k), deal(X), schema, init=init, privacy="secure", seed=seed)
                for seed in range(n)
            ]
            found[init] = np.array([fit.inertia for fit in fits])
            rounds[init] = np.mean([fit.start_rounds + fit.run.n_rounds for fit in fits])
            best.append(found[init].min())
        shown = [f"{(found[init] / min(best)).mean():.4f}" for init in found]
        each = f"{rounds['cells']:.0f}, {rounds['summary']:.0f}"
        lines.append(row(case.name.split(",")[0], case.shape, *shown, each))
        print(lines[-1], file=sys.stderr, flush=True)
    return lines


def choice_table() -> list[str]:
    """How often k is right, and how often clouds without clusters are called weak."""
    right, weak, runs = Counter[str](), Counter[str](), Counter[str]()
    most = 0
    for case in (*choice.with_clusters(), *choice.without_clusters(), *skewed_clouds()):
        summary = summarise(np.ascontiguousarray(case.X, dtype=float))
        found = choose_from(summary, range(2, choice.TOP + 1))
        most, n = max(most, summary.queries), len(case.splits)  # any split gives the same bits
        runs[case.line] += n
        right[case.line] += n * (found.recommended == case.n_clusters)
        weak[case.line] += n * found.weak
    lines = [row("data", "runs", "right", "called weak"), row(*["---"] * 4)]
    for line, n in runs.items():
        lines.append(row(line, n, "" if line.startswith("one ") else right[line], weak[line]))
    structured = [line for line in runs if not line.startswith("one ")]
    clouds = [line for line in runs if line.startswith("one ")]
    for title, of in (("all with clusters", structured), ("all clouds", clouds)):
        totals = [sum(counter[line] for line in of) for counter in (runs, right, weak)]
        lines.append(row(f"**{title}**", *totals))
    return [*lines, "", f"At most {most} queries."]


def skewed_clouds() -> Iterator[choice.Case]:
    """One cloud whose columns have long tails on one side."""
    for F, draw in product((1, 2, 5, 10, 20), range(5)):
        rng = np.random.default_rng(2000 + 10 * F + draw)
        labels = np.zeros(1500, dtype=int)
        for name, X in (
            ("one exponential cloud", rng.exponential(size=(1500, F))),
            ("one log-normal cloud", rng.lognormal(0.0, 0.5, (1500, F))),
        ):
            yield choice.Case(name, X, labels, 1, choice.SPLITS[:1])


def shaped(seed: int) -> Iterator[tuple[str, FloatArray, IntArray]]:
    """Sets whose clusters are not round: connected, dense, and apart from each other."""
    rng = np.random.default_rng(seed)
    yield "moons", *make_moons(2_000, noise=0.08, random_state=seed)
    yield "moons, 1,000 rows", *make_moons(1_000, noise=0.05, random_state=seed)
    yield "moons, 1,600 and 400 rows", *make_moons((1_600, 400), noise=0.06, random_state=seed)
    yield "circles", *make_circles(2_000, noise=0.05, factor=0.5, random_state=seed)
    yield "two spirals", *_spirals(2, 1_000, rng)
    yield "three spirals", *_spirals(3, 700, rng)
    yield "two rings in 3-D", *_rings(1_500, rng)
    yield "discs of seven sizes", *_discs(rng)


def _spirals(n: int, rows: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
    y = np.repeat(np.arange(n), rows)
    radius = 2 * np.pi * np.sqrt(rng.uniform(0.05, 1, n * rows))
    angle = radius + 2 * np.pi * y / n
    X = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return X + rng.normal(0, 0.15, X.shape), y


def _rings(rows: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
    """Two links of a chain."""
    angle, none = rng.uniform(0, 2 * np.pi, 2 * rows), np.zeros(rows)
    across, up = np.cos(angle), np.sin(angle)
    first = np.stack([across[:rows], up[:rows], none], axis=1)
    second = np.stack([1 + across[rows:], none, up[rows:]], axis=1)
    X = np.concatenate([first, second]) + rng.normal(0, 0.1, (2 * rows, 3))
    return X, np.repeat([0, 1], rows)


def _discs(rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
    places = [(0, 0), (12, 0), (25, 5), (25, -8), (2, 12), (12, 14), (40, 0)]
    radius = np.array([3, 4, 2.2, 3.6, 1.4, 1.3, 2.2])
    y = np.repeat(np.arange(7), [680, 1080, 400, 920, 180, 140, 520])
    angle, out = rng.uniform(0, 2 * np.pi, len(y)), np.sqrt(rng.uniform(0, 1, len(y)))
    around = np.stack([np.cos(angle), np.sin(angle)], axis=1) * (radius[y] * out)[:, None]
    return np.array(places, dtype=float)[y] + around, y


def shape_table(seeds: int = 20) -> list[str]:
    """Agreement of published shapes with the classes: the smallest, and how often it is 0.95."""
    found: dict[tuple[str, int], list[float]] = {}
    for seed in range(seeds):
        for name, X, y in shaped(seed):
            for n_micro in (60, 80, 100):
                summary = publish(summarise(np.ascontiguousarray(X), n_micro), _MIN_COUNT)
                labels = find_shapes(summary)[nearest(X, summary.centers)[0]]
                found.setdefault((name, n_micro), []).append(adjusted_rand_score(y, labels))
    lines = [row("data", "micro-clusters", "smallest ARI", "mean", "at least 0.95")]
    lines.append(row(*["---"] * 5))
    for (name, n_micro), values in found.items():
        good = sum(value >= 0.95 for value in values)
        shown = f"{min(values):.3f}", f"{np.mean(values):.3f}", f"{good} of {len(values)}"
        lines.append(row(name, n_micro, *shown))
    return lines


def noise_table(seeds: int = 10) -> list[str]:
    """The number of clusters and the agreement under epsilon = 1, over seeds."""
    lines = [row("tier", "features", "rows, clusters", "right k", "smallest ARI", "mean ARI")]
    lines.append(row(*["---"] * 6))
    for name, n, k in (("secure+dp", 20_000, 15), ("dp", 20_000, 15), ("secure+dp", 5_000, 8)):
        for F in (2, 5):
            found = [_choose_noisy(name, n, k, F, seed) for seed in range(seeds)]
            right = sum(chosen == k for chosen, _ in found)
            agreement = [ari for _, ari in found]
            shown = f"{min(agreement):.3f}", f"{np.mean(agreement):.3f}"
            lines.append(row(name, F, f"{n:,}, {k}", f"{right} of {seeds}", *shown))
    return lines


def _choose_noisy(name: str, n: int, k: int, F: int, seed: int) -> tuple[int, float]:
    """The number that is chosen, and the adjusted Rand index of its clusters; ten clients."""
    rng = np.random.default_rng(seed)
    X, y = blobs(n, k, F, rng)
    owner = rng.integers(0, 10, n)
    clients = LocalChannel({f"c{i}": X[owner == i] for i in range(10)})
    schema, tier = Schema(F, low=np.zeros(F), high=np.ones(F)), tier_of(name)
    found, chosen = choose_noisy(
        make("llf-cm", 2), tier.channel(clients), schema, range(2, 21), tier=tier, seed=seed
    )
    return chosen.recommended, float(adjusted_rand_score(y, nearest(X, found.centers)[0]))


TABLES = {
    "starts": start_table,
    "given": given_table,
    "choice": choice_table,
    "shapes": shape_table,
    "noise": noise_table,
}

if __name__ == "__main__":
    for wanted in sys.argv[1:] or TABLES:
        print("\n".join([*TABLES[wanted](), ""]))
