"""The summary of rows with missing cells."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedclust import FederatedKMeans, FederatedMixture
from fedclust.channels import LocalChannel
from fedclust.clustering.summary import DataSummary, SummaryRun, publish
from fedclust.clustering.summary.cells import CellMicroQuery, CellMicroSums
from fedclust.core import Data, Plan, Schema, run
from fedclust.privacy import FixedPoint
from fedclust.tiers import tier_of
from fedclust.typing import FloatArray

from .cases import HIGH, LOW, blobs, summarise

FIELDS = ("centers", "weight", "square", "borders", "cells")


def with_gaps(X: FloatArray, share: float, seed: int = 0) -> FloatArray:
    gaps = np.random.default_rng(seed).random(X.shape) < share
    return np.where(gaps, np.nan, X)


def learn(X: FloatArray, owner: Any = None, tier: str = "secure") -> DataSummary:
    F = X.shape[1]
    owner = np.arange(len(X)) % 3 if owner is None else owner
    clients = {f"c{i}": Data.of(X[owner == i], missing=True) for i in np.unique(owner)}
    schema = Schema(F, low=np.full(F, LOW), high=np.full(F, HIGH), missing=True)
    chosen = tier_of(tier)
    return SummaryRun(chosen.channel(LocalChannel(clients)), schema, chosen).learn()


@settings(deadline=None, max_examples=5)
@given(st.integers(0, 2**31), st.integers(3, 8))
def test_any_split_gives_the_same_bits(seed: int, n_clients: int) -> None:
    pytest.importorskip("cryptography")
    X = with_gaps(blobs(4, 200, F=3, seed=seed), 0.3, seed)
    owner = np.random.default_rng(seed).integers(0, n_clients, len(X))
    owner[:n_clients] = np.arange(n_clients)
    one, other = learn(X), learn(X, owner)
    for name in FIELDS:
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


def test_complete_rows_give_the_summary_of_complete_rows() -> None:
    pytest.importorskip("cryptography")
    X = blobs(4, 400)
    ours, plain = learn(X), summarise(X, tier="secure")
    for name in ("centers", "weight", "borders"):
        assert np.array_equal(getattr(ours, name), getattr(plain, name)), name
    np.testing.assert_allclose(ours.square, plain.square, rtol=1e-12, atol=1e-12)


def test_the_summary_is_close_to_that_of_the_complete_rows() -> None:
    X = blobs(5, 3000)
    full, gaps = summarise(X), learn(with_gaps(X, 0.2), tier="none")
    assert gaps.rows == pytest.approx(3000, rel=0.05)  # rows without any value have no vote
    np.testing.assert_allclose(gaps.mean, full.mean, atol=0.3)
    assert gaps.total_inertia / gaps.rows == pytest.approx(full.total_inertia / full.rows, rel=0.1)


def test_no_mean_of_the_summary_is_a_single_cell() -> None:
    """A column that few rows have shows the mean of the column, and no value of theirs."""
    X = np.column_stack([blobs(4, 300)[:, 0], np.full(300, np.nan)])
    X[[7, 90, 200], 1] = [1.25, 2.5, 3.75]
    summary = learn(X)
    assert np.allclose(summary.centers[:, 1], 2.5)
    shown = publish(summary, 5)
    for value in (1.25, 3.75):
        assert not np.isclose(shown.centers, value, atol=1e-3).any()


def test_few_cells_are_rounded_more_than_many() -> None:
    X = blobs(3, 2400)
    X[:1600, 1] = np.nan
    summary = learn(X, tier="none")
    shown = publish(summary, 3)
    assert summary.cells is not None
    as_if_complete = publish(replace(summary, cells=None), 3)
    if len(shown) != len(summary):
        pytest.fail("the test needs micro-clusters that are all large enough")
    moved = np.abs(shown.centers - summary.centers)[:, 1].mean()
    assert moved > np.abs(as_if_complete.centers - summary.centers)[:, 1].mean()
    assert DataSummary.from_config(shown.as_config()).cells is not None


def sums_of(X: Any, *, borders: bool = False) -> CellMicroSums:
    centers = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 9.0]])
    plan = Plan(CellMicroQuery(3, centers, borders))
    channel = LocalChannel({"a": Data.of(X, missing=True)})
    sums: CellMicroSums = run(plan, channel, Schema(2, missing=True)).model
    return sums


def test_the_query_sums_observed_cells() -> None:
    nan = np.nan
    sums = sums_of([[1.0, nan], [3.0, 0.0], [nan, 8.0]], borders=True)
    assert sums.rows.tolist() == [1, 1, 1]
    assert sums.weight.tolist() == [[1, 0], [1, 1], [0, 1]]
    assert sums.total.tolist() == [[1, 0], [3, 0], [0, 8]]
    assert sums.square.tolist() == [[1, 0], [1, 0], [0, 1]]
    # Over one column, other centres may be nearest but one: the lowest index wins a tie.
    assert sums.borders.tolist() == [[0, 0, 1], [1, 0, 0], [1, 0, 0]]
    kept = sums.keep(np.array([True, False, True]))
    assert kept.rows.tolist() == [1, 0, 1]
    assert kept.weight.tolist() == [[1, 0], [0, 0], [0, 1]]


def test_sums_that_were_made_without_a_grid_are_rounded_to_it() -> None:
    bounds = Schema(2, low=np.full(2, LOW), high=np.full(2, HIGH), missing=True)
    grid = FixedPoint.over(bounds).grid
    sums = sums_of(with_gaps(blobs(3, 60), 0.3), borders=True)
    back = sums.on_grid(grid).off_grid(grid)
    for name in ("weight", "total", "square", "borders", "rows"):
        assert getattr(back, name) == pytest.approx(getattr(sums, name), abs=1e-6)
    assert sums.on_grid(grid).on_grid(grid).weight.dtype == np.int64


@pytest.mark.parametrize("kind", [FederatedKMeans, FederatedMixture])
def test_the_number_of_clusters_is_found_with_missing_cells_under_masks(kind: Any) -> None:
    pytest.importorskip("cryptography")
    rng = np.random.default_rng(0)
    places = np.array([[-8.0, -8.0, 0.0], [8.0, -8.0, 0.0], [0.0, 8.0, 8.0], [8.0, 8.0, -8.0]])
    X = with_gaps(rng.normal(places[np.arange(1200) % 4], 0.8), 0.25)
    model = kind("auto", missing="partial", privacy="secure", bounds=(-15, 15), random_state=0)
    model.fit(X, clients=np.arange(1200) // 7 % 3)
    assert model.n_clusters_ == 4
    assert model.choice_.summary.queries <= 11
