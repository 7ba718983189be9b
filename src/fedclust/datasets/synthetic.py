"""Generate the papers' synthetic data sets: rows, labels, clients and true centres."""

import random
from collections.abc import Sequence

import numpy as np

from ..typing import IntArray
from .dataset import Dataset
from .partition import Seed, by_distance, iid


def _gaussians(
    name: str, centers: Sequence[Sequence[float]], sd: float, sizes: IntArray, seed: Seed
) -> Dataset:
    """Draw ``sizes[m, k]`` rows of client m around centre k."""
    rng, means = np.random.default_rng(seed), np.array(centers, dtype=float)
    client, label = np.divmod(np.repeat(np.arange(sizes.size), sizes.ravel()), sizes.shape[1])
    X = rng.normal(means[label], sd)
    return Dataset(name, X, label, client, means)


def ffcm_case1(random_state: Seed = 0, sd: float = 0.5) -> Dataset:
    """FFCM case 1: three clusters on a line; the third client has only two of them.

    The paper prints one true centre as (-2, 2), but its text implies (-2, -2). It does not give
    sd; 0.5 fits its results.
    """
    sizes = np.array([[333, 333, 333], [333, 333, 333], [500, 500, 0]])
    return _gaussians("ffcm-case1", [[-2, -2], [0, 0], [2, 2]], sd, sizes, random_state)


def ffcm_case2(random_state: Seed = 0, sd: float = 1.1) -> Dataset:
    """FFCM case 2: one cluster is visible only in the combined data of both clients."""
    sizes = np.array([[900, 50, 50], [50, 900, 50]])
    return _gaussians("ffcm-case2", [[5, 0], [5, 10], [10, 10]], sd, sizes, random_state)


def ffcm_case3(
    rows: Sequence[int] = (1000, 1000, 1000), random_state: Seed = 0, sd: float = 1.0
) -> Dataset:
    """FFCM case 3: four clusters; each of three clients has two of them."""
    sizes = np.zeros((3, 4), dtype=int)
    for client, n in enumerate(rows):
        sizes[client, client : client + 2] = n // 2
    return _gaussians("ffcm-case3", [[0, 0], [0, 10], [10, 10], [10, 0]], sd, sizes, random_state)


def g2(n_features: int, sd: float, n_clients: int = 10, random_state: Seed = 0) -> Dataset:
    """Data like a G2 set: two clusters of 1024 integer rows each, around 500 and 600."""
    rng = np.random.default_rng(random_state)
    y = np.repeat([0, 1], 1024)
    centers = np.array([[500.0] * n_features, [600.0] * n_features])
    X = np.floor(rng.normal(centers[y], sd))
    return Dataset(f"g2-{n_features}-{sd:g}", X, y, iid(2048, n_clients, rng), centers)


# The FKM paper does not publish the locations of its five clients in the field (-12.5, 12.5)^2.
# These are the means of each client's rows in the authors' files for beta = 0.1.
FKM_LOCATIONS = np.array([[5.9, 2.5], [-4.1, 5.6], [3.1, -6.2], [2.2, 6.4], [-6.1, -2.4]])


def fkm_grid(
    beta: float = 1.0, points_per_cluster: int = 50, sd: float = 1.0, random_state: Seed = 0
) -> Dataset:
    """FKM's regular data set: sixteen clusters at distance five, owned by nearby clients."""
    rng = np.random.default_rng(random_state)
    line = [-7.5, -2.5, 2.5, 7.5]
    centers = np.array([[a, b] for a in line for b in line])
    y = np.repeat(np.arange(16), points_per_cluster)
    X = rng.normal(centers[y], sd)
    owner = by_distance(X, FKM_LOCATIONS, beta, rng)
    return Dataset(f"fkm-beta{beta:g}-sd{sd:g}", X, y, owner, centers)


def dwf_blobs() -> Dataset:
    """The rows of DWF's synthetic data set: 10,000 around five centres, 100 outliers (label 5)."""
    from sklearn.datasets import make_blobs

    X, y, centers = make_blobs(
        n_samples=10_000,
        centers=5,
        cluster_std=0.2,
        center_box=(-1, 1),
        random_state=18042023,
        return_centers=True,
    )
    draw = random.Random(1).random  # the authors' generator and seed
    outliers = [[2 * draw() - 1 for _ in range(2)] for _ in range(100)]
    return Dataset(
        "dwf-blobs", np.vstack([X, outliers]), np.append(y, np.full(100, 5)), None, centers
    )


def waveform(n_samples: int = 5000, random_state: Seed = 0) -> Dataset:
    """Breiman's waveforms, version 1: noisy mixtures of two of three triangles, 21 features."""
    rng = np.random.default_rng(random_state)
    t = np.arange(1, 22)
    waves = np.array([np.maximum(6 - np.abs(t - peak), 0) for peak in (11, 15, 7)])
    pairs = np.array([[0, 1], [0, 2], [1, 2]])
    y = rng.integers(0, 3, n_samples)
    share = rng.random((n_samples, 1))
    first, second = waves[pairs[y, 0]], waves[pairs[y, 1]]
    X = share * first + (1 - share) * second + rng.normal(size=(n_samples, 21))
    return Dataset("waveform", X, y)
