"""How close one run from each start comes to the best known solution, and what a start costs.

``python -m benchmarks.starts`` prints the tables of docs/starts.md, and ``--write`` puts them into
that page. Words select the data sets whose names contain one of them. Public data sets that are not
on this machine are skipped.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from fedclust.algorithms import make
from fedclust.channels import LocalChannel
from fedclust.clustering.rows import cluster
from fedclust.core import Data, EmptyRound, Plan, Run, Schema, run
from fedclust.kernels import fuzzy_c_means, kmeans_plusplus
from fedclust.kernels.search import fuzzy_objective
from fedclust.typing import FloatArray

from .start_cases import Case, all_cases
from .timing import row, verdict

PAGE = Path(__file__).parent.parent / "docs" / "starts.md"
MARK = "<!-- python -m benchmarks.starts --write replaces all that follows -->"

SEEDS = 20
PEERS = 50  # runs of scikit-learn: each is one with n_init=1, and the best is one with n_init=50
MORE_PEERS = 200  # instead, on sets of at most FEW_ROWS rows
FEW_ROWS = 1_000
OTHERS = ("careful", "one-shot", "fkm", "cells")
MEAN, WORST = 1.01, 1.05
PARTS = ("start", "")  # purposes of plans: the start, and the clustering itself
STOPPED = 1e-4  # relative difference between runs that only stopped at different moments

FUZZY_SEEDS = 10
FUZZY_ROWS = 6_000
FUZZY_PEERS = 10  # runs from random rows, and as many from k-means++
FUZZIFIERS = (1.5, 2.0)


@dataclass
class Meter:
    """Run plans, and count the rounds and bytes of the start and of the clustering."""

    rounds: dict[str, float] = field(default_factory=dict)
    up: dict[str, float] = field(default_factory=dict)  # bytes of one client, on average
    down: dict[str, float] = field(default_factory=dict)

    def __call__(self, plan: Plan, channel: Any, schema: Schema, **how: Any) -> Run:
        done, part = run(plan, channel, schema, **how), plan.purpose
        self.rounds[part] = self.rounds.get(part, 0) + done.n_rounds
        for summary in done.history:
            share = 1 / summary.n_clients
            self.up[part] = self.up.get(part, 0) + share * summary.bytes_up
            self.down[part] = self.down.get(part, 0) + share * summary.bytes_down
        return done


def clients_of(case: Case) -> LocalChannel:
    """A channel to the clients of a case."""
    rows = {f"c{o:04d}": Data.of(case.X[case.owner == o]) for o in np.unique(case.owner)}
    return LocalChannel(rows)


def boxed(case: Case) -> Schema:
    """The bounds of the data, which only `cells` uses."""
    return Schema(case.X.shape[1], case.X.min(axis=0), case.X.max(axis=0))


def inertias(case: Case, init: str, meter: Meter) -> list[float]:
    """The inertia of a run from each seed; empty if no client can contribute to the start."""
    clients, schema = clients_of(case), boxed(case)
    chosen = make("llf-cm", case.n_clusters)
    try:
        return [
            cluster(chosen, clients, schema, init=init, seed=seed, runner=meter).inertia
            for seed in range(SEEDS)
        ]
    except EmptyRound:
        return []


def hard_line(case: Case) -> str:
    """A line of the table of k-means."""
    k, meter = case.n_clusters, Meter()
    found = inertias(case, "auto", meter)
    others = [inertias(case, init, Meter()) for init in OTHERS]
    peers = [
        float(KMeans(k, n_init=1, random_state=seed, tol=1e-6).fit(case.X).inertia_)
        for seed in range(MORE_PEERS if len(case.X) <= FEW_ROWS else PEERS)
    ]
    best = min(value for values in (found, peers, *others) for value in values)
    mean, worst, peer = _over(best, found, peers)
    bars = (
        f"{mean:.4f} ({verdict(mean, MEAN)})",
        f"{worst:.3f} ({verdict(worst, WORST)})",
        f"{peer:.3f} ({'met' if mean <= peer * (1 + STOPPED) else '**missed**'})",
    )
    means = (f"{np.mean(values) / best:.3f}" if values else "none" for values in others)
    return row(case.name, case.shape, *bars, *means, *_costs(meter))


def _over(best: float, found: list[float], peers: list[float]) -> tuple[float, float, float]:
    """Mean and worst of what was found, and the mean of the peers, over the best."""
    return float(np.mean(found)) / best, max(found) / best, float(np.mean(peers)) / best


def _costs(meter: Meter) -> Iterator[str]:
    """Rounds, and kB up and down for each client: of the start, and of the clustering."""
    yield " + ".join(f"{meter.rounds.get(part, 0) / SEEDS:.0f}" for part in PARTS)
    for counts in (meter.up, meter.down):
        yield " + ".join(f"{counts.get(part, 0) / 1000 / SEEDS:.1f}" for part in PARTS)


def hard_table(cases: list[Case]) -> Iterator[str]:
    """The table of k-means."""
    measured = ("default, mean", "default, worst", "scikit-learn, `n_init=1`, mean")
    others = (f"`{name}`" for name in OTHERS)
    costs = ("rounds", "kB from a client", "kB to a client")
    yield row("data", "rows x features, k", *measured, *others, *costs)
    yield row(*["---"] * 12)
    yield from map(hard_line, cases)


def fuzzy_line(case: Case, m: float) -> str:
    """A line of the table of fuzzy c-means."""
    case, k, rng = _fewer(case), case.n_clusters, np.random.default_rng(0)
    one = np.ones(len(case.X))

    def value(centers: FloatArray) -> float:
        return fuzzy_objective(case.X, centers, m, one)

    starts = [case.X[rng.choice(len(case.X), k, replace=False)] for _ in range(FUZZY_PEERS)]
    starts += [kmeans_plusplus(case.X, k, rng) for _ in range(FUZZY_PEERS)]
    peers = [value(fuzzy_c_means(case.X, s, m, steps=300, tol=1e-6)[0]) for s in starts]
    clients, schema = clients_of(case), Schema(case.X.shape[1])
    chosen = make("llf-fcm", k, fuzzifier=m)
    found = [
        value(cluster(chosen, clients, schema, seed=seed).centers) for seed in range(FUZZY_SEEDS)
    ]
    best = min(*peers, *found)
    mean, worst, peer = _over(best, found, peers)
    measured = (f"{mean:.4f} ({verdict(mean, MEAN)})", f"{worst:.3f}", f"{peer:.3f}")
    return row(case.name, case.shape, m, *measured)


def _fewer(case: Case) -> Case:
    """The case with at most as many rows as the runs of fuzzy c-means can afford."""
    if len(case.X) <= FUZZY_ROWS:
        return case
    rows = np.random.default_rng(0).choice(len(case.X), FUZZY_ROWS, replace=False)
    return replace(case, X=np.ascontiguousarray(case.X[rows]), owner=case.owner[rows])


def fuzzy_table(cases: list[Case]) -> Iterator[str]:
    """The table of fuzzy c-means."""
    headings = ("default, mean", "default, worst", "from rows or k-means++, mean")
    yield row("data", "rows x features, k", "fuzzifier", *headings)
    yield row(*["---"] * 6)
    for case in cases:
        if case.fuzzy:
            yield from (fuzzy_line(case, m) for m in FUZZIFIERS)


def tables(words: list[str]) -> Iterator[str]:
    """All lines, in the order in which they are measured."""
    cases = []
    for case in all_cases():
        if isinstance(case, str):
            yield from (case, "")
        elif not words or any(word in case.name for word in words):
            cases.append(case)
    yield f"### k-means: inertia over the best known, {SEEDS} seeds, one start each"
    yield ""
    yield from hard_table(cases)
    yield ""
    yield f"### Fuzzy c-means: objective over the best known, {FUZZY_SEEDS} seeds, one start each"
    yield ""
    yield from fuzzy_table(cases)


def main() -> None:
    """Print the tables, and write them into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*", help="data sets whose names contain one of these")
    parser.add_argument("--write", action="store_true", help=f"write them into {PAGE.name}")
    asked = parser.parse_args()
    lines = []
    for line in tables(asked.words):
        print(line, flush=True)
        lines.append(line)
    if asked.write:
        text = PAGE.read_text().partition(MARK)[0]
        PAGE.write_text("\n".join([text + MARK, "", *lines, ""]))


if __name__ == "__main__":
    main()
