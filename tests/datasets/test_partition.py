"""Every row gets one client, distributed as the papers describe."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedclust import ConfigError
from fedclust.datasets import by_distance, by_k_means, by_value, dirichlet, iid, locally_absent


@given(st.integers(1, 200), st.integers(1, 30), st.integers(0, 99))
def test_iid_gives_equal_shares(n: int, n_clients: int, seed: int) -> None:
    n_clients = min(n, n_clients)
    sizes = np.bincount(iid(n, n_clients, seed), minlength=n_clients)
    assert sizes.sum() == n
    assert sizes.max() - sizes.min() <= 1


def test_dirichlet_is_more_uneven_for_smaller_alpha() -> None:
    labels = np.repeat([0, 1, 2], 300)

    def unevenness(alpha: float) -> float:
        owner = dirichlet(labels, 10, alpha, random_state=1)
        shares = np.array([np.bincount(owner[labels == c], minlength=10) for c in range(3)])
        assert shares.sum() == 900
        return float(shares.std())

    assert unevenness(0.1) > unevenness(1.0) > unevenness(100.0)


def test_by_distance_gives_rows_to_clients_nearby() -> None:
    rng = np.random.default_rng(0)
    locations = np.array([[0.0, 0.0], [10.0, 0.0]])
    X = rng.uniform(-2, 12, size=(2000, 2))
    nearest = ((X[:, None] - locations) ** 2).sum(axis=2).argmin(axis=1)
    share = [
        (by_distance(X, locations, beta, random_state=1) == nearest).mean()
        for beta in (0.05, 1, 50)
    ]
    assert share[0] > share[1] > share[2]
    assert share[0] > 0.95
    assert 0.4 < share[2] < 0.65
    assert by_distance(locations, locations, 1.0).tolist() == [0, 1]  # distance zero


def test_by_k_means_gives_each_client_a_cluster_or_a_mixture() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 400)
    X = rng.normal(20.0 * np.array([[0, 0], [0, 1], [1, 0], [1, 1]])[y], 1.0)
    separate = by_k_means(X, 4, random_state=1)
    assert all(len(np.unique(y[separate == c])) == 1 for c in range(4))
    half = by_k_means(X, 4, 0.5, random_state=1)
    assert any(len(np.unique(y[half == c])) > 1 for c in range(4))
    mixed = by_k_means(X, 4, 1.0, random_state=1)
    assert set(np.bincount(mixed)) == {100}


def test_by_value_follows_a_column() -> None:
    assert by_value(["b", "a", "b"]).tolist() == [1, 0, 1]


def test_locally_absent_classes_are_absent() -> None:
    labels = np.repeat([0, 1, 2], 50)
    owner = locally_absent(labels, [{0, 1}, {1, 2}])
    assert set(labels[owner == 0]) == {0, 1}
    assert set(labels[owner == 1]) == {1, 2}
    with pytest.raises(ConfigError, match="no client has class"):
        locally_absent(labels, [{0, 1}])


def test_the_same_seed_gives_the_same_split_and_a_generator_advances() -> None:
    assert iid(50, 5, 3).tolist() == iid(50, 5, 3).tolist()
    rng = np.random.default_rng(3)
    assert iid(50, 5, rng).tolist() != iid(50, 5, rng).tolist()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: iid(3, 4), "n_clients must be between 1 and 3, got 4"),
        (lambda: iid(3, 0), "n_clients must be between 1 and 3, got 0"),
        (lambda: dirichlet([0, 1], 2, 0.0), "alpha must be above 0"),
        (lambda: by_distance(np.ones((2, 1)), np.ones((1, 1)), -1.0), "beta must be above 0"),
        (lambda: by_k_means(np.ones((4, 1)), 2, 1.5), "iid_share must be between 0 and 1"),
    ],
)
def test_impossible_splits_are_refused(call: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        call()  # type: ignore[operator]
