"""Steps over split columns: compiled and plain agree, and blocks do not matter."""

import numpy as np
import pytest

from fedclust.kernels import _column_plain, columns, memberships, sq_distances
from fedclust.typing import FloatArray

pytest.importorskip("numba")
SIZES = [(1, 1, 1), (700, 3, 4), (5000, 20, 7)]


@pytest.fixture(params=["compiled", "plain"])
def loops(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "plain":
        monkeypatch.setattr(columns, "_loops", lambda: _column_plain)
    return str(request.param)


def case(n: int, F: int, k: int) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(n)
    return rng.normal(size=(n, F)), rng.normal(size=(k, F))


@pytest.mark.parametrize(("n", "F", "k"), SIZES)
def test_lazy_distances_equal_the_full_matrix(loops: str, n: int, F: int, k: int) -> None:
    X, V = case(n, F, k)
    lazy = columns.Distances(X, V)
    np.testing.assert_allclose(np.asarray(lazy), sq_distances(X, V), rtol=1e-9, atol=1e-12)
    assert (lazy.shape, lazy.nbytes, len(lazy), lazy.ndim) == ((n, k), 8 * n * k, n, 2)
    short = columns.Distances(X, V, "float32")
    assert np.asarray(short).dtype == np.float32
    both = columns.add_matrices([lazy, np.asarray(lazy), short])
    np.testing.assert_allclose(both, 3 * np.asarray(lazy), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize(("n", "F", "k"), SIZES)
def test_means_by_label_and_by_weight(loops: str, n: int, F: int, k: int) -> None:
    X, _ = case(n, F, k)
    labels = (np.arange(n) % (k + 1) - 1).astype(np.int32)  # -1: no cluster
    means = columns.labelled_means(X, labels, k)
    for c in range(k):
        mine = X[labels == c]
        np.testing.assert_allclose(means[c], mine.mean(axis=0) if len(mine) else 0.0, atol=1e-12)
    W = np.random.default_rng(1).random((n, k))
    W[:, 0] = 0.0
    expected = (W.T @ X) / np.where(W.sum(axis=0) > 0, W.sum(axis=0), 1.0)[:, None]
    np.testing.assert_allclose(columns.weighted_means(X, W), expected, atol=1e-12)


@pytest.mark.parametrize("fuzzifier", [1.05, 1.5, 2.0, 2.7])
def test_memberships_from_distances_are_those_from_rows(loops: str, fuzzifier: float) -> None:
    X, V = case(700, 3, 4)
    X[5] = V[2]  # on a centre
    D = sq_distances(X, V)
    U = columns.powered_memberships(D, fuzzifier, 1.0, float)
    np.testing.assert_allclose(U, memberships(X, V, fuzzifier), atol=1e-12)
    assert U[5].tolist() == [0, 0, 1, 0]
    for power in (1.5, 2.0, fuzzifier):
        powered = columns.powered_memberships(D, fuzzifier, power, np.float32)
        np.testing.assert_allclose(powered, U**power, atol=1e-6)


def test_labels_change_and_closest_calls(loops: str) -> None:
    X, V = case(700, 3, 4)
    D, P = sq_distances(X, V), sq_distances(X, V + 0.1)
    D[3] = 1.0  # ties go to the lowest index
    labels = columns.nearest_of(D)
    np.testing.assert_array_equal(labels, D.argmin(axis=1))
    moved, size = columns.distance_change(D, P)
    assert moved == pytest.approx(np.linalg.norm(np.sqrt(D) - np.sqrt(P)))
    assert size == pytest.approx(np.sqrt(D.sum()))
    assert columns.closest_call(D, 0) == 1.0
    assert columns.closest_call(np.array([[1.0, 4.0], [2.0, 16.0]]), 1) == 0.25


def test_without_numba_the_plain_functions_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    columns._loops.cache_clear()
    monkeypatch.setitem(sys.modules, "fedclust.kernels._column_loops", None)
    monkeypatch.delattr("fedclust.kernels._column_loops", raising=False)
    assert columns._loops() is _column_plain
    columns._loops.cache_clear()
