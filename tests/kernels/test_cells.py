"""Local steps over observed cells: against a plain formula, in both backends, on and off a grid."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedclust import kernels
from fedclust.kernels import (
    cells,
    fuzzy_cell_sums,
    fuzzy_sums,
    hard_cell_sums,
    hard_sums,
    memberships,
    nearest,
    sq_distances,
    steps,
)
from fedclust.kernels.grid import Grid, make_grid
from fedclust.typing import FloatArray

COLUMNS = (1, 3, 16, 17, 40, 130)  # each kind of loops


@pytest.fixture(params=["compiled", "plain"])
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    from fedclust.kernels import _cells_compiled, _cells_plain, _compiled, _plain

    compiled = request.param == "compiled"
    monkeypatch.setattr(steps, "backend", lambda: _compiled if compiled else _plain)
    monkeypatch.setattr(cells, "_backend", lambda: _cells_compiled if compiled else _cells_plain)
    return str(request.param)


def make_rows(n: int, F: int, share: float = 0.3, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    """Rows with missing cells, some of them without any value, and four centres."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, F)) + 5 * rng.integers(0, 2, (n, 1))
    centers = X[:4] + 0.01
    X[rng.random(X.shape) < share] = np.nan
    X[::97] = np.nan
    return X, centers


def sum_by_formula(
    X: FloatArray, C: FloatArray, w: FloatArray, fuzzifier: float | None
) -> tuple[FloatArray, FloatArray]:
    """Weights and sums of observed cells, written down as in the paper."""
    seen = ~np.isnan(X)
    filled = np.where(seen, X, 0.0)
    D = np.where(seen[:, None], filled[:, None] - C, 0.0)
    D = (D**2).sum(axis=2) * (X.shape[1] / np.maximum(seen.sum(axis=1), 1))[:, None] + 1e-300
    if fuzzifier is None:
        U = np.eye(len(C))[D.argmin(axis=1)]
    else:
        ratio = (D / D.min(axis=1, keepdims=True)) ** (-1 / (fuzzifier - 1))
        U = (ratio / ratio.sum(axis=1, keepdims=True)) ** fuzzifier
    U = U * w[:, None]
    return U.T @ seen, U.T @ filled


def sums(
    X: FloatArray, C: FloatArray, w: FloatArray, m: float | None, grid: Grid | None = None
) -> tuple[FloatArray, FloatArray]:
    found = hard_cell_sums(X, C, w, grid) if m is None else fuzzy_cell_sums(X, C, m, w, grid)
    if grid is None:
        return found.weight, found.total
    assert found.weight.dtype == found.total.dtype == np.int64
    weight = found.weight / grid.mass
    return weight, found.total / grid.unit + weight * grid.offset


def grid_of(F: int) -> Grid:
    return make_grid(np.full(F, -10.0), np.full(F, 15.0), 2**20, 2.0)


@pytest.mark.parametrize("m", [None, 2.0, 1.5, 1.8])
@pytest.mark.parametrize("F", COLUMNS)
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_are_those_of_the_formula(
    F: int, m: float | None, weighted: bool, backend: str
) -> None:
    X, C = make_rows(1500, F)
    w = np.random.default_rng(1).random(len(X)) + 0.1 if weighted else np.empty(0)
    expected = sum_by_formula(X, C, w if weighted else np.ones(len(X)), m)
    for grid in (None, grid_of(F)):
        for found, wanted in zip(sums(X, C, w, m, grid), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("F", COLUMNS)
def test_float32_rows_give_the_sums_of_their_values(F: int, backend: str) -> None:
    X, C = make_rows(800, F)
    X32 = X.astype(np.float32)
    for m in (None, 2.0):
        expected = sum_by_formula(X32.astype(float), C, np.ones(len(X)), m)
        for found, wanted in zip(sums(X32, C, np.empty(0), m), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=0.1)


@pytest.mark.parametrize("F", COLUMNS)
def test_a_complete_table_gives_the_plain_sums_bit_for_bit(F: int, backend: str) -> None:
    X, C = make_rows(3000, F, share=0.0)
    X = X[~np.isnan(X).any(axis=1)]
    for grid in (None, grid_of(F)):
        hard, plain = hard_cell_sums(X, C, grid=grid), hard_sums(X, C, grid=grid)
        np.testing.assert_array_equal(hard.total, plain.total)
        np.testing.assert_array_equal(hard.weight, np.repeat(plain.weight[:, None], F, axis=1))
        soft, fuzzy = fuzzy_cell_sums(X, C, 2.0, grid=grid), fuzzy_sums(X, C, 2.0, grid=grid)
        np.testing.assert_array_equal(soft.total, fuzzy.total)
        np.testing.assert_array_equal(soft.weight, np.repeat(fuzzy.weight[:, None], F, axis=1))


@given(
    seed=st.integers(0, 2**16),
    F=st.sampled_from(COLUMNS),
    cuts=st.lists(st.integers(0, 400), min_size=1, max_size=4),
    m=st.sampled_from([None, 2.0, 1.5, 1.8]),
    share=st.sampled_from([0.02, 0.3, 0.8]),
)
@settings(max_examples=60, deadline=None)
def test_integer_sums_are_the_same_for_any_split_and_order(
    seed: int, F: int, cuts: list[int], m: float | None, share: float
) -> None:
    """Clients whose rows are all complete, too: these pass the plain loops."""
    X, C = make_rows(400, F, share, seed)
    grid, rng = grid_of(F), np.random.default_rng(seed)
    order = np.argsort(np.isnan(X).any(axis=1), kind="stable") if seed % 2 else rng.permutation(400)

    def of(rows: FloatArray) -> tuple[FloatArray, ...]:
        return (
            hard_cell_sums(rows, C, grid=grid)
            if m is None
            else fuzzy_cell_sums(rows, C, m, grid=grid)
        )

    pooled = of(X)
    parts = [of(part) for part in np.split(X[order], sorted(cuts))]
    for whole, *split in zip(pooled, *parts, strict=True):
        np.testing.assert_array_equal(whole, sum(split))


def test_distances_are_scaled_by_the_share_of_observed_cells() -> None:
    X = np.array([[1.0, np.nan, 3.0], [np.nan, np.nan, 5.0], [np.nan] * 3, [1.0, 2.0, 3.0]])
    C = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 5.0]])
    expected: list[list[float]] = [[10 * 3 / 2, 4 * 3 / 2], [25 * 3, 0], [0, 0], [14, 5]]
    np.testing.assert_allclose(sq_distances(X, C), np.array(expected))
    labels, d2 = nearest(X, C)
    np.testing.assert_array_equal(labels, [1, 1, 0, 1])
    np.testing.assert_allclose(d2, [6, 0, 0, 5])
    U = memberships(X, C, 2.0)
    np.testing.assert_allclose(U, np.array([[2 / 7, 5 / 7], [0, 1], [0.5, 0.5], [5 / 19, 14 / 19]]))


def test_a_row_without_any_value_adds_nothing() -> None:
    X, C = np.full((5, 3), np.nan), np.eye(3)
    for found in (hard_cell_sums(X, C), fuzzy_cell_sums(X, C, 2.0)):
        assert not any(part.any() for part in found)


def test_without_numba_the_plain_loops_run(monkeypatch: pytest.MonkeyPatch) -> None:
    from fedclust.kernels import _cells_plain

    monkeypatch.delattr(kernels, "_cells_compiled", raising=False)
    monkeypatch.setitem(sys.modules, "fedclust.kernels._cells_compiled", None)
    cells._backend.cache_clear()
    try:
        assert cells._backend() is _cells_plain
    finally:
        cells._backend.cache_clear()
