"""Four lying clients of twenty: agreement with the run in which nobody lies, by kind of lie.

``python -m privacy.robust`` in the folder ``tests`` prints the first table of docs/privacy.md, over
ten seeds; ``python -m privacy.robust 10`` uses ten others, from 10 on. ``python -m privacy.robust
later`` prints the second table, without means: lies and data that were not used for developing
the method, over three seeds. ``python -m privacy.robust rows`` prints the third: liars that follow
the protocol over false rows, on uneven splits of digits, over five seeds. All runs start from the
default start, which the clients lie about as well.
"""

import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from fedclust.algorithms import make
from fedclust.channels import LocalChannel
from fedclust.clustering.rows import cluster
from fedclust.core import Channel, FedclustError, Schema
from fedclust.datasets import dirichlet, iid, load
from fedclust.kernels import nearest
from fedclust.typing import FloatArray, IntArray

from .false_rows import FALSE_ROWS
from .later_lies import LATER
from .lies import ABSENT, LIES, Colluding, Lie

DATA, SPLITS, BARS = ("15 round clusters", "digits"), ("iid", "dirichlet"), (0.90, 0.80)
LATER_DATA = ("six uneven clusters", "pendigits")
N_CLIENTS, N_LIARS, ALPHA, ROUNDS = 20, 4, 0.3, 50


def table(name: str, seed: int = 0) -> tuple[FloatArray, Any, int]:
    """Rows in the unit cube, their true clusters, and how many there are."""
    if name == "digits":
        found = load_digits()
        return found.data / 16, found.target, 10
    if name == "pendigits":
        pens = load(name)
        chosen = np.random.default_rng(seed).permutation(len(pens.X))[:3000]
        return pens.X[chosen] / 100, np.asarray(pens.y)[chosen], 10
    if name == "six uneven clusters":
        y = np.repeat(np.arange(6), [1200, 600, 400, 300, 300, 200])
        rng = np.random.default_rng(seed)
        spread = rng.uniform(0.03, 0.08, (6, 1))
        return np.clip(rng.normal(rng.uniform(0.2, 0.8, (6, 8))[y], spread[y]), 0, 1), y, 6
    rng = np.random.default_rng(seed)
    centers = rng.uniform(0.1, 0.9, (1, 2))
    while len(centers) < 15:
        drawn = rng.uniform(0.08, 0.92, (30, 2))
        apart = np.linalg.norm(drawn[:, None] - centers, axis=2).min(axis=1)
        centers = np.vstack([centers, drawn[apart.argmax()]])
    y = rng.integers(0, 15, 5000)
    return np.clip(rng.normal(centers[y], 0.025), 0, 1), y, 15


@dataclass(frozen=True, eq=False)
class Federation:
    """Rows of twenty clients, the four that lie, and the clusters without any lie."""

    rows: FloatArray
    k: int
    data: dict[str, FloatArray]
    liars: tuple[str, ...]
    seed: int

    @classmethod
    def of(cls, name: str, split: str, seed: int) -> "Federation":
        """The rows of a data set, split in one of two ways."""
        X, y, k = table(name)
        n = N_CLIENTS
        owner = iid(len(X), n, seed) if split == "iid" else dirichlet(y, n, ALPHA, seed)
        data = {f"c{m:02d}": X[owner == m] for m in range(n)}
        liars = np.random.default_rng(seed).choice(n, N_LIARS, replace=False)
        return cls(X, k, data, tuple(f"c{m:02d}" for m in liars), seed)

    def labels(self, key: str, lie: Lie | None) -> IntArray:
        """The clusters that an algorithm finds from its default start."""
        channel: Channel = LocalChannel(self.data)
        if lie is ABSENT:
            channel = LocalChannel({c: X for c, X in self.data.items() if c not in self.liars})
        elif lie is not None:
            channel = Colluding(self.data, self.liars, lie)
        algorithm, schema = make(key, self.k, max_rounds=ROUNDS), Schema(self.rows.shape[1])
        found = cluster(algorithm, channel, schema, seed=self.seed)
        return nearest(self.rows, found.centers)[0]

    def invent(self, kind: str) -> "Federation":
        """The same with false rows at the liars."""
        rng, every = np.random.default_rng(self.seed), np.concatenate(list(self.data.values()))
        liars = [client for client in self.data if client in self.liars]
        false = {client: FALSE_ROWS[kind](self.data[client], every, rng) for client in liars}
        return replace(self, data={**self.data, **false})

    def agreement(self, lies: Mapping[str, Lie | None], keys: tuple[str, ...]) -> FloatArray:
        """By lie and algorithm, with the lossless algorithm without lies."""
        clean = self.labels("llf-cm", None)
        return np.array([[self.score(clean, k, lie) for k in keys] for lie in lies.values()])

    def score(self, clean: IntArray, key: str, lie: Lie | None) -> float:
        """Agreement with clusters, of what an algorithm finds."""
        try:
            return float(adjusted_rand_score(clean, self.labels(key, lie)))
        except FedclustError:
            return 0.0  # a run that liars stop finds nothing


