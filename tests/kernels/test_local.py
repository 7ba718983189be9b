"""Non-federated clustering: k-means, seeding and matching."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans

from fedclust.kernels import (
    farthest_first,
    fuzzy_c_means,
    hard_sums,
    inertia,
    k_means,
    kmeans_plusplus,
    lloyd,
    match_centers,
    pad_centers,
    random_seeds,
)
from fedclust.typing import FloatArray


def blobs(seed: int = 0, n: int = 300, F: int = 3, k: int = 4) -> FloatArray:
    rng = np.random.default_rng(seed)
    centers = rng.normal(scale=5, size=(k, F))
    return rng.normal(centers[rng.integers(0, k, n)])


def test_lloyd_is_scikit_learns_from_the_same_start() -> None:
    X = blobs()
    ours = lloyd(X, X[:4], steps=100).centers
    theirs = KMeans(4, init=X[:4], n_init=1, tol=0.0).fit(X).cluster_centers_
    np.testing.assert_allclose(ours, theirs, rtol=1e-10)


def test_weighted_k_means_reaches_scikit_learns_inertia(rng: np.random.Generator) -> None:
    X, w = blobs(n=120), rng.random(120) + 0.1
    centers = k_means(X, 5, rng, w, restarts=20)
    theirs = KMeans(5, n_init=20, random_state=0).fit(X, sample_weight=w).inertia_
    assert inertia(X, centers, w) <= theirs * 1.001


def test_a_centre_with_too_few_rows_does_not_move() -> None:
    X = np.array([[0.0], [1.0], [10.0]])
    result = lloyd(X, np.array([[0.4], [9.0]]), steps=5, min_count=2)
    assert result.centers.tolist() == [[0.5], [9.0]]
    assert result.records.tolist() == [2, 1]


def test_lloyd_takes_the_first_sums_from_its_caller() -> None:
    X = blobs()
    first = hard_sums(X, X[:4])
    for ours, theirs in zip(
        lloyd(X, X[:4], steps=3, first=first), lloyd(X, X[:4], steps=3), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_starts_may_ignore_the_weights() -> None:
    X, w = blobs(n=60), np.where(np.arange(60) < 3, 1e9, 1e-9)

    def start(weight: FloatArray, *, weighted: bool) -> FloatArray:
        rng = np.random.default_rng(0)
        return k_means(X, 3, rng, weight, restarts=1, steps=0, weighted_starts=weighted)

    np.testing.assert_array_equal(start(w, weighted=False), start(np.ones(60), weighted=True))
    assert np.sort(start(w, weighted=True), axis=0).tolist() == np.sort(X[:3], axis=0).tolist()


def test_fewer_points_than_centres_gives_repeats_not_nan(rng: np.random.Generator) -> None:
    X = np.array([[1.0, 1.0], [2.0, 2.0]])
    centers = k_means(X, 5, rng)
    assert centers.shape == (5, 2)
    assert {tuple(c) for c in centers} == {(1.0, 1.0), (2.0, 2.0)}
    start = np.arange(10.0).reshape(5, 2)
    assert (k_means(X, 5, rng, start=start)[2:] == start[2:]).all()


def test_fuzzy_c_means_converges() -> None:
    X = blobs()
    centers, weight = fuzzy_c_means(X, X[:4], 2.0, steps=500, tol=1e-12)
    again, _ = fuzzy_c_means(X, centers, 2.0, steps=1)
    np.testing.assert_allclose(again, centers, atol=1e-9)
    assert (weight > 0).all()


@given(st.integers(0, 10_000))
def test_seeding_ignores_row_order_and_takes_weights_as_copies(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, copies = rng.normal(size=(30, 2)), rng.integers(1, 4, 30)
    repeated = np.repeat(X, copies, axis=0)
    shuffled = rng.permutation(repeated)
    for neighbours in (1, 5):
        a, b, c = (
            kmeans_plusplus(rows, 4, np.random.default_rng(1), weight, neighbours=neighbours)
            for rows, weight in [
                (X, copies.astype(float)),
                (repeated, np.empty(0)),
                (shuffled, np.empty(0)),
            ]
        )
        np.testing.assert_allclose(a, b, rtol=1e-12)
        np.testing.assert_allclose(b, c, rtol=1e-12)


@given(st.integers(0, 10_000), st.integers(2, 60), st.integers(1, 9))
def test_no_blended_seed_is_a_row(seed: int, n: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X[: n // 4] = X[n // 4]  # some equal rows
    for seeds in (
        kmeans_plusplus(X, k, rng, neighbours=5),
        random_seeds(X, k, rng, neighbours=5),
    ):
        assert len(seeds) <= k
        places, copies = np.unique(X, axis=0, return_counts=True)
        assert not (seeds[:, None] == places[copies < 5]).all(axis=2).any()


def test_a_handful_of_equal_rows_gives_no_blended_seed(rng: np.random.Generator) -> None:
    same = np.ones((4, 2))
    assert len(kmeans_plusplus(same, 3, rng, neighbours=5)) == 0
    assert len(random_seeds(same, 3, rng, neighbours=5)) == 0
    assert len(kmeans_plusplus(same[:0], 3, rng)) == 0
    # A value that five records share identifies none of them.
    assert kmeans_plusplus(np.ones((5, 2)), 3, rng, neighbours=5).tolist() == [[1.0, 1.0]]


def test_k_means_plus_plus_spreads_its_seeds(rng: np.random.Generator) -> None:
    centers = np.array([[0.0, 0.0], [100.0, 0.0], [0.0, 100.0]])
    X = np.repeat(centers, 50, axis=0) + rng.normal(size=(150, 2))
    seeds = kmeans_plusplus(X, 3, rng)
    np.testing.assert_allclose(match_centers(seeds, centers), centers, atol=5)


def test_a_blend_takes_distinct_rows_and_none_of_them_weighs_more(rng: np.random.Generator) -> None:
    X = np.array([[0.0], [0.0], [1.0], [5.0]])
    heavy = np.array([1.0, 1.0, 1e9, 1.0])
    for weight in (np.empty(0), heavy):
        assert kmeans_plusplus(X, 1, rng, weight, neighbours=5).tolist() == [[2.0]]


@given(st.integers(0, 10_000), st.integers(3, 40), st.integers(1, 9))
def test_blends_share_no_row_so_none_can_be_recovered(seed: int, n: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    X = np.diag(rng.random(n) + 1.0)  # a blend shows which rows it is made of
    for seeds in (kmeans_plusplus(X, k, rng, neighbours=5), random_seeds(X, k, rng, neighbours=5)):
        members = seeds != 0
        assert 1 <= len(seeds) <= min(k, n // 3)
        assert (members.sum(axis=1) >= 3).all()
        assert (members.sum(axis=0) <= 1).all()


def test_a_value_that_many_records_share_may_be_a_seed(rng: np.random.Generator) -> None:
    ratings = np.repeat([[1.0], [2.0], [3.0]], 5, axis=0)
    assert np.sort(kmeans_plusplus(ratings, 3, rng, neighbours=5).ravel()).tolist() == [1, 2, 3]
    few = np.repeat([[1.0], [2.0], [3.0]], 4, axis=0)
    assert kmeans_plusplus(few, 3, rng, neighbours=5).tolist() == [[2.0]]


def test_farthest_first_adds_the_farthest() -> None:
    X = np.array([[0.0], [1.0], [10.0], [6.0]])
    assert farthest_first(X, 3, X[:1]).ravel().tolist() == [0.0, 10.0, 6.0]


def test_matching_keeps_cluster_numbers(rng: np.random.Generator) -> None:
    old = rng.normal(size=(6, 2))
    new = old[rng.permutation(6)] + 1e-3
    np.testing.assert_allclose(match_centers(new, old), old, atol=2e-3)


def test_padding_repeats_centres() -> None:
    assert pad_centers(np.array([[1.0], [2.0]]), 5).ravel().tolist() == [1, 2, 1, 2, 1]
