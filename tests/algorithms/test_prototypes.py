"""llf-prototypes: kmodes' cost, any split, ties, missing cells."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedclust.algorithms import make
from fedclust.channels import LocalChannel
from fedclust.clustering.rows import cluster
from fedclust.core import ConfigError, Data, Plan, Schema, run
from fedclust.kernels import nearest
from fedclust.typing import FloatArray, IntArray

BLOCKS = np.array([0, 0, 1, 1, 1, 2, 2, 2, 2])


def mixed(n: int, seed: int, gamma: float) -> tuple[FloatArray, IntArray, Schema]:
    """Rows with heights, their codes, and the schema."""
    rng = np.random.default_rng(seed)
    own = rng.integers(0, 3, n)
    numbers = rng.normal(size=(n, 2)) + 6 * own[:, None] * np.array([1.0, -1.0])
    codes = np.column_stack([(own + (rng.random(n) < 0.2)) % 3, (own + (rng.random(n) < 0.3)) % 4])
    height = np.r_[1.0, 1.0, np.full(7, np.sqrt(gamma / 2))]
    X = np.column_stack([numbers, np.eye(3)[codes[:, 0]], np.eye(4)[codes[:, 1]]]) * height
    return X, codes, Schema(9, blocks=BLOCKS, height=height)


def deal(X: FloatArray, n_clients: int, seed: int = 0) -> LocalChannel:
    owner = np.random.default_rng(seed).integers(0, n_clients, len(X))
    clients = {f"c{c:02}": Data.of(X[owner == c], missing=True) for c in range(n_clients)}
    return LocalChannel(clients)


@pytest.mark.parametrize("gamma", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("seed", range(4))
def test_the_cost_is_that_of_kmodes_from_the_same_start(gamma: float, seed: int) -> None:
    kprototypes = pytest.importorskip("kmodes.kprototypes")
    X, codes, schema = mixed(240, seed, gamma)
    start = X[:3]
    done = run(Plan(make("llf-prototypes", 3, init=start)), deal(X, 4), schema)
    cost = nearest(X, done.model)[1].sum()
    table = np.column_stack([X[:, :2].astype(object), codes.astype(object)])
    given_start = [X[:3, :2], codes[:3]]
    theirs = kprototypes.KPrototypes(3, init=given_start, gamma=gamma, n_init=1, random_state=0)
    theirs.fit(table, categorical=[2, 3])
    assert cost == pytest.approx(theirs.cost_, rel=1e-9)
    modes = (done.model[:, 2:] > 0).astype(int)
    assert (modes[:, :3].sum(axis=1) == 1).all()
    assert (modes[:, 3:].sum(axis=1) == 1).all()


@pytest.mark.parametrize("center", ["mode", "shares"])
@given(seed=st.integers(0, 10_000), n_clients=st.integers(1, 20))
def test_any_split_equals_pooling_ties_included(center: str, seed: int, n_clients: int) -> None:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, 60)  # nothing but few categories: many ties
    X = np.column_stack([rng.integers(0, 2, 60), np.eye(3)[codes] * 0.7])
    schema = Schema(4, blocks=np.array([0, 1, 1, 1]), height=np.array([1, 0.7, 0.7, 0.7]))
    plan = Plan(make("llf-prototypes", 3, init=X[:3], center=center, max_rounds=30))
    pooled = run(plan, deal(X, 1), schema)
    parts = run(plan, deal(X, n_clients, seed), schema)
    np.testing.assert_allclose(parts.model, pooled.model, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("removed", [0.0, 0.3])
def test_masked_sums_give_the_same_bits_for_any_split(removed: float) -> None:
    X, _, schema = mixed(150, 0, 1.0)
    holes = np.random.default_rng(0).random((150, 4)) < removed
    X[holes[:, [0, 1, 2, 2, 2, 3, 3, 3, 3]]] = np.nan  # a category is missing in its whole block
    low, high = np.full(9, -20.0), np.full(9, 20.0)
    schema = Schema(9, low, high, missing=removed > 0, blocks=BLOCKS, height=schema.height)
    algorithm = make("llf-prototypes", 3, init=np.nan_to_num(X[:3]))
    found = [cluster(algorithm, deal(X, n, n), schema, privacy="secure") for n in (3, 5)]
    assert found[0].centers.tobytes() == found[1].centers.tobytes()
    clear = cluster(algorithm, deal(X, 4), schema)
    np.testing.assert_allclose(found[0].centers, clear.centers, atol=1e-6)


def test_the_default_start_finds_the_clusters() -> None:
    X, _, schema = mixed(300, 1, 1.0)
    found = cluster(make("llf-prototypes", 3), deal(X, 3), schema)
    wanted = cluster(make("llf-prototypes", 3, init=X[:3]), deal(X, 3), schema)
    assert found.inertia <= wanted.inertia * (1 + 1e-9)


def test_what_it_does_not_take_is_refused_in_words() -> None:
    settings: dict[str, Any] = {"center": "median"}
    with pytest.raises(ConfigError, match="center must be 'mode' or 'shares', got 'median'"):
        make("llf-prototypes", 2, **settings)
    X, _, _ = mixed(60, 1, 1.0)
    boxed = Schema(9, np.full(9, -20.0), np.full(9, 20.0), blocks=BLOCKS)
    with pytest.raises(ConfigError, match="no bound is known on how much one record changes"):
        cluster(make("llf-prototypes", 2), deal(X, 3), boxed, privacy="dp")
