"""Profiles, shapes and client counts equal those of the pooled rows, except withheld ones."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedclust.channels import LocalChannel
from fedclust.core import Plan, Schema, run
from fedclust.kernels import memberships, nearest
from fedclust.metrics import ClientCounts, ClusterShapes, Profile

CENTERS = np.array([[0.0, 0.0, 0.0], [5.0, 5.0, 0.0]])
AXES = np.linalg.qr(np.array([[1.0, 2.0], [0.5, -1.0], [2.0, 0.0]]))[0]
rng = np.random.default_rng(0)
X = CENTERS[rng.integers(0, 2, 90)] + rng.normal(size=(90, 3))
LABELS = nearest(X, CENTERS)[0]


def split(owner: list[int]) -> LocalChannel:
    owners = np.array(owner)
    return LocalChannel({f"c{m}": X[owners == m] for m in range(3)}, strict=True)


owners = st.lists(st.integers(0, 2), min_size=90, max_size=90)


@settings(max_examples=20, deadline=None)
@given(owner=owners)
def test_a_profile_is_that_of_the_pooled_rows(owner: list[int]) -> None:
    sums = run(Plan(Profile(2, CENTERS, min_count=1)), split(owner), Schema(3)).model
    for c in (0, 1):
        rows = X[c == LABELS] - CENTERS[c]
        assert sums.size[c] == len(rows)
        assert np.allclose(sums.total[c], rows.sum(axis=0))
        assert np.allclose(sums.square[c], (rows**2).sum(axis=0))
    assert not sums.entropy.any()


def test_fuzzy_clusters_have_the_entropy_of_their_memberships() -> None:
    sums = run(Plan(Profile(2, CENTERS, 2.0, 1)), LocalChannel({"a": X}), Schema(3)).model
    U = memberships(X, CENTERS, 2.0)
    entropy = -(U * np.log2(U)).sum(axis=1)
    for c in (0, 1):
        assert sums.entropy[c] == pytest.approx(entropy[c == LABELS].sum())
    single = run(Plan(Profile(1, CENTERS[:1], 2.0, 1)), LocalChannel({"a": X}), Schema(3)).model
    assert single.entropy.tolist() == [0.0]


def test_clusters_of_few_rows_are_withheld() -> None:
    """Totals over all rows are absent too: the difference would reveal the cluster."""
    few, many = X[LABELS == 1][:3], X[LABELS == 0][:20]
    plan = Plan(Profile(2, CENTERS, min_count=5))
    both, without = (
        run(plan, LocalChannel({"a": rows}), Schema(3)).model
        for rows in (np.vstack([many, few]), many)
    )
    assert both.size.tolist() == [20, 0]
    for name, array in both.arrays().items():
        assert np.allclose(array, without.arrays()[name], rtol=1e-12, atol=0)


@settings(max_examples=20, deadline=None)
@given(owner=owners)
def test_cluster_shapes_are_those_of_the_pooled_rows(owner: list[int]) -> None:
    shapes = run(Plan(ClusterShapes(2, CENTERS, AXES, 1)), split(owner), Schema(3)).model
    for c in (0, 1):
        flat = (X[c == LABELS] - CENTERS[c]) @ AXES
        assert np.allclose(shapes.total[c], flat.sum(axis=0))
        assert np.allclose(shapes.square[c], flat.T @ flat)


def test_client_counts_withhold_small_counts() -> None:
    owner = [0] * 50 + [1] * 37 + [2] * 3
    low, high = np.full(2, -9.0), np.full(2, 9.0)
    query = ClientCounts(2, CENTERS, AXES, low, high, cells=6, min_count=5)
    counts_by_client = run(Plan(query), split(owner), Schema(3)).model
    for m, (first, last) in enumerate([(0, 50), (50, 87), (87, 90)]):
        counts = np.bincount(LABELS[first:last], minlength=2)
        assert counts_by_client.sizes[m].tolist() == np.where(counts >= 5, counts, 0).tolist()
        position = ((X[first:last] @ AXES - low) / 3).astype(int)
        cells = np.zeros((6, 6))
        np.add.at(cells, (position[:, 0], position[:, 1]), 1)
        assert (
            counts_by_client.cells[m].reshape(6, 6).tolist()
            == np.where(cells >= 5, cells, 0).tolist()
        )
    assert not counts_by_client.sizes[2].any()
