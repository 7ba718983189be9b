"""Lossless means: any split of the rows gives what pooling them gives, from the same start."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans

from fedclust.algorithms import ALGORITHMS, make
from fedclust.channels import LocalChannel
from fedclust.core import Data, Plan, Schema, run
from fedclust.typing import FloatArray

from .cases import LOSSLESS, split

BUILT_IN = ALGORITHMS.places


def pooled_fcm(X: FloatArray, centers: FloatArray, m: float, rounds: int) -> FloatArray:
    """Fuzzy c-means as in the textbook, on all rows at once."""
    for _ in range(rounds):
        D = ((X[:, None] - centers) ** 2).sum(axis=2)
        U = 1 / ((D[:, :, None] / D[:, None, :]) ** (1 / (m - 1))).sum(axis=2)
        W = U**m
        centers = (W.T @ X) / W.sum(axis=0)[:, None]
    return centers


def test_the_lossless_algorithms_of_the_package_are_these() -> None:
    assert {key for key in LOSSLESS if key in BUILT_IN} == {
        "llf-cm",
        "llf-fcm",
        "ffcm-avg1",
        "llf-prototypes",
        "llf-mixture",
    }


@pytest.mark.parametrize("key", LOSSLESS)
@given(seed=st.integers(0, 100_000), n_clients=st.integers(1, 50), F=st.sampled_from([1, 2, 5, 20]))
def test_any_split_equals_pooling(key: str, seed: int, n_clients: int, F: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, F)) + 5 * rng.integers(0, 3, (120, 1))
    plan = Plan(make(key, 4, init=X[:4] + 0.01, max_rounds=25))
    owner = rng.integers(0, n_clients, 120)
    pooled = run(plan, LocalChannel({"all": Data.of(X)}), Schema(F))
    parts = run(plan, LocalChannel(split(X, owner)), Schema(F))
    assert parts.n_rounds == pooled.n_rounds
    np.testing.assert_allclose(parts.model, pooled.model, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("F", [2, 30])
def test_llf_cm_is_scikit_learns_k_means(F: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, F)) + 4 * rng.integers(0, 3, (400, 1))
    theirs = KMeans(5, init=X[:5], n_init=1, tol=0.0).fit(X)
    plan = Plan(make("llf-cm", 5, init=X[:5]))
    ours = run(plan, LocalChannel(split(X, rng.integers(0, 7, 400))), Schema(F)).model
    np.testing.assert_allclose(ours, theirs.cluster_centers_, rtol=1e-9)


@pytest.mark.parametrize("key", ["llf-fcm", "ffcm-avg1"])
@pytest.mark.parametrize("fuzzifier", [1.2, 1.5, 2.0, 3.0])
@pytest.mark.parametrize("F", [2, 30])
def test_llf_fcm_and_avg1_are_the_textbooks(key: str, fuzzifier: float, F: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, F)) + 4 * rng.integers(0, 3, (300, 1))
    start = X[:4] + 0.1
    plan = Plan(make(key, 4, init=start, fuzzifier=fuzzifier, max_rounds=20, tol=0.0))
    ours = run(plan, LocalChannel(split(X, rng.integers(0, 7, 300))), Schema(F)).model
    np.testing.assert_allclose(ours, pooled_fcm(X, start, fuzzifier, 20), rtol=1e-9)


def test_a_heavy_row_pulls_as_in_the_pooled_run() -> None:
    rng = np.random.default_rng(3)
    X, w = rng.normal(size=(200, 3)), rng.exponential(size=200)
    theirs = KMeans(3, init=X[:3], n_init=1, tol=0.0).fit(X, sample_weight=w).cluster_centers_
    plan = Plan(make("llf-cm", 3, init=X[:3]))
    ours = run(plan, LocalChannel(split(X, rng.integers(0, 6, 200), w)), Schema(3)).model
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)
