"""The summary as a value: inertia, centres, tree, shapes and the choice of k without a query."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.cluster import KMeans
from sklearn.datasets import make_circles, make_moons
from sklearn.metrics import adjusted_rand_score

from fedclust.clustering.summary import (
    DataSummary,
    assign,
    choose_from,
    cut,
    draw_rows,
    find_centers,
    find_shapes,
    inertias,
    ward_tree,
)
from fedclust.clustering.summary.shapes import gaps
from fedclust.core import ConfigError, DataError
from fedclust.kernels import inertia, nearest

from .cases import blobs, summarise


def of_points(points: list[list[float]]) -> DataSummary:
    """A summary of micro-clusters of one weight, without spread."""
    centers = np.array(points)
    M = len(centers)
    return DataSummary(centers, np.ones(M), np.zeros(centers.shape), np.zeros((M, M)))


@pytest.mark.parametrize("seed", range(3))
def test_starts_for_every_k_are_good(seed: int) -> None:
    X = np.random.default_rng(seed).lognormal(0, 0.7, (1_500, 3))  # skewed, without clusters
    summary = summarise(X)
    for k in (2, 5, 9, 14):
        best = KMeans(k, n_init=5, random_state=0).fit(X).inertia_
        found = find_centers(summary, k)
        assert inertia(X, found) <= 1.06 * best
        assert inertia(X, found) <= summary.inertia(found) * (1 + 1e-9)  # an upper limit


def test_centres_are_the_same_whenever_they_are_wanted() -> None:
    summary = summarise(blobs(4))
    assert np.array_equal(find_centers(summary, 4), find_centers(summary, 4))
    assert find_centers(summary, 1) == pytest.approx(summary.mean[None])
    fuzzy = find_centers(summary, 4, fuzzifier=2.0)
    assert np.abs(fuzzy - find_centers(summary, 4)).max() < 1.0
    assert len(np.unique(assign(summary, fuzzy))) == 4
    falling = inertias(summary, (1, 2, 3, 4))
    assert (np.diff(falling) < 0).all()


@pytest.mark.parametrize("k", [0, 61, 1_000])
def test_no_more_clusters_than_micro_clusters(k: int) -> None:
    summary = summarise(blobs(4))
    with pytest.raises(ConfigError, match="this summary has 60 micro-clusters"):
        find_centers(summary, k)
    with pytest.raises(ConfigError, match="choose k from 1 to 60"):
        cut(summary, ward_tree(summary), k)


@settings(deadline=None, max_examples=20)
@given(st.integers(2, 30), st.integers(0, 2**31))
def test_the_tree_of_single_points_is_that_of_scipy(n: int, seed: int) -> None:
    points = np.random.default_rng(seed).normal(size=(n, 3))
    tree = ward_tree(of_points(points.tolist()))
    theirs = linkage(points, "ward")
    assert tree.linkage[:, 2:] == pytest.approx(theirs[:, 2:])
    for k in {1, 2, n}:
        ours = cut(of_points(points.tolist()), tree, k)
        other = fcluster(theirs, k, "maxclust")
        assert adjusted_rand_score(ours, other) == 1.0
        assert sorted(set(ours.tolist())) == list(range(k))


def test_the_tree_weighs_micro_clusters_by_their_rows() -> None:
    summary = summarise(blobs(3))
    tree = ward_tree(summary)
    assert tree.weight[-1] == summary.rows
    # The heights add up to all squares between micro-clusters.
    assert (tree.height**2).sum() / 2 == pytest.approx(summary.total_inertia - summary.within)
    groups = cut(summary, tree, 3)
    assert np.bincount(groups, summary.weight).tolist() == [200, 200, 200]


@pytest.mark.parametrize("seed", range(3))
def test_shapes_that_are_not_round(seed: int) -> None:
    for X, y in (
        make_moons(1_500, noise=0.06, random_state=seed),
        make_circles(1_500, noise=0.04, factor=0.5, random_state=seed),
    ):
        summary = summarise(X)
        found = find_shapes(summary)[nearest(X, summary.centers)[0]]
        assert adjusted_rand_score(y, found) >= 0.95


def test_a_single_cloud_is_one_shape_and_few_rows_join_one() -> None:
    rng = np.random.default_rng(0)
    cloud = rng.normal(size=(1_000, 2))
    assert find_shapes(summarise(cloud)).max() == 0
    stray = np.vstack([cloud, [[80.0, 80.0]] * 3])
    assert find_shapes(summarise(stray)).max() == 0


def test_a_border_without_rows_is_a_gap() -> None:
    summary = of_points([[0.0, 0.0], [1.0, 0.0], [9.0, 0.0]])
    assert np.isinf(gaps(summary)[0, 1])
    with pytest.raises(ConfigError, match="this summary has no borders"):
        find_shapes(summary)
    beside = np.zeros((3, 3))
    beside[1, 0] = 1.0
    summary = DataSummary(summary.centers, summary.weight, summary.square + 0.2, beside)
    assert find_shapes(summary).tolist() == [0, 0, 1]


@pytest.mark.parametrize("k", [2, 5])
def test_k_is_chosen_without_a_query(k: int) -> None:
    summary = summarise(blobs(k, 900))
    choice = choose_from(summary, range(2, 10))
    assert (choice.recommended, choice.weak) == (k, False)
    assert "rows drawn from the summary" in choice.why
    assert (choice.rounds, choice.summary) == (summary.queries, summary)


@pytest.mark.parametrize("kind", ["normal", "uniform"])
@pytest.mark.parametrize("F", [1, 2, 8])
def test_a_cloud_without_clusters_is_weak_evidence(kind: str, F: int) -> None:
    X = getattr(np.random.default_rng(F), kind)(size=(1_000, F))
    assert choose_from(summarise(X), range(2, 10)).weak


def test_too_few_rows_for_a_choice() -> None:
    summary = summarise(blobs(2, 60))
    assert choose_from(summary, range(2, 10)).scores[-1].n_clusters == len(summary) // 2
    assert "too few rows to try more" in choose_from(summary, range(2, 10)).why
    with pytest.raises(ConfigError, match="so at most 3 clusters can be tried; give n_clusters"):
        choose_from(summary, [8, 9])


def test_drawn_rows_have_the_means_and_spreads_of_the_summary() -> None:
    summary = summarise(blobs(3, 3_000))
    drawn = draw_rows(summary, 10_000)
    assert len(drawn) == 3_000
    assert drawn.mean(axis=0) == pytest.approx(summary.mean, abs=0.05)
    assert ((drawn - drawn.mean(axis=0)) ** 2).sum() == pytest.approx(
        summary.total_inertia, rel=0.02
    )
    assert len(draw_rows(summary, 500)) == 500


def test_plain_values_for_a_file() -> None:
    summary = summarise(blobs(3, 200))
    again = DataSummary.from_config(json.loads(json.dumps(summary.as_config())))
    assert np.array_equal(again.centers, summary.centers)
    assert np.array_equal(again.borders, summary.borders)
    with pytest.raises(DataError, match=r"summary.json: .*wrong shape of weight"):
        DataSummary.from_config({**summary.as_config(), "weight": [1.0]}, "summary.json")
    with pytest.raises(DataError, match="lists of the same length"):
        DataSummary.from_config({**summary.as_config(), "centers": [[1.0], [1.0, 2.0]]})


def test_values_that_no_summary_has_are_refused() -> None:
    with pytest.raises(ConfigError, match="wrong shape of square"):
        of_points([])
    with pytest.raises(ConfigError, match="above zero, and all values finite"):
        DataSummary(np.zeros((1, 1)), np.zeros(1), np.zeros((1, 1)), np.zeros((1, 1)))


def test_another_scale() -> None:
    X = blobs(3, 300)
    summary = summarise(X)
    wider = summary.scaled(np.array([2.0, 2.0]))
    assert wider.total_inertia == pytest.approx(4 * summary.total_inertia)
