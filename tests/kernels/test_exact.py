"""Sums on a grid are integers that do not depend on split, order or backend."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedclust.kernels import _plain, fuzzy_sums, hard_sums, steps
from fedclust.kernels.grid import MAX_BITS, SUM_BITS, Grid, make_grid
from fedclust.typing import FloatArray

NONE = np.empty(0)


def problem(n: int, F: int, k: int, seed: int) -> tuple[FloatArray, FloatArray, Grid]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, F)) + 3 * rng.integers(0, 3, (n, 1))
    low, high = X.min(axis=0) - rng.random(F), X.max(axis=0) + rng.random(F)
    return X, X[:k] + 0.01, make_grid(low, high, max_records=10_000)


def decode(sums: tuple[FloatArray, FloatArray], grid: Grid) -> tuple[FloatArray, FloatArray]:
    weight = sums[0] / grid.mass
    return weight, sums[1] / grid.unit + weight[:, None] * grid.offset


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n", "F", "k"), [(1, 2, 3), (700, 1, 1), (700, 2, 5), (900, 20, 4)])
def test_integer_sums_equal_the_float_sums_up_to_a_step_per_record(
    n: int, F: int, k: int, weighted: bool
) -> None:
    X, C, grid = problem(n, F, max(k, 1), 0)
    C = np.resize(C, (k, F)) + np.arange(k)[:, None]
    w = np.random.default_rng(1).random(n) if weighted else NONE
    near, exact = hard_sums(X, C, w), hard_sums(X, C, w, grid)
    assert exact.total.dtype == exact.weight.dtype == np.int64
    assert exact.records.tolist() == near.records.tolist()
    weight, total = decode(exact[1:], grid)
    np.testing.assert_allclose(weight, near.weight, atol=n / grid.mass)
    np.testing.assert_allclose(total, near.total, atol=n / grid.unit.min(), rtol=1e-12)
    for m in (1.3, 1.5, 2.0):
        near_fuzzy, exact_fuzzy = fuzzy_sums(X, C, m, w), fuzzy_sums(X, C, m, w, grid)
        weight, total = decode(exact_fuzzy, grid)
        np.testing.assert_allclose(weight, near_fuzzy.weight, atol=n / grid.mass, rtol=1e-12)
        np.testing.assert_allclose(total, near_fuzzy.total, atol=n / grid.unit.min(), rtol=1e-11)


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
        all_rows = step(X, w)
        split = [step(X[p], w[p] if weighted else w) for p in parts]
        for pooled, pieces in zip(all_rows, zip(*split, strict=True), strict=True):
            assert np.array_equal(pooled, sum(pieces))


@pytest.mark.parametrize("F", [2, 20])
def test_both_backends_give_the_same_integers_for_k_means(
    F: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numba")
    X, C, grid = problem(800, F, 5, 3)
    compiled = hard_sums(X, C, NONE, grid)
    monkeypatch.setattr(steps, "backend", lambda: _plain)
    for ours, theirs in zip(compiled, hard_sums(X, C, NONE, grid), strict=True):
        assert np.array_equal(ours, theirs)


@pytest.mark.usefixtures("backend")
def test_a_row_halfway_between_two_centres_goes_to_the_first_at_any_position() -> None:
    rng = np.random.default_rng(0)
    axis, across = np.linalg.qr(rng.normal(size=(20, 20)))[0][:2]
    C = np.array([axis, -axis]) + 0.3
    X = rng.normal(size=(300, 1)) * across + 0.3
    grid = make_grid(np.full(20, -9.0), np.full(20, 9.0), 1000)
    all_rows = hard_sums(X, C, NONE, grid)
    each = [hard_sums(X[i : i + 1], C, NONE, grid) for i in range(300)]
    for pooled, pieces in zip(all_rows, zip(*each, strict=True), strict=True):
        assert np.array_equal(pooled, sum(pieces))


@pytest.mark.usefixtures("backend")
def test_single_precision_rows_are_summed_as_doubles() -> None:
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
    grid = make_grid(low, high, records, heavy)
    assert grid.bits <= MAX_BITS
    most = records * heavy * max(abs(high - grid.offset)[0], abs(low - grid.offset)[0])
    assert most * grid.unit[0] <= 2.0**SUM_BITS * (1 + 1e-12)
    assert records * heavy * grid.mass <= 2.0**SUM_BITS
    assert np.frexp(grid.unit[0])[0] == 0.5  # a power of two: scaling rounds nothing
