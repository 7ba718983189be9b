"""Sums on a grid: whole numbers that no split, order or backend changes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedclust.kernels import _plain, fuzzy_sums, hard_sums, steps
from fedclust.kernels.grid import MOST_BITS, SUM_BITS, Grid, grid_over
from fedclust.typing import FloatArray

NONE = np.empty(0)


def problem(n: int, F: int, k: int, seed: int) -> tuple[FloatArray, FloatArray, Grid]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, F)) + 3 * rng.integers(0, 3, (n, 1))
    low, high = X.min(axis=0) - rng.random(F), X.max(axis=0) + rng.random(F)
    return X, X[:k] + 0.01, grid_over(low, high, max_records=10_000)


def decoded(sums: tuple[FloatArray, FloatArray], grid: Grid) -> tuple[FloatArray, FloatArray]:
    weight = sums[0] / grid.mass
    return weight, sums[1] / grid.unit + weight[:, None] * grid.offset


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n", "F", "k"), [(1, 2, 3), (700, 1, 1), (700, 2, 5), (900, 20, 4)])
def test_they_are_the_float_sums_up_to_a_step_per_record(
    n: int, F: int, k: int, weighted: bool
) -> None:
    X, C, grid = problem(n, F, max(k, 1), 0)
    C = np.resize(C, (k, F)) + np.arange(k)[:, None]
    w = np.random.default_rng(1).random(n) if weighted else NONE
    near, exact = hard_sums(X, C, w), hard_sums(X, C, w, grid)
    assert exact.total.dtype == exact.weight.dtype == np.int64
    assert exact.records.tolist() == near.records.tolist()
    weight, total = decoded(exact[1:], grid)
    np.testing.assert_allclose(weight, near.weight, atol=n / grid.mass)
    np.testing.assert_allclose(total, near.total, atol=n / grid.unit.min(), rtol=1e-12)
    for m in (1.3, 1.5, 2.0):
        soft, whole = fuzzy_sums(X, C, m, w), fuzzy_sums(X, C, m, w, grid)
        weight, total = decoded(whole, grid)
        np.testing.assert_allclose(weight, soft.weight, atol=n / grid.mass, rtol=1e-12)
        np.testing.assert_allclose(total, soft.total, atol=n / grid.unit.min(), rtol=1e-11)


@pytest.mark.usefixtures("backend")
@given(seed=st.integers(0, 10_000), F=st.sampled_from([1, 2, 16, 17, 30]), weighted=st.booleans())
def test_no_split_and_no_order_changes_a_bit(seed: int, F: int, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    X, C, grid = problem(int(rng.integers(5, 1500)), F, 4, seed)
    X = X.round(1) if seed % 2 else X  # rows halfway between two centres
    w = rng.random(len(X)) if weighted else NONE
    order, owner = rng.permutation(len(X)), rng.integers(0, 7, len(X))
    parts = [order[owner == o] for o in range(7)]

    for step in (
        lambda rows, v: hard_sums(rows, C, v, grid),
        lambda rows, v: fuzzy_sums(rows, C, 2.0, v, grid),
        lambda rows, v: fuzzy_sums(rows, C, 1.7, v, grid),
    ):
        whole = step(X, w)
        split = [step(X[p], w[p] if weighted else w) for p in parts]
        for pooled, pieces in zip(whole, zip(*split, strict=True), strict=True):
            assert np.array_equal(pooled, sum(pieces))


@pytest.mark.parametrize("F", [2, 20])
def test_both_backends_make_the_same_whole_numbers_of_k_means(
    F: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numba")
    X, C, grid = problem(800, F, 5, 3)
    compiled = hard_sums(X, C, NONE, grid)
    monkeypatch.setattr(steps, "backend", lambda: _plain)
    for ours, theirs in zip(compiled, hard_sums(X, C, NONE, grid), strict=True):
        assert np.array_equal(ours, theirs)


@pytest.mark.usefixtures("backend")
def test_a_row_halfway_between_two_centres_is_the_firsts_wherever_it_stands() -> None:
    rng = np.random.default_rng(0)
    axis, across = np.linalg.qr(rng.normal(size=(20, 20)))[0][:2]
    C = np.array([axis, -axis]) + 0.3
    X = rng.normal(size=(300, 1)) * across + 0.3
    grid = grid_over(np.full(20, -9.0), np.full(20, 9.0), 1000)
    whole = hard_sums(X, C, NONE, grid)
    each = [hard_sums(X[i : i + 1], C, NONE, grid) for i in range(300)]
    for pooled, pieces in zip(whole, zip(*each, strict=True), strict=True):
        assert np.array_equal(pooled, sum(pieces))


@pytest.mark.usefixtures("backend")
def test_single_precision_rows_count_as_the_doubles_they_are() -> None:
    X, C, grid = problem(500, 3, 4, 0)
    low = X.astype(np.float32)
    for narrow, wide in zip(
        hard_sums(low, C, NONE, grid), hard_sums(low.astype(float), C, NONE, grid), strict=True
    ):
        assert np.array_equal(narrow, wide)


@given(
    records=st.integers(1, 2**31),
    reach=st.floats(1e-6, 1e9),
    middle=st.floats(-1e9, 1e9),
    heavy=st.floats(1e-3, 1e3),
)
def test_the_largest_possible_sum_fits(
    records: int, reach: float, middle: float, heavy: float
) -> None:
    low, high = np.array([middle - reach]), np.array([middle + reach])
    if low[0] == high[0]:
        return
    grid = grid_over(low, high, records, heavy)
    assert grid.bits <= MOST_BITS
    most = records * heavy * max(abs(high - grid.offset)[0], abs(low - grid.offset)[0])
    assert most * grid.unit[0] <= 2.0**SUM_BITS * (1 + 1e-12)
    assert records * heavy * grid.mass <= 2.0**SUM_BITS
    assert np.frexp(grid.unit[0])[0] == 0.5  # a power of two: scaling rounds nothing
