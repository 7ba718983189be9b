"""A reader of totals and shown counts cannot compute a withheld count, or narrow it much."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linprog

from fedclust.study.withholding import choose_withheld_clusters, choose_withheld_counts
from fedclust.typing import BoolArray, IntArray


def equations(hidden: BoolArray, counts: IntArray) -> tuple[IntArray, IntArray]:
    """What is known of the hidden counts: the sums of all rows and columns."""
    cells = np.argwhere(hidden)
    by_row = np.arange(counts.shape[0])[:, None] == cells[:, 0]
    by_column = np.arange(counts.shape[1])[:, None] == cells[:, 1]
    known = np.where(hidden, counts, 0)
    sums = np.concatenate([known.sum(axis=1), known.sum(axis=0)])
    return np.vstack([by_row, by_column]).astype(int), sums


def find_range(hidden: BoolArray, counts: IntArray, row: int, column: int) -> tuple[float, float]:
    """The smallest and largest value that a hidden count can have."""
    A, b = equations(hidden, counts)
    place = np.flatnonzero((np.argwhere(hidden) == (row, column)).all(axis=1))[0]
    objective = (np.arange(A.shape[1]) == place).astype(float)
    low, high = (linprog(sign * objective, A_eq=A, b_eq=b).fun * sign for sign in (1, -1))
    return round(low, 6), round(high, 6)


def assert_protected(counts: IntArray, hidden: BoolArray, minimum: int, cells: IntArray) -> None:
    rows, columns, n = counts.sum(axis=1), counts.sum(axis=0), counts.sum()
    for i, c in cells.tolist():
        least, most = max(0, rows[i] + columns[c] - n), min(rows[i], columns[c])
        assert least < most  # otherwise the totals determine it
        low, high = find_range(hidden, counts, i, c)
        if counts[i, c] < minimum:
            assert low == least
            assert high >= min(counts[i, c] + minimum, most)
        else:
            assert high - low >= min(minimum, most - least)


few = st.integers(0, 9)
shapes = st.tuples(st.integers(1, 5), st.integers(1, 5))
tables = shapes.flatmap(
    lambda shape: arrays(np.int64, shape, elements=few | st.integers(0, 60) | st.just(0))
)


@settings(max_examples=150, deadline=None)
@given(counts=tables, minimum=st.integers(1, 7))
def test_every_withheld_count_could_be_many_values(counts: IntArray, minimum: int) -> None:
    hidden = choose_withheld_counts(counts, minimum)
    assert_protected(counts, hidden, minimum, np.argwhere(hidden))
    rows, columns, n = counts.sum(axis=1)[:, None], counts.sum(axis=0), counts.sum()
    determined = np.minimum(rows, columns) == np.maximum(0, rows + columns - n)
    assert not (hidden & determined).any()
    if minimum == 1:
        assert not hidden.any()
    else:
        assert (hidden | determined)[counts < minimum].all()


@pytest.mark.parametrize("seed", range(3))
def test_the_table_of_sixty_uneven_sites(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(6, 0.7), 60)
    counts = np.array([rng.multinomial(rng.integers(3, 101), p) for p in shares])
    hidden = choose_withheld_counts(counts, 5)
    cells = rng.permutation(np.argwhere(hidden))[:25]
    assert_protected(counts, hidden, 5, cells)
    assert counts[hidden].sum() < 0.35 * counts.sum()  # not much more than has to be


def test_one_small_count_takes_three_others_with_it() -> None:
    counts = np.array([[40, 2, 70], [30, 60, 55], [90, 35, 20]])
    hidden = choose_withheld_counts(counts, 5)
    assert hidden[0, 1]
    assert hidden.sum() == 4
    assert find_range(hidden, counts, 0, 1)[0] == 0
    # Without them the totals give it away.
    alone = counts < 5
    assert find_range(alone, counts, 0, 1) == (2, 2)


def test_two_in_every_line_are_not_enough() -> None:
    """Every line with a withheld count has two of them, and yet one is determined."""
    counts = np.array([[3, 3, 50, 50], [3, 3, 50, 50], [40, 40, 0, 9], [40, 40, 1, 0]])
    naive = counts < 5
    naive[2, 3] = True
    assert (naive.sum(axis=0) >= 2).all()
    assert (naive.sum(axis=1) >= 2).all()
    low, high = find_range(naive, counts, 3, 2)
    assert high - low < 5
    hidden = choose_withheld_counts(counts, 5)
    assert_protected(counts, hidden, 5, np.argwhere(hidden))


@pytest.mark.parametrize(
    "counts",
    [
        np.array([[3, 90, 0]]),  # one client: its counts are the sizes
        np.array([[2], [50], [1]]),  # one cluster: its counts are the clients' rows
        np.array([[4, 60], [0, 0]]),  # a client without rows
        np.array([[60, 0], [3, 0]]),  # a cluster without rows
    ],
)
def test_what_totals_determine_is_shown(counts: IntArray) -> None:
    assert not choose_withheld_counts(counts, 5).any()


@given(
    sizes=st.lists(st.integers(0, 30), min_size=1, max_size=8),
    minimum=st.integers(1, 9),
    soft=st.booleans(),
)
def test_clusters_that_are_not_described_have_enough_rows_together(
    sizes: list[int], minimum: int, soft: bool
) -> None:
    hidden = choose_withheld_clusters(np.array(sizes), minimum, soft=soft)
    small = [0 < n < minimum for n in sizes]
    assert all(h or not s for h, s in zip(hidden, small, strict=True))
    assert not any(h and n == 0 for h, n in zip(hidden, sizes, strict=True))
    if not soft or not any(small):
        assert hidden.tolist() == small
    else:
        together = sum(n for n, h in zip(sizes, hidden, strict=True) if h)
        assert together >= minimum or together == sum(sizes)
