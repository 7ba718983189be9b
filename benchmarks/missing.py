"""Missing cells, categories and mixtures, measured: the tables of docs/missing.md.

`python -m benchmarks.missing` prints all tables, and with `--write` writes them into the page.
Names of tables as arguments choose some: heart, splits, filling, peers, steps, memory. How often
BIC finds the number of clusters is `python -m benchmarks.choice llf-mixture blobs`.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from pyarrow import parquet
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from fedclust import FederatedKMeans, make
from fedclust.channels import LocalChannel
from fedclust.cli.tools.examples import write_example
from fedclust.core import Data, Plan, Schema, run
from fedclust.datasets import load
from fedclust.kernels import Density, fuzzy_cell_sums, fuzzy_sums, hard_cell_sums, hard_sums
from fedclust.kernels.mixture import mixture_sums
from fedclust.metrics import adjusted_rand_index
from fedclust.privacy import FixedPoint
from fedclust.study import read_study
from fedclust.study.run import run_study
from fedclust.typing import FloatArray

from .memory import extra_memory
from .missing_peers import peers
from .timing import best_of, row, verdict

SHARES = (0.2, 0.4)
PAGE = Path(__file__).parent.parent / "docs" / "missing.md"
END = "<!-- end of table -->"
MOST_ROWS = 2_000  # of a data set, drawn at random
N_CLIENTS = 4
SHAPES = [(500_000, 2, 3), (500_000, 2, 20), (200_000, 16, 3), (200_000, 16, 20)]
SHAPES += [(40_000, 100, 3), (40_000, 100, 20)]


def data_sets() -> Iterator[tuple[str, FloatArray, int]]:
    """Name, rows with one scale per column, and the number of clusters."""
    for name, loaded in (
        ("iris", load_iris()),
        ("wine", load_wine()),
        ("breast cancer", load_breast_cancer()),
    ):
        yield name, standardize(loaded.data), len(loaded.target_names)
    for name in ("penguins", "rice", "pendigits", "statlog_landsat", "waveform"):
        data = load(name)
        assert data.y is not None
        drawn = np.random.default_rng(0).permutation(len(data.X))[:MOST_ROWS]
        yield name, standardize(data.X[np.sort(drawn)].astype(float)), len(np.unique(data.y))


def standardize(X: FloatArray) -> FloatArray:
    """Columns with mean zero and variance one over the values that are there."""
    spread = np.nanstd(X, axis=0)
    scaled: FloatArray = (X - np.nanmean(X, axis=0)) / np.where(spread > 0, spread, 1.0)
    return scaled


def fit(X: FloatArray, k: int, seed: int, **settings: Any) -> FederatedKMeans:
    """K-means over several clients; the default start is the best of many that race."""
    clients = np.random.default_rng(seed).integers(0, N_CLIENTS, len(X))
    model = FederatedKMeans(k, missing="partial", random_state=seed, **settings)
    return model.fit(X, clients=clients)


def compare(X: FloatArray, share: float, seed: int, whole: FederatedKMeans) -> FloatArray:
    """Agreement with the labels of complete rows: of filled rows, and of partial distances.

    Both from the default start, and then both from the centres of the complete rows.
    """
    rng = np.random.default_rng([seed, int(100 * share)])
    removed = rng.random(X.shape) < share
    kept = ~removed.all(axis=1)
    scaled = standardize(np.where(removed, np.nan, X)[kept])
    filled = np.where(np.isnan(scaled), 0.0, scaled)  # the mean of a column is zero
    k = whole.n_clusters_
    found = [
        fit(rows, k, seed, **start).labels_
        for start in ({}, {"init": whole.cluster_centers_})
        for rows in (filled, scaled)
    ]
    truth = whole.labels_[kept]
    return np.array([adjusted_rand_index(truth, labels) for labels in found])


def filling(n_seeds: int) -> list[str]:
    """Partial distances against filling with means, on sets with known cells."""
    heading = ("data set", "rows x columns, k", "removed", "mean", "partial", "difference")
    lines = [row(*heading, "same start: mean", "partial", "difference"), row(*["---"] * 9)]
    gains = []
    for name, X, k in data_sets():
        whole = fit(X, k, 0, n_init=5)
        for share in SHARES:
            each = [compare(X, share, seed, whole) for seed in range(n_seeds)]
            mean, part, mean_there, part_there = np.mean(each, axis=0)
            gains.append((part - mean, part_there - mean_there))
            what = (f"{len(X):,} x {X.shape[1]}, {k}", f"{share:.0%}")
            from_default = (f"{mean:.3f}", f"{part:.3f}", f"{gains[-1][0]:+.3f}")
            from_same = (f"{mean_there:.3f}", f"{part_there:.3f}", f"{gains[-1][1]:+.3f}")
            lines.append(row(name, *what, *from_default, *from_same))
            print(lines[-1], flush=True)
    default, same = np.mean(gains, axis=0)
    lines.append(row("average", "", "", "", "", f"{default:+.3f}", "", "", f"{same:+.3f}"))
    return lines


def heart() -> list[str]:
    """The four hospitals, as in the tutorial: who is labelled, and agreement with disease."""
    data = load("heart_disease")
    assert data.y is not None
    lines = [row("algorithm", "patients labelled", "agreement with disease"), row(*["---"] * 3)]
    for key in ("llf-cm", "llf-fcm", "llf-prototypes", "llf-mixture"):
        with TemporaryDirectory() as folder:
            study = Path(folder) / "heart" / "study.toml"
            write_example("heart_disease", study.parent)
            text = study.read_text(encoding="utf-8")
            study.write_text(text.replace('"lossless"', f'"{key}"'), encoding="utf-8")
            done = run_study(read_study(study), study.parent / "run")
            tables = [parquet.read_table(done.labels[name]) for name in data.client_names]
        found = np.concatenate([table["cluster"].to_numpy() for table in tables])
        same = float(np.mean(found == data.y))
        labelled = f"{int((found >= 0).sum())} of {len(data.y)}"
        target = verdict(max(same, 1 - same), 0.79, at_least=True) if key == "llf-cm" else ""
        lines.append(row(f"`{key}`", labelled, f"{max(same, 1 - same):.3f} {target}"))
    return lines


def splits() -> list[str]:
    """Any split of the rows against one client with all of them, from the same start."""
    lines = [row("algorithm", "largest difference", "target", "exact sums"), row(*["---"] * 4)]
    rng = np.random.default_rng(0)
    own = rng.integers(0, 3, 600)
    numbers = rng.normal(size=(600, 4)) + 4.0 * own[:, None]
    hot = np.eye(3)[(own + (rng.random(600) < 0.2)) % 3]
    holes = rng.random((600, 5)) < 0.3
    X = np.column_stack([numbers, hot])
    X[holes[:, [0, 1, 2, 3, 4, 4, 4]]] = np.nan
    X = X[~np.isnan(X).all(axis=1)]
    low, high = np.r_[np.full(4, -5.0), np.zeros(3)], np.r_[np.full(4, 14.0), np.ones(3)]
    blocks = np.array([0, 0, 0, 0, 1, 1, 1])
    schema = Schema(7, low, high, missing=True, blocks=blocks, height=np.ones(7))
    start = np.nan_to_num(X[:3], nan=0.5)
    for key in ("llf-cm", "llf-fcm", "llf-prototypes", "llf-mixture"):
        algorithm = make(key, 3, init=start, max_rounds=20, tol=0.0).over_cells()
        pooled = LocalChannel({"all": Data.of(X, missing=True)})
        whole = run(Plan(algorithm), pooled, schema).model
        apart, bits = 0.0, set()
        for n in (1, 2, 5, 20, 50):
            owner = np.random.default_rng(n).integers(0, n, len(X))
            parts = {f"c{c}": Data.of(X[owner == c], missing=True) for c in np.unique(owner)}
            found = run(Plan(algorithm), LocalChannel(parts), schema).model
            apart = max(apart, float(np.abs(found - whole).max()))
            exact = Plan(algorithm, (FixedPoint.over(schema),))
            bits.add(run(exact, LocalChannel(parts), schema).model.tobytes())
        same = "same bits" if len(bits) == 1 else "**other bits**"
        lines.append(row(f"`{key}`", f"{apart:.0e}", verdict(apart, 1e-9), same))
    return lines


def steps() -> list[str]:
    """A step with a fifth of the cells missing against one over complete rows, and a mixture's."""
    heading = ("rows x columns, clusters", "step", "against", "times as long", "target")
    lines = [row(*heading), row(*["---"] * len(heading))]
    for n, F, k in SHAPES:
        rng = np.random.default_rng(0)
        X, C = rng.normal(size=(n, F)), rng.normal(size=(k, F))
        H = np.where(rng.random(X.shape) < 0.2, np.nan, X)
        density = Density.of(np.full(k, 1 / k), C, np.ones((k, F)), np.arange(F))
        best = best_of(
            {
                "hard": partial(hard_sums, X, C),
                "fuzzy": partial(fuzzy_sums, X, C, 2.0),
                "mixture": partial(mixture_sums, X, density),
                "hard, cells": partial(hard_cell_sums, H, C),
                "fuzzy, cells": partial(fuzzy_cell_sums, H, C, 2.0),
                "mixture, cells": partial(mixture_sums, H, density),
            },
            repeats=15,
            clock=time.process_time,  # of all threads; other programs do not count
        )
        pairs = [("hard, cells", "hard", 2), ("fuzzy, cells", "fuzzy", 2)]
        pairs += [("mixture", "fuzzy", 3), ("mixture, cells", "fuzzy, cells", 3)]
        for one, other, limit in pairs:
            ratio = best[one] / best[other]
            what = f"{n:,} x {F}, {k}"
            lines.append(row(what, one, other, f"{ratio:.2f}", verdict(ratio, limit)))
            print(lines[-1], flush=True)
    return lines


