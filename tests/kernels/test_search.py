"""The search over weighted points finds what many restarts find, and no repeats."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from fedclust.kernels import (
    fuzzy_c_means,
    fuzzy_objective,
    inertia,
    search_centers,
    search_fuzzy_centers,
)
from fedclust.typing import FloatArray


def points(seed: int) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    return rng.standard_t(2.0, size=(150, 3)), rng.integers(1, 40, 150).astype(float)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("k", [2, 5, 11])
def test_the_best_solution_is_as_good_as_fifty_restarts(seed: int, k: int) -> None:
    X, w = points(seed)
    expected = KMeans(k, n_init=50, random_state=0).fit(X, sample_weight=w).inertia_
    found = search_centers(X, k, np.random.default_rng(1), w, most=5)
    values = [inertia(X, centers, w) for centers in found]
    assert values[0] <= 1.01 * expected
    assert values == sorted(values)
    assert (np.diff(values) > 0).all()


@pytest.mark.parametrize("seed", range(3))
def test_kicks_find_the_best_of_many_local_optima(seed: int) -> None:
    """One column of integers: the optimum is known, by dynamic programming over its values."""
    rng = np.random.default_rng(seed)
    X, counts = np.unique(rng.geometric(0.08, 1500).astype(float), return_counts=True)
    w = counts.astype(float)
    found = search_centers(X[:, None], 12, rng, w, most=12, kicks=12)
    assert inertia(X[:, None], found[0], w) <= 1.0001 * best_of_one_column(X, w, 12)


def best_of_one_column(x: FloatArray, w: FloatArray, k: int) -> float:
    """The lowest inertia of k clusters of ordered values."""
    n, sums = len(x), [np.concatenate([[0.0], np.cumsum(w * x**p)]) for p in range(3)]

    def cost(a: int, b: int) -> float:
        count, total, squares = (s[b] - s[a] for s in sums)
        return float(squares - total**2 / count)

    best = [0.0] + [np.inf] * n
    for _ in range(k):
        best = [min((best[a] + cost(a, b) for a in range(b)), default=0.0) for b in range(n + 1)]
    return best[n]


def test_equal_solutions_are_equal_arrays() -> None:
    X, w = points(0)
    X = X + 50 * (np.arange(150) % 3)[:, None]  # three clusters, and no doubt about them
    a, b = (search_centers(X, 3, np.random.default_rng(s), w, most=1)[0] for s in (1, 2))
    assert inertia(X, a, w) == pytest.approx(inertia(X, b, w), rel=1e-12)
    np.testing.assert_allclose(a, b)


def test_fewer_points_than_centres_give_as_many_centres() -> None:
    X = np.array([[0.0, 1.0], [2.0, 3.0]])
    assert search_centers(X, 5, np.random.default_rng(0), np.ones(2), most=3)[0].shape == (5, 2)


@pytest.mark.parametrize("m", [1.5, 2.0])
def test_fuzzy_solutions_are_at_least_as_good_as_their_starts(m: float) -> None:
    X, w = points(1)
    starts = search_centers(X, 4, np.random.default_rng(0), w, most=3)
    best = search_fuzzy_centers(X, starts, m, np.random.default_rng(0), w)[0]
    for start in starts:
        end = fuzzy_c_means(X, start, m, w, steps=200)[0]
        assert fuzzy_objective(X, best, m, w) <= 1.001 * fuzzy_objective(X, end, m, w)


def test_a_search_ends_when_every_point_is_a_centre(rng: np.random.Generator) -> None:
    X = np.repeat([[0.0, 1.0], [5.0, 1.0], [9.0, -4.0]], 4, axis=0)
    w = np.ones(len(X))
    for centers in search_centers(X, 3, rng, w, most=3, kicks=4):
        assert inertia(X, centers, w) == 0.0
    best = search_fuzzy_centers(X, [X[::4]], 2.0, rng, w)[0]
    assert fuzzy_objective(X, best, 2.0, w) == 0.0
