"""Clustering of rows with missing cells: any split gives the result of pooled rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from fedclust import make
from fedclust.algorithms.centers import CellSums
from fedclust.algorithms.partial import PartialRivals
from fedclust.channels import LocalChannel
from fedclust.clustering.rows import Clustering, cluster
from fedclust.core import Batches, ConfigError, Data, DataError, Plan, Schema, run
from fedclust.kernels.grid import make_grid
from fedclust.privacy import CheckedChannel, FixedPoint
from fedclust.typing import Array, FloatArray

F = 5
SCHEMA = Schema(F, low=np.full(F, -6.0), high=np.full(F, 14.0), missing=True)
TRUTH = np.repeat([0, 1, 2], 60)


def make_rows(share: float = 0.3, seed: int = 0) -> FloatArray:
    rng = np.random.default_rng(seed)
    X = np.concatenate([rng.normal(loc=m, size=(60, F)) for m in (0, 4, 8)])
    X[rng.random(X.shape) < share] = np.nan
    rows: FloatArray = X[~np.isnan(X).all(axis=1)]
    return rows


def clients_of(X: FloatArray, owners: Array) -> LocalChannel:
    return LocalChannel({str(o): Data.of(X[owners == o], missing=True) for o in np.unique(owners)})


def run_over(X: FloatArray, owners: Array, key: str, *, exact: bool = False) -> FloatArray:
    start = np.array([[0.5] * F, [3.0] * F, [7.0] * F])
    algorithm = make(key, 3, init=start).over_cells()
    transforms = (FixedPoint.over(SCHEMA),) if exact else ()
    done = run(Plan(algorithm, transforms), clients_of(X, owners), SCHEMA)
    model: FloatArray = done.model
    return model


@pytest.mark.parametrize("key", ["llf-cm", "llf-fcm"])
@given(seed=st.integers(0, 2**16), n_clients=st.integers(2, 6))
@settings(max_examples=15, deadline=None)
def test_any_split_gives_the_pooled_centres(key: str, seed: int, n_clients: int) -> None:
    X = make_rows(0.4, seed)
    owners: Array = np.random.default_rng(seed).integers(0, n_clients, len(X)).astype(float)
    alone = np.zeros(len(X))
    np.testing.assert_allclose(run_over(X, owners, key), run_over(X, alone, key), atol=1e-9)
    split, pooled = (run_over(X, who, key, exact=True) for who in (owners, alone))
    np.testing.assert_array_equal(split, pooled)


@pytest.mark.parametrize("key", ["llf-cm", "llf-fcm"])
def test_a_client_without_a_column_takes_part(key: str) -> None:
    X = make_rows(0.1)
    owners = np.arange(len(X)) % 3
    X[owners == 1, 2] = np.nan
    assert not np.isnan(X).all(axis=1).any()
    alone = run_over(X, np.zeros(len(X)), key, exact=True)
    np.testing.assert_array_equal(run_over(X, owners, key, exact=True), alone)


@pytest.mark.parametrize("key", ["llf-cm", "llf-fcm"])
def test_complete_rows_give_the_plain_result_bit_for_bit(key: str) -> None:
    X = make_rows(0.0)
    owners = np.arange(len(X)) % 3
    start = X[[0, 70, 140]]
    plain = run(Plan(make(key, 3, init=start)), clients_of(X, owners), SCHEMA).model
    partial = run(Plan(make(key, 3, init=start).over_cells()), clients_of(X, owners), SCHEMA).model
    np.testing.assert_array_equal(partial, plain)


def find(key: str, X: FloatArray, privacy: str) -> Clustering:
    return cluster(make(key, 3), clients_of(X, np.arange(len(X)) % 3), SCHEMA, privacy=privacy)


@pytest.mark.parametrize("privacy", ["none", "secure"])
@pytest.mark.parametrize("key", ["llf-cm", "llf-fcm"])
def test_the_default_start_finds_the_clusters(key: str, privacy: str) -> None:
    X = make_rows(0.2, seed=1)
    found = find(key, X, privacy)
    labels = found.algorithm.assign(found.run.state, Data(X, np.empty(0)))
    labels = labels.argmax(axis=1) if labels.ndim == 2 else labels
    assert len(X) == len(TRUTH)
    assert adjusted_rand_score(TRUTH, labels) > 0.9
    assert found.converged


@pytest.mark.parametrize("privacy", ["paper", "guarded", "dp", "secure+dp"])
def test_tiers_without_a_proof_refuse(privacy: str) -> None:
    with pytest.raises(ConfigError, match="protects sums over complete rows only"):
        find("llf-cm", make_rows(), privacy)


def test_other_algorithms_refuse() -> None:
    with pytest.raises(ConfigError, match="fkm needs complete rows"):
        find("fkm", make_rows(), "none")
    channel = clients_of(make_rows(), np.zeros(len(make_rows())))
    with pytest.raises(DataError, match="careful needs complete rows"):
        cluster(make("llf-cm", 3), channel, SCHEMA, init="careful")


def test_distances_over_few_observed_cells_do_not_overflow_the_grid() -> None:
    """A row with one observed cell of F has F times the squared distance in it."""
    schema = Schema(30, low=np.zeros(30), high=np.r_[1000.0, np.ones(29)], missing=True)
    X = np.full((40, 30), np.nan)
    X[:, 0] = np.repeat([0.0, 1000.0], 20)
    channel = clients_of(X, np.arange(40) % 4)
    algorithm = make("llf-cm", 2, init=np.array([[0.0] * 30, [500.0] + [1.0] * 29]))
    found = cluster(algorithm, channel, schema, privacy="secure")
    np.testing.assert_allclose(sorted(found.centers[:, 0]), [0, 1000], atol=1e-5)
    wide, plain = (
        FixedPoint.over(s).grid.plain for s in (schema, Schema(30, schema.low, schema.high))
    )
    assert wide < plain


@pytest.mark.parametrize("key", ["llf-cm", "llf-fcm"])
def test_rows_in_batches_give_the_same(key: str) -> None:
    X = make_rows()
    start = X[:3].copy()
    start[np.isnan(start)] = 1.0
    parts = [Data.of(part, missing=True) for part in np.array_split(X, 7)]
    held = LocalChannel({"a": Data.of(X, missing=True)})
    read = LocalChannel({"a": Batches(lambda: iter(parts), len(X), F)})
    plan = Plan(make(key, 3, init=start).over_cells())
    in_memory, in_batches = (run(plan, channel, SCHEMA).model for channel in (held, read))
    np.testing.assert_allclose(in_memory, in_batches, atol=1e-9)


def test_clients_that_only_compare_starts_are_not_left_out() -> None:
    """Over observed cells such a message has weights for no cluster, in every column."""
    X = make_rows(0.2, seed=1)
    data = clients_of(X, np.arange(len(X)) % 3)
    channel = CheckedChannel(data, SCHEMA)
    starts = np.nan_to_num(np.concatenate([X[:3], X[3:6]]))
    done = run(Plan(PartialRivals(3, starts, step=False)), channel, SCHEMA)
    assert done.model.score.shape == (2,)
    assert not channel.left_out


def test_sums_that_are_no_integers_yet_are_rounded_as_the_kernels_round() -> None:
    """A message of means over cells can become one on the grid, and back."""
    grid = make_grid(np.full(F, -6.0), np.full(F, 14.0), 200)
    rng = np.random.default_rng(0)
    sums = CellSums(rng.random((3, F)) * 50, rng.normal(size=(3, F)) * 100)
    rounded = sums.on_grid(grid)
    assert rounded.weight.dtype == rounded.total.dtype == np.int64
    assert rounded.on_grid(grid) is rounded
    back = rounded.off_grid(grid)
    np.testing.assert_allclose(back.weight, sums.weight, atol=1.0 / grid.mass)
    np.testing.assert_allclose(back.total, sums.total, atol=1e-6)
