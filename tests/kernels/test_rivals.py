"""Several solutions over the same rows are compared as each would be by itself."""

from typing import Any

import numpy as np
import pytest

from fedclust.kernels import _plain, compare_solutions, hard_sums, inertia, rivals


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [0, 1, 20, 3000])
def test_each_solution_is_compared_as_if_alone(n: int, weighted: bool, dtype: Any) -> None:
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 3)).astype(dtype)
    solutions = rng.normal(size=(5, 4, 3))
    solutions[2, 3] = solutions[2, 0]  # a tie goes to the lower index
    weight = rng.uniform(0.5, 2.0, n) if weighted else np.empty(0)
    found = compare_solutions(X, solutions, weight, step=True)
    for r, centers in enumerate(solutions):
        sums, clusters = hard_sums(X, centers, weight), slice(4 * r, 4 * r + 4)
        np.testing.assert_allclose(found.inertia[r], inertia(X, centers, weight), rtol=1e-5)
        np.testing.assert_allclose(found.weight[clusters], sums.weight, rtol=1e-12)
        np.testing.assert_allclose(found.total[clusters], sums.total, rtol=1e-12, atol=1e-12)
    without = compare_solutions(X, solutions, weight, step=False)
    assert (without.inertia == found.inertia).all()
    assert without.total.shape == (0, 3)


def test_both_ways_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(7)
    X, solutions = rng.normal(size=(200, 4)), rng.normal(size=(6, 3, 4))
    together = compare_solutions(X, solutions, np.empty(0), step=True)
    monkeypatch.setattr(rivals, "_SMALL", 0)
    apart = compare_solutions(X, solutions, np.empty(0), step=True)
    assert (together.weight == apart.weight).all()
    np.testing.assert_allclose(together.total, apart.total, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(together.inertia, apart.inertia, rtol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_compiled_and_plain_code_agree(weighted: bool) -> None:
    compiled = pytest.importorskip("fedclust.kernels._compiled")
    rng = np.random.default_rng(3)
    X, solutions = rng.normal(size=(20, 8)), rng.normal(size=(7, 5, 8))
    w = rng.uniform(0.5, 2.0, 20) if weighted else np.empty(0)
    for step in (True, False):
        ours = compiled.rivals_block(X, w, solutions, step)
        for found, plain in zip(ours, _plain.rivals_block(X, w, solutions, step), strict=True):
            assert found.shape == plain.shape
            np.testing.assert_allclose(found, plain, rtol=1e-12, atol=1e-12)
