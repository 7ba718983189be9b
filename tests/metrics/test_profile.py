"""Profiles, shapes and counts are those of the pooled rows, however they are split."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedclust.channels import LocalChannel
from fedclust.core import Plan, Schema, run
from fedclust.kernels import memberships, nearest
from fedclust.metrics import ClientCounts, ClusterShapes, MapCounts, Profile
from fedclust.tiers import tier_of

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
    sums = run(Plan(Profile(2, CENTERS)), split(owner), Schema(3)).model
    for c in (0, 1):
        rows = X[c == LABELS] - CENTERS[c]
        assert sums.size[c] == len(rows)
        assert np.allclose(sums.total[c], rows.sum(axis=0))
        assert np.allclose(sums.square[c], (rows**2).sum(axis=0))
    assert not sums.entropy.any()


def test_fuzzy_clusters_have_the_entropy_of_their_memberships() -> None:
    sums = run(Plan(Profile(2, CENTERS, 2.0)), LocalChannel({"a": X}), Schema(3)).model
    U = memberships(X, CENTERS, 2.0)
    entropy = -(U * np.log2(U)).sum(axis=1)
    for c in (0, 1):
        assert sums.entropy[c] == pytest.approx(entropy[c == LABELS].sum())
    single = run(Plan(Profile(1, CENTERS[:1], 2.0)), LocalChannel({"a": X}), Schema(3)).model
    assert single.entropy.tolist() == [0.0]


@pytest.mark.parametrize("few", [1, 2, 3])
def test_the_papers_tier_withholds_sums_that_reveal_records(few: int) -> None:
    """The sum and the squares of two records reveal both."""
    rows = np.vstack([X[LABELS == 0][:20], X[LABELS == 1][:few]])
    channel = LocalChannel({"a": rows})
    for query in (Profile(2, CENTERS), ClusterShapes(2, CENTERS, AXES)):
        plan = tier_of("paper").plan(query, channel, Schema(3))
        sums = run(plan, channel, Schema(3)).model
        assert sums.size.tolist() == [20, few if few > 2 else 0]
        assert sums.square[1].any() == (few > 2)


@settings(max_examples=20, deadline=None)
@given(owner=owners)
def test_cluster_shapes_are_those_of_the_pooled_rows(owner: list[int]) -> None:
    shapes = run(Plan(ClusterShapes(2, CENTERS, AXES)), split(owner), Schema(3)).model
    for c in (0, 1):
        flat = (X[c == LABELS] - CENTERS[c]) @ AXES
        assert np.allclose(shapes.total[c], flat.sum(axis=0))
        assert np.allclose(shapes.square[c], flat.T @ flat)


@settings(max_examples=20, deadline=None)
@given(owner=owners)
def test_counts_are_those_of_the_rows(owner: list[int]) -> None:
    counts = run(Plan(ClientCounts(2, CENTERS)), split(owner), Schema(3)).model.sizes
    for m in range(3):
        own = LABELS[np.array(owner) == m]
        assert counts[m].tolist() == np.bincount(own, minlength=2).tolist()
    low, high = np.full(2, -9.0), np.full(2, 9.0)
    on_map = run(Plan(MapCounts(AXES, low, high, 6)), split(owner), Schema(3)).model.cells
    position = ((X @ AXES - low) / 3).astype(int)
    cells = np.zeros((6, 6))
    np.add.at(cells, (position[:, 0], position[:, 1]), 1)
    assert on_map.reshape(6, 6).tolist() == cells.tolist()


@pytest.mark.parametrize("query", [ClientCounts(2, CENTERS), MapCounts(AXES, *np.eye(2) * 9)])
def test_counts_of_grouped_rows_are_of_several_rows(query: ClientCounts | MapCounts) -> None:
    channel = split([0] * 90)
    found = run(tier_of("guarded").plan(query, channel, Schema(3)), channel, Schema(3)).model
    (counts,) = found.arrays().values()
    assert ((counts == 0) | (counts >= 5)).all()