def memory() -> list[str]:
    """Increase of the peak memory in a step, as in docs/benchmarks.md."""
    lines = [row("step", "rows x columns, clusters", "extra memory", "target"), row(*["---"] * 4)]
    n = 1_000_000
    for kind in ("hard cells", "fuzzy cells", "mixture", "mixture cells"):
        for F, k in [(2, 15), (16, 50), (64, 50)]:
            extra = extra_memory(kind, n, F, k)
            lines.append(row(kind, f"{n:,} x {F}, {k}", f"{extra:.1f} MB", verdict(extra, 64)))
    return lines


def main() -> None:
    """Print the tables, and write them into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    tables: dict[str, Callable[[], list[str]]] = {
        "heart": heart,
        "splits": splits,
        "filling": lambda: filling(given.seeds),
        "peers": lambda: peers(data_sets()),
        "steps": steps,
        "memory": memory,
    }
    parser.add_argument("tables", nargs="*", choices=[[], *tables], help="all, if none is named")
    parser.add_argument("--seeds", type=int, default=10, help="of the removed cells")
    parser.add_argument("--write", action="store_true", help="write the tables of docs/missing.md")
    given = parser.parse_args()
    for name in given.tables or tables:
        lines = tables[name]()
        print(f"\n{name}", *lines, sep="\n", flush=True)
        if given.write:
            write(name, lines)


def write(name: str, lines: list[str]) -> None:
    """Replace a table of the page."""
    page = PAGE.read_text(encoding="utf-8")
    begin = f"<!-- table: python -m benchmarks.missing {name} -->"
    before, found, rest = page.partition(begin)
    if not found:
        raise SystemExit(f"{PAGE} has no line {begin}")
    after = rest.partition(END)[2]
    PAGE.write_text("\n".join([before + begin, "", *lines, "", END]) + after, encoding="utf-8")


if __name__ == "__main__":
    main()
