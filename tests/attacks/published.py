"""A reader of a run's files: model.json and profile.json, and nothing else."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine

from fedclust.datasets import dirichlet
from fedclust.kernels import k_means, nearest
from fedclust.study import read_study
from fedclust.study.run import Outcome, run_study
from fedclust.typing import FloatArray, IntArray

from ..support.sites import write_sites

LOADERS = {
    "iris": (load_iris, 3),
    "wine": (load_wine, 3),
    "diabetes": (load_diabetes, 5),
    "breast cancer": (load_breast_cancer, 4),
}
MOST_MISSING = 4  # rows that may be missing from one of two means
N_CLIENTS = 5


def table(name: str, seed: int) -> tuple[FloatArray, IntArray, int]:
    """Rows, their owners by Dirichlet(0.3) over the clusters of pooled rows, and k."""
    load, k = LOADERS[name]
    X = np.asarray(load().data, dtype=float)[:, :8]
    z = np.ascontiguousarray(X / X.std(axis=0))
    labels = nearest(z, k_means(z, k, np.random.default_rng(seed), restarts=3))[0]
    return X, dirichlet(labels, N_CLIENTS, 0.3, seed), k


def run_study_of(
    folder: Path, X: FloatArray, owner: IntArray, k: int, tier: str, **settings: Any
) -> Path:
    """Run a study over these rows; the folder of the run."""
    return outcome_of(folder, X, owner, k, tier, **settings).folder


def outcome_of(
    folder: Path, X: FloatArray, owner: IntArray, k: int, tier: str, **settings: Any
) -> Outcome:
    """Run a study over these rows."""
    low, high = X.min(axis=0) - 1, X.max(axis=0) + 1
    bounds = zip(low.tolist(), high.tolist(), strict=True)
    features = [f"x{f} = {{ low = {a}, high = {b} }}" for f, (a, b) in enumerate(bounds)]
    more = {"outputs": 'labels = "none"\nreport = false', **settings}
    clustering = f"n_clusters = {k}\n{more.pop('clustering', '')}"
    text = {"features": "\n".join(features), "clustering": clustering, "tier": tier, **more}
    return run_study(read_study(write_sites(folder, X, owner, **text)), folder / "run")


class Reader:
    """What the two files say, in the columns' units."""

    def __init__(self, run: Path) -> None:
        model, profile = (json.loads((run / f"{n}.json").read_text()) for n in ("model", "profile"))
        clusters = profile["clusters"]
        self.centers = np.array(
            [cluster["center_in_units"] for cluster in model["clusters"]], dtype=float
        )
        self.sizes = np.array([cluster["size"] for cluster in model["clusters"]], dtype=float)
        self.means = np.array([[f["mean"] for f in c["features"]] for c in clusters], dtype=float)
        features = clusters[0]["features"]
        self.overall = np.array([feature["overall_mean"] for feature in features], dtype=float)
        self.offset = np.array(model["preparation"]["offset"])
        self.profile = profile


def find_records(
    X: FloatArray, centers: FloatArray, sizes: FloatArray, means: FloatArray, *overall: FloatArray
) -> int:
    """How many records are differences of a centre, a mean and a number of rows.

    The centre of n + w rows and the mean of n of them give the mean of the other w, or the other
    way round. All rows minus all clusters are what the centres leave out.
    """
    n, found = sizes[:, None], [centers]
    for w in range(1, MOST_MISSING + 1):
        found += [((n + w) * centers - n * means) / w, (n * means - (n - w) * centers) / w]
        for mean in overall:
            for rest in (
                (sizes.sum() + w) * mean - sizes @ centers,
                sizes.sum() * mean - sizes @ centers,
            ):
                found += [rest[None] / w, rest + centers, centers - rest]
    vectors = np.vstack(found)
    vectors = vectors[np.isfinite(vectors).all(axis=1)]
    apart = (np.abs(vectors[:, None] - X) / np.ptp(X, axis=0)).max(axis=2)
    return int((apart.min(axis=0) <= 1e-6).sum())


def sums_that_withhold(
    X: FloatArray, owner: IntArray, labels: IntArray, k: int, minimum: int
) -> tuple[FloatArray, FloatArray]:
    """Sizes and means of clusters without the clients that have few of their rows."""
    own = np.eye(k)[labels]
    counts = np.array([own[owner == m].sum(axis=0) for m in range(N_CLIENTS)])  # (M, C)
    counted = (counts >= minimum)[owner, labels]
    sizes = own[counted].sum(axis=0)
    return sizes, own[counted].T @ X[counted] / np.maximum(sizes, 1.0)[:, None]