KINDS: dict[str, Lie | None] = {"nobody lies": None, "the four are absent": ABSENT, **LIES}
FALSE_KINDS = (*list(KINDS)[:2], *FALSE_ROWS)
FALSE_HEAD = "| false rows | digits, dirichlet |"
LATER_KINDS: dict[str, Lie | None] = dict([*list(KINDS.items())[:2], *LATER.items()])


class Part(NamedTuple):
    """Which part of a table one process measures."""

    data: str
    split: str
    seed: int
    kinds: tuple[str, ...]
    keys: tuple[str, ...]  # of algorithms


def measure(part: Part) -> FloatArray:
    """Agreement by lie and algorithm."""
    every = {**KINDS, **LATER_KINDS}
    kinds = {kind: every[kind] for kind in part.kinds}
    federation = Federation.of(part.data, part.split, part.seed)
    return federation.agreement(kinds, part.keys)


def head(names: tuple[str, ...]) -> str:
    """The names of the columns."""
    return "| lie | " + " | ".join(f"{name}, {split}" for name in names for split in SPLITS) + " |"


def lines(
    names: tuple[str, ...], kinds: tuple[str, ...], seeds: range, keys: tuple[str, ...]
) -> Iterator[str]:
    """The table, line by line."""
    yield head(names)
    yield "|---" * (1 + len(names) * len(SPLITS)) + "|"
    parts = [Part(*one, kinds, keys) for one in product(names, SPLITS, seeds)]
    with ProcessPoolExecutor() as pool:
        runs = np.array(list(pool.map(measure, parts)))
    found = runs.reshape(-1, len(seeds), len(kinds), len(keys))  # data and split, seed, lie, key
    for number, lie in enumerate(kinds):
        yield f"| {lie} | {' | '.join(map(cell, found[:, :, number]))} |"


def cell(found: FloatArray) -> str:
    """Agreement by seed and algorithm, in words."""
    robust, *others = found.T
    shown = [f"{robust.mean():.2f} ({robust.min():.2f})"]
    return "; ".join([*shown, *(f"{other.mean():.2f}" for other in others)])


def false_rows(seeds: range) -> Iterator[str]:
    """The table of false rows: uneven splits of digits, and `robust-cm` only."""
    yield FALSE_HEAD
    yield "|---|---|"
    honest = [Federation.of("digits", "dirichlet", seed) for seed in seeds]
    clean = [federation.labels("llf-cm", None) for federation in honest]
    for kind in FALSE_KINDS:
        reported = [f.invent(kind) if kind in FALSE_ROWS else f for f in honest]
        lie = KINDS.get(kind) if kind not in FALSE_ROWS else None
        scores = [f.score(c, "robust-cm", lie) for f, c in zip(reported, clean, strict=True)]
        yield f"| {kind} | {cell(np.array([scores]).T)} |"


def main(wanted: str) -> None:
    """Print one of the tables."""
    if wanted == "later":
        printed = lines(LATER_DATA, tuple(LATER_KINDS), range(3), ("robust-cm",))
    elif wanted == "rows":
        printed = false_rows(range(5))
    else:
        seeds = range(int(wanted), int(wanted) + 10)
        printed = lines(DATA, tuple(KINDS), seeds, ("robust-cm", "llf-cm"))
    for line in printed:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "0")
