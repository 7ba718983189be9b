"""Elbow, overlap, reference cloud and merging, without clients."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedclust.clustering.choose_k import Score
from fedclust.clustering.choose_k.rule import elbow, favourites, one_cloud, pick, weakest_cluster
from fedclust.clustering.choose_k.sweep import rounds_per_k
from fedclust.kernels.features import merge_centers
from fedclust.metrics import inertia


def score(
    k: int,
    silhouette: float,
    weakest: float,
    soft_davies_bouldin: float = 1.0,
    xie_beni: float = 1.0,
    elbow: float = 0.0,
) -> Score:
    indices = {
        "inertia": 1.0,
        "simplified-silhouette": silhouette,
        "soft-davies-bouldin": soft_davies_bouldin,
        "xie-beni": xie_beni,
    }
    return Score(k, np.zeros((k, 1)), indices, elbow, weakest, weakest)


def test_the_elbow_is_where_the_fall_ends() -> None:
    elbows = elbow([1, 2, 3, 4, 5], [1000.0, 100.0, 10.0, 9.0, 8.0])
    assert elbows.argmax() == 2
    assert elbows[[0, -1]].tolist() == [0.0, 0.0]
    assert elbow([1, 2, 3], [8.0, 4.0, 2.0]) == pytest.approx([0.0, 0.0, 0.0])  # no bend


def test_a_group_of_few_rows_is_no_reason_for_one_more_cluster() -> None:
    three, four = score(3, 0.8, 1.0), replace(score(4, 0.79, 1.0), smallest=0.004)
    assert pick([three, four]) is four
    assert pick([three, four], few=0.015) is three
    assert pick([four], few=0.015) is four  # rather than none
    assert pick([three, score(4, 0.79, 1.0)], near=0.0) is three  # the best silhouette alone


def test_an_elbow_without_a_drop_is_zero() -> None:
    assert elbow([1, 2], [0.0, 0.0]).tolist() == [0.0, 0.0]
    assert elbow([1, 2], [3.0, 3.0]).tolist() == [0.0, 0.0]
    assert np.isfinite(elbow([1, 2, 3], [5.0, 0.0, 0.0])).all()


def test_the_weakest_cluster_has_the_smallest_overlap() -> None:
    assert weakest_cluster(np.diag([5.0, 3.0])) == 1.0
    assert weakest_cluster(np.array([[0.0, 4.0], [6.0, 0.0]])) == 1.0  # the order does not matter
    split = np.array([[10.0, 0.0, 0.0], [0.0, 5.0, 5.0], [0.0, 0.0, 0.0]])
    assert weakest_cluster(split) == 0.0  # the third has no rows in one of the halves
    assert weakest_cluster(np.array([[8.0, 2.0], [0.0, 10.0]])) == pytest.approx(0.8)


def test_the_largest_stable_number_near_the_best_silhouette_is_picked() -> None:
    scores = [score(2, 0.80, 1.0), score(3, 0.79, 0.9), score(4, 0.82, 0.3), score(5, 0.6, 1.0)]
    assert pick(scores).n_clusters == 3  # 4 is not stable, 5 is not near
    assert pick([score(2, 0.5, 0.2), score(3, 0.6, 0.1)]).n_clusters == 3  # by silhouette alone
    unmeasured = [score(2, 0.7, np.nan), score(3, 0.6, np.nan)]
    assert pick(unmeasured).n_clusters == 2


def test_every_index_has_its_favourite() -> None:
    scores = [
        score(2, 0.9, 1.0, soft_davies_bouldin=2.0, xie_beni=np.inf),
        score(3, 0.5, 0.8, soft_davies_bouldin=1.0, xie_beni=0.3, elbow=0.1),
        score(4, 0.5, 0.1, soft_davies_bouldin=3.0, xie_beni=0.2, elbow=0.4),
    ]
    assert favourites(scores) == {
        "simplified-silhouette": 2,
        "soft-davies-bouldin": 3,
        "xie-beni": 4,
        "elbow": 4,
        "stability": 3,
    }


def test_one_cloud_has_the_silhouette_of_data_without_clusters() -> None:
    """Eight centres and the spread around them give the silhouette of the rows.

    It is higher for a longer cloud and for fewer features.
    """
    from fedclust.kernels import hard_sums, k_means
    from fedclust.metrics import simplified_silhouette

    rng = np.random.default_rng(0)
    silhouettes = {}
    for name, scale in {"long": [6.0, 1.0], "round": [1.0, 1.0], "wide": [1.0] * 8}.items():
        X = rng.normal(size=(2000, len(scale))) * scale
        centers = k_means(X, 8, rng, restarts=1)
        sizes = hard_sums(X, centers).weight
        silhouettes[name] = one_cloud(centers, sizes, inertia(X, centers), len(X), 2, 0)
        own = simplified_silhouette(X, k_means(X, 2, rng))
        assert silhouettes[name] == pytest.approx(own, abs=0.04)
    assert silhouettes["long"] > silhouettes["round"] > silhouettes["wide"]


@given(seed=st.integers(0, 1000), k=st.integers(1, 5))
def test_a_merge_is_the_cheapest_one_and_keeps_the_mean(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    centers, sizes = rng.normal(size=(6, 2)), rng.integers(1, 9, 6).astype(float)
    fewer = merge_centers(centers, sizes, k)
    assert fewer.shape == (k, 2)
    if k == 1:
        np.testing.assert_allclose(fewer[0], sizes @ centers / sizes.sum())
    if k == 5:
        costs = [
            sizes[i] * sizes[j] / (sizes[i] + sizes[j]) * ((centers[i] - centers[j]) ** 2).sum()
            for i in range(6)
            for j in range(i)
        ]
        assert inertia(centers, fewer, sample_weight=sizes) <= min(costs) + 1e-9


def test_an_empty_cluster_is_merged_first() -> None:
    centers = np.array([[0.0], [1.0], [50.0], [80.0]])
    fewer = merge_centers(centers, np.array([5.0, 5.0, 0.0, 5.0]), 3)
    assert sorted(fewer.ravel()) == pytest.approx([0.0, 1.0, 80.0], abs=1e-6)
    assert np.isfinite(merge_centers(centers, np.array([5.0, 0.0, 0.0, 0.0]), 2)).all()


@given(n_rounds=st.integers(1, 300), top=st.integers(3, 15))
def test_the_rounds_a_k_may_take_keep_the_limit(n_rounds: int, top: int) -> None:
    ks = list(range(2, top + 1))
    spent = top * (1 + n_rounds + 1)
    per_k = rounds_per_k(spent, n_rounds, ks)
    others = sum(ks[:-1])
    halves = top * (1 + n_rounds + 2) + (2 * others if per_k else 0)
    assert spent + halves + others + 2 * per_k * others + 1 <= 6 * spent
    assert rounds_per_k(spent, n_rounds, [top]) == 0
