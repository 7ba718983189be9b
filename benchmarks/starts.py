"""How close one run from each start comes to the best known solution, and what a start costs.

``python -m benchmarks.starts`` prints the tables of docs/starts.md, and ``--write`` puts them into
that page. ``--table default`` measures one of them. Words select the data sets whose names contain
one of them. Public data sets that are not on this machine are skipped.
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
MARK = "<!-- python -m benchmarks.starts --table {} --write replaces what follows -->"

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


def inertias(case: Case, init: str, meter: Meter, seeds: int) -> list[float]:
    """The inertia of a run from each seed; empty if no client can contribute to the start."""
    clients, schema = clients_of(case), boxed(case)
    chosen = make("llf-cm", case.n_clusters)
    try:
        return [
            cluster(chosen, clients, schema, init=init, seed=seed, runner=meter).inertia
            for seed in range(seeds)
        ]
    except EmptyRound:
        return []


def peers_of(case: Case) -> list[float]:
    """The inertia of single runs of scikit-learn."""
    k, n = case.n_clusters, MORE_PEERS if len(case.X) <= FEW_ROWS else PEERS
    return [
        float(KMeans(k, n_init=1, random_state=seed, tol=1e-6).fit(case.X).inertia_)
        for seed in range(n)
    ]


def default_line(case: Case, seeds: int) -> str:
    """A line of the table of the default start."""
    meter = Meter()
    found, peers = inertias(case, "auto", meter, seeds), peers_of(case)
    mean, worst, peer = _over(min(*found, *peers), found, peers)
    bars = (
        f"{mean:.4f} ({verdict(mean, MEAN)})",
        f"{worst:.3f} ({verdict(worst, WORST)})",
        f"{peer:.3f} ({'met' if mean <= peer * (1 + STOPPED) else '**missed**'})",
    )
    return row(case.name, case.shape, *bars, *_costs(meter, seeds))


def others_line(case: Case, seeds: int) -> str:
    """A line of the table of other seedings."""
    others = [inertias(case, init, Meter(), seeds) for init in OTHERS]
    known = [*inertias(case, "auto", Meter(), seeds), *peers_of(case)]
    best = min(value for values in (known, *others) for value in values)
    means = (f"{np.mean(values) / best:.3f}" if values else "none" for values in others)
    return row(case.name, case.shape, *means)


def _over(best: float, found: list[float], peers: list[float]) -> tuple[float, float, float]:
    """Mean and worst of what was found, and the mean of the peers, over the best."""
    return float(np.mean(found)) / best, max(found) / best, float(np.mean(peers)) / best


def _costs(meter: Meter, seeds: int) -> Iterator[str]:
    """Rounds, and kB up and down for each client: of the start, and of the clustering."""
    yield " + ".join(f"{meter.rounds.get(part, 0) / seeds:.0f}" for part in PARTS)
    for counts in (meter.up, meter.down):
        yield " + ".join(f"{counts.get(part, 0) / 1000 / seeds:.1f}" for part in PARTS)


def default_table(cases: list[Case], seeds: int) -> Iterator[str]:
    """The table of the default start."""
    yield f"### k-means: inertia over the best known, {seeds} seeds, one start each"
    yield ""
    measured = ("default, mean", "default, worst", "scikit-learn, `n_init=1`, mean")
    costs = ("rounds", "kB from a client", "kB to a client")
    yield row("data", "rows x features, k", *measured, *costs)
    yield row(*["---"] * 8)
    yield from (default_line(case, seeds) for case in cases)


def others_table(cases: list[Case], seeds: int) -> Iterator[str]:
    """The table of other seedings."""
    yield f"### Other seedings: mean inertia over the best known, {seeds} seeds, one start each"
    yield ""
    yield row("data", "rows x features, k", *(f"`{name}`" for name in OTHERS))
    yield row(*["---"] * 6)
    yield from (others_line(case, seeds) for case in cases)


def fuzzy_line(case: Case, m: float, n_seeds: int) -> str:
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
    found = [value(cluster(chosen, clients, schema, seed=seed).centers) for seed in range(n_seeds)]
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


def fuzzy_table(cases: list[Case], seeds: int) -> Iterator[str]:
    """The table of fuzzy c-means."""
    n = min(seeds, FUZZY_SEEDS)
    yield f"### Fuzzy c-means: objective over the best known, {n} seeds, one start each"
    yield ""
    headings = ("default, mean", "default, worst", "from rows or k-means++, mean")
    yield row("data", "rows x features, k", "fuzzifier", *headings)
    yield row(*["---"] * 6)
    for case in cases:
        if case.fuzzy:
            yield from (fuzzy_line(case, m, n) for m in FUZZIFIERS)


TABLES = {"default": default_table, "others": others_table, "fuzzy": fuzzy_table}


def choose_cases(words: list[str]) -> Iterator[Case]:
    """The cases whose names contain one of the words; all without words."""
    for case in all_cases():
        if isinstance(case, str):
            print(case, "\n")
        elif not words or any(word in case.name for word in words):
            yield case


def write(name: str, lines: list[str]) -> None:
    """Put a table into the page, between its mark and the next one."""
    before, mark, after = PAGE.read_text().partition(MARK.format(name))
    _, following, rest = after.partition("\n<!-- ")
    PAGE.write_text(before + "\n".join([mark, "", *lines, ""]) + following + rest)


def main() -> None:
    """Print the tables, and write them into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*", help="data sets whose names contain one of these")
    parser.add_argument("--table", choices=TABLES, action="append", help="by default all")
    parser.add_argument("--write", action="store_true", help=f"write them into {PAGE.name}")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="runs of each start")
    asked = parser.parse_args()
    cases = list(choose_cases(asked.words))
    for name in asked.table or TABLES:
        lines = []
        for line in TABLES[name](cases, asked.seeds):
            print(line, flush=True)
            lines.append(line)
        print()
        if asked.write:
            write(name, lines)


if __name__ == "__main__":
    main()
