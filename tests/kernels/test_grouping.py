"""Groups of rows: disjoint, large enough, and complete; outlying rows have a group."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedclust.kernels import group_rows, hide_small_sums
from fedclust.kernels.steps import HardSums
from fedclust.typing import FloatArray


def rows(seed: int) -> FloatArray:
    """Heavy tails, copies, and few rows, by turns."""
    rng = np.random.default_rng(seed)
    X = rng.standard_t(1.5, size=(int(rng.integers(1, 120)), int(rng.integers(1, 5))))
    return np.repeat(X, rng.integers(1, 6, len(X)), axis=0) if seed % 2 else X


def grouped(X: FloatArray, most: int, min_count: int = 3, weight: FloatArray | None = None):  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(0)
    return group_rows(X, most, rng, np.empty(0) if weight is None else weight, min_count=min_count)


@given(seed=st.integers(0, 10_000), most=st.integers(1, 60), least=st.integers(3, 6))
def test_groups_stand_for_rows_and_are_never_small(seed: int, most: int, least: int) -> None:
    X = rows(seed)
    found = grouped(X, most, least)
    assert len(found.means) <= most
    assert (found.records >= least).all()
    assert found.records.sum() <= len(X)
    np.testing.assert_array_equal(found.weight, found.records)
    distinct, copies = np.unique(X, axis=0, return_counts=True)
    if (copies < least).sum() >= least:  # enough rows for a group: no row is left out
        assert found.records.sum() == len(X)
    close = np.abs(found.means[:, None] - distinct[copies < least]).max(axis=2, initial=0.0)
    assert not (close <= 1e-12 * (1 + np.abs(distinct[copies < least]).max(axis=1))).any()


@given(seed=st.integers(0, 10_000))
def test_groups_do_not_depend_on_the_order_of_rows(seed: int) -> None:
    X = rows(seed)
    shuffled = X[np.random.default_rng(seed).permutation(len(X))]
    for a, b in zip(grouped(X, 12), grouped(shuffled, 12), strict=True):
        np.testing.assert_array_equal(a, b)


def test_without_copies_groups_conserve_the_mean_of_all_rows() -> None:
    X = np.random.default_rng(0).standard_t(1.5, size=(200, 3))
    found = grouped(X, 30)
    np.testing.assert_allclose(found.weight @ found.means / found.weight.sum(), X.mean(axis=0))


def test_an_outlying_row_has_a_group_and_takes_its_neighbours() -> None:
    X = np.vstack([np.random.default_rng(0).normal(size=(200, 2)), [[1e4, 0.0]]])
    found = grouped(X, 20)
    assert found.means[:, 0].max() > 3_000  # a third of the way at least
    assert found.records[found.means[:, 0].argmax()] == 3


def test_a_small_group_joins_its_neighbour_where_other_rows_are_far() -> None:
    """Two clouds of four rows: four groups would mix the clouds."""
    X = np.concatenate([np.arange(4.0), 1e3 + np.arange(4.0)])[:, None]
    found = grouped(X, 4)
    assert sorted(found.means.ravel().tolist()) == [1.5, 1001.5]


def test_a_shared_value_is_a_group_by_itself_and_a_lone_row_beside_it_is_not_sent() -> None:
    X = np.array([[0.0]] * 50 + [[7.0]] * 50 + [[7.5]])
    found = grouped(X, 5)
    assert sorted(found.means.ravel().tolist()) == [0.0, 7.0]
    assert found.records.sum() == 100


def test_weights_count_but_do_not_move_means() -> None:
    X = np.array([[0.0], [1.0], [5.0]])
    found = grouped(X, 1, weight=np.array([1.0, 1e9, 1.0]))
    assert found.means.ravel().tolist() == [2.0]
    assert found.weight.tolist() == [1e9 + 2]


@pytest.mark.parametrize("n", [0, 1, 2])
def test_too_few_rows_give_no_group(n: int) -> None:
    found = grouped(np.arange(2.0 * n).reshape(n, 2), 4)
    assert found.means.shape == (0, 2)
    assert len(found.weight) == len(found.records) == 0


@given(seed=st.integers(0, 10_000), shift=st.floats(-0.4, 0.4))
def test_a_rounded_sum_tells_no_more_than_its_step(seed: int, shift: float) -> None:
    """An outlying row that moves within a step changes nothing that is sent.

    Steps in units of the client's own means would move with the row, and give it away.
    """
    rng = np.random.default_rng(seed)
    centers = np.vstack([rng.normal(size=(20, 3)), [[500.0, 500.0, 500.0]]])
    middle = np.median(centers, axis=0)
    width = 0.25 * np.median(np.abs(centers - middle), axis=0)
    row = middle + (np.array([100, 200, 300]) + shift) * width
    many = rng.normal(size=(40, 3))

    def sent(outlying: FloatArray) -> HardSums:
        records = np.array([40.0, 1.0])
        total = np.vstack([many.sum(axis=0), outlying])
        return hide_small_sums(HardSums(records, records, total), 3, centers)

    for one, other in zip(sent(row), sent(middle + np.array([100, 200, 300]) * width), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(np.abs(sent(row).total[1] - row), abs(shift) * width, atol=1e-9)
