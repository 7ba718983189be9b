"""Split one table between clients; each function returns the client of every row.

>>> by_value(["Rome", "Oslo", "Rome"]).tolist()
[1, 0, 1]
"""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from ..core import ConfigError
from ..kernels import k_means, nearest, sq_distances
from ..typing import FloatArray, IntArray, Rng

Seed = int | Rng


def iid(n_samples: int, n_clients: int, random_state: Seed = 0) -> IntArray:
    """Assign shuffled rows in chunks of equal size (up to one row)."""
    _check_clients(n_clients, n_samples)
    rng = np.random.default_rng(random_state)
    return rng.permutation(np.arange(n_samples) % n_clients)


def dirichlet(labels: Any, n_clients: int, alpha: float = 0.5, random_state: Seed = 0) -> IntArray:
    """Split each class by shares from Dirichlet(alpha); a small alpha gives uneven shares."""
    if not alpha > 0:
        raise ConfigError(f"alpha must be above 0, got {alpha!r}")
    _, codes = np.unique(labels, return_inverse=True)
    _check_clients(n_clients, len(codes))
    rng = np.random.default_rng(random_state)
    owner = np.empty(len(codes), dtype=np.intp)
    for code in range(codes.max() + 1):
        rows = rng.permutation(np.flatnonzero(codes == code))
        shares = rng.dirichlet(np.full(n_clients, alpha))
        cuts = np.round(np.cumsum(shares)[:-1] * len(rows)).astype(int)
        for client, part in enumerate(np.split(rows, cuts)):
            owner[part] = client
    return owner


def by_distance(
    X: FloatArray, locations: FloatArray, beta: float, random_state: Seed = 0
) -> IntArray:
    """Assign rows to nearby clients, more strictly for smaller `beta` (Eq. 2 of the FKM paper).

    A client at distance d claims a row with probability 1 - exp(-beta / d). A row claimed by
    several clients goes to one of them at random; an unclaimed row goes to the nearest client.
    """
    if not beta > 0:
        raise ConfigError(f"beta must be above 0, got {beta!r}")
    rng = np.random.default_rng(random_state)
    distance = np.sqrt(sq_distances(np.asarray(X, float), np.asarray(locations, float)))
    with np.errstate(divide="ignore"):
        probability = 1.0 - np.exp(-beta / distance)
    claimed = rng.random(distance.shape) < probability
    lots = np.where(claimed, rng.random(distance.shape), -1.0)
    owner: IntArray = np.where(claimed.any(axis=1), lots.argmax(axis=1), distance.argmin(axis=1))
    return owner


def by_k_means(
    X: FloatArray, n_clients: int, iid_share: float = 0.0, random_state: Seed = 0
) -> IntArray:
    """Assign one k-means cluster per client, as in the DWF paper, and a share of rows IID.

    ``iid_share`` is 0 for the paper's non-IID case, 0.5 for half-IID and 1 for IID.
    """
    if not 0 <= iid_share <= 1:
        raise ConfigError(f"iid_share must be between 0 and 1, got {iid_share!r}")
    rows = np.ascontiguousarray(X, dtype=np.float64)
    _check_clients(n_clients, len(rows))
    rng = np.random.default_rng(random_state)
    mixed = rng.permutation(len(rows))[: round(iid_share * len(rows))]
    owner = np.empty(len(rows), dtype=np.intp)
    owner[mixed] = iid(len(mixed), n_clients, rng) if len(mixed) >= n_clients else 0
    rest = np.setdiff1d(np.arange(len(rows)), mixed)
    if len(rest):
        centers = k_means(rows[rest], n_clients, rng, restarts=5, steps=5)
        owner[rest] = nearest(rows[rest], centers)[0]
    return owner


def by_value(column: Any) -> IntArray:
    """Assign one client per distinct value, in sorted order."""
    return np.unique(column, return_inverse=True)[1]


def locally_absent(
    labels: Any, holdings: Sequence[Collection[Any]], random_state: Seed = 0
) -> IntArray:
    """Restrict clients to some classes: ``holdings[m]`` lists the classes of client m."""
    labels = np.asarray(labels)
    rng = np.random.default_rng(random_state)
    owner = np.empty(len(labels), dtype=np.intp)
    for label in np.unique(labels):
        holders = [m for m, held in enumerate(holdings) if label in held]
        if not holders:
            raise ConfigError(f"holdings: no client has class {label!r}; add it to one")
        rows = np.flatnonzero(labels == label)
        owner[rows] = rng.choice(holders, len(rows))
    return owner


def _check_clients(n_clients: int, n_samples: int) -> None:
    if not 1 <= n_clients <= n_samples:
        raise ConfigError(f"n_clients must be between 1 and {n_samples}, got {n_clients!r}")
