"""Clusters are numbered from 0 by size, whatever the split, the weights and the order of rows."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans

from fedclust import (
    FederatedFuzzyCMeans,
    FederatedKMeans,
    VerticalFuzzyCMeans,
    VerticalKMeans,
    make,
)
from fedclust.typing import FloatArray

KINDS = [FederatedKMeans, FederatedFuzzyCMeans, VerticalKMeans, VerticalFuzzyCMeans]


def uneven(seed: int) -> FloatArray:
    """Clusters of 150, 60 and 30 rows, in any order."""
    rng = np.random.default_rng(seed)
    means = rng.permutation(np.array([[0.0, 0.0], [15.0, 0.0], [0.0, 15.0]]))
    return rng.permutation(rng.normal(np.repeat(means, [150, 60, 30], axis=0), 1.0))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=10, deadline=None)
@given(data=st.integers(0, 10**6), seed=st.integers(0, 10**6))
def test_the_largest_cluster_is_number_0(kind: Any, data: int, seed: int) -> None:
    X = uneven(data)
    model = kind(3, random_state=seed).fit(X)
    sizes = np.bincount(model.labels_, minlength=3)
    if sizes.min() > 20:  # otherwise the start led to another optimum
        assert sizes.tolist() == [150, 60, 30]
    assert (np.diff(sizes) <= 0).all()
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    if hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(model.predict_proba(X).argmax(axis=1), model.labels_)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_rows_of_weight_two_count_twice(seed: int) -> None:
    X = uneven(seed)
    weight = np.random.default_rng(seed).integers(0, 6, len(X))
    weighted = FederatedKMeans(3, init="client", random_state=0)
    weighted.fit(X, sample_weight=weight)
    sizes = np.bincount(weighted.labels_, weight, 3)
    assert (np.diff(sizes) <= 0).all()


def test_given_centres_keep_their_order() -> None:
    """Cluster i is the one that started from centre i, as scikit-learn's users expect."""
    X = uneven(0)
    corners = np.array([[0.0, 15.0], [15.0, 0.0], [0.0, 0.0]])
    for start in (corners, corners[[2, 0, 1]]):
        ours = FederatedKMeans(3, init=start).fit(X, clients=np.arange(240) % 4)
        theirs = KMeans(3, init=start, n_init=1, tol=0.0).fit(X)
        np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    made = FederatedKMeans(3, algorithm=make("llf-cm", 3, init=start)).fit(X)
    np.testing.assert_array_equal(made.labels_, theirs.labels_)
    first = [np.flatnonzero(theirs.labels_ == c)[0] for c in (2, 0, 1)]
    records = VerticalKMeans(3, init=first).fit({"a": X[:, :1], "b": X[:, 1:]})
    assert records.labels_[first].tolist() == [0, 1, 2]


def test_the_start_in_the_result_is_in_the_order_of_the_clusters() -> None:
    X = uneven(1)
    ours = FederatedKMeans(3, random_state=4).fit(X, clients=np.arange(240) % 4)
    pooled = KMeans(3, init=vars(ours.algorithm_)["init"], n_init=1, tol=0.0).fit(X)
    np.testing.assert_array_equal(ours.labels_, pooled.labels_)
    for init in ("k-means++", "partition"):
        split = VerticalKMeans(3, init=init, random_state=4).fit({"a": X[:, :1], "b": X[:, 1:]})
        again = VerticalKMeans(3, init=vars(split.algorithm_)["init"]).fit(
            {"a": X[:, :1], "b": X[:, 1:]}
        )
        np.testing.assert_array_equal(split.labels_, again.labels_)


def test_with_noise_the_order_does_not_depend_on_exact_sizes() -> None:
    """Sizes would be another release; the centres themselves are public."""
    pytest.importorskip("opendp")
    model = FederatedKMeans(3, privacy="dp", bounds=(-10, 30), random_state=0)
    model.fit(np.repeat(uneven(0), 40, axis=0), clients=np.arange(9600) % 4)
    first = model.cluster_centers_[:, 0]
    assert (np.diff(first) >= 0).all()
