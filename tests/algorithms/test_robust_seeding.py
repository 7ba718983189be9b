"""Candidates of seeds count if enough other clients have one nearby."""

import numpy as np
import pytest

from fedclust.algorithms.robust_seeding import Points, _confirmed

TWO = np.array([[0.0, 0.0], [10.0, 10.0]])


def points(clients: int, *far: float) -> Points:
    """Two candidates of each client, close to those of the others, and a far one of the last."""
    rng = np.random.default_rng(0)
    rows = np.concatenate([TWO + rng.normal(0, 0.1, (2, 2)) for _ in range(clients)])
    owner = np.repeat(np.arange(clients), 2)
    if far:
        rows, owner = np.vstack([rows, [far]]), np.r_[owner, clients - 1]
    return Points(rows, np.ones(len(rows)), owner)


@pytest.mark.parametrize("liars", [1, 2])
def test_a_candidate_that_no_other_client_has_does_not_count(liars: int) -> None:
    found = _confirmed(points(6, 90.0, -90.0), liars)
    assert found[:-1].all()
    assert not found[-1]


@pytest.mark.parametrize(("clients", "liars"), [(1, 0), (2, 2)])
def test_too_few_clients_confirm_nothing_and_refute_nothing(clients: int, liars: int) -> None:
    assert _confirmed(points(clients, 90.0, -90.0), liars).all()
