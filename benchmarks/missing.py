"""Missing cells: partial distances against filling with means, on sets with known cells.

`python -m benchmarks.missing` removes cells at random from complete data sets, clusters what is
left with k-means in both ways, and compares the labels with those of the complete rows. It writes
the table of docs/missing.md.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from fedclust import FederatedKMeans
from fedclust.datasets import load
from fedclust.metrics import adjusted_rand_index
from fedclust.typing import FloatArray, IntArray

from .timing import row

SHARES = (0.2, 0.4)
PAGE = Path(__file__).parent.parent / "docs" / "missing.md"
BEGIN, END = "<!-- table: python -m benchmarks.missing -->", "<!-- end of table -->"
MOST_ROWS = 2_000  # of a data set, drawn at random
N_CLIENTS = 4


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


def labels(X: FloatArray, k: int, seed: int) -> IntArray:
    """Clusters over several clients; the default start is the best of many that race."""
    clients = np.random.default_rng(seed).integers(0, N_CLIENTS, len(X))
    model = FederatedKMeans(k, missing="partial", random_state=seed)
    found: IntArray = model.fit(X, clients=clients).labels_
    return found


def compare(X: FloatArray, k: int, share: float, seed: int, truth: IntArray) -> tuple[float, float]:
    """Agreement with the labels of complete rows: of filled rows, and of partial distances."""
    rng = np.random.default_rng([seed, int(100 * share)])
    removed = rng.random(X.shape) < share
    kept = ~removed.all(axis=1)
    holed = np.where(removed, np.nan, X)[kept]
    scaled = standardize(holed)
    filled = np.where(np.isnan(scaled), 0.0, scaled)  # the mean of a column is zero
    by_mean, partial = (labels(rows, k, seed) for rows in (filled, scaled))
    return (
        adjusted_rand_index(truth[kept], by_mean),
        adjusted_rand_index(truth[kept], partial),
    )


def table(n_seeds: int) -> list[str]:
    """A line for each data set and share of removed cells."""
    heading = ("data set", "rows x columns, k", "removed", "mean", "partial", "difference")
    lines = [row(*heading), row(*["---"] * len(heading))]
    gains = []
    for name, X, k in data_sets():
        truth = labels(X, k, 0)
        for share in SHARES:
            pairs = [compare(X, k, share, seed, truth) for seed in range(n_seeds)]
            mean, partial = np.mean(pairs, axis=0)
            gains.append(partial - mean)
            what = (f"{len(X):,} x {X.shape[1]}, {k}", f"{share:.0%}")
            lines.append(row(name, *what, f"{mean:.3f}", f"{partial:.3f}", f"{gains[-1]:+.3f}"))
            print(lines[-1], flush=True)
    lines.append(row("average", "", "", "", "", f"{np.mean(gains):+.3f}"))
    print(lines[-1])
    return lines


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="write the table of docs/missing.md")
    given = parser.parse_args()
    lines = table(given.seeds)
    if given.write:
        page = PAGE.read_text(encoding="utf-8")
        before, _, rest = page.partition(BEGIN)
        after = rest.partition(END)[2]
        PAGE.write_text("\n".join([before + BEGIN, "", *lines, "", END]) + after, encoding="utf-8")


if __name__ == "__main__":
    main()
