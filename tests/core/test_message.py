"""Messages: the algebra of merging, what travels, and what is refused on arrival."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fedclust.core import Dims, Message, MessageError, Record, Stacked, Summed
from fedclust.typing import FloatArray

numbers = st.floats(-1e6, 1e6, allow_nan=False)


@dataclass(frozen=True, eq=False)
class Sums(Summed):
    weight: Annotated[FloatArray, Dims("C")]
    total: Annotated[FloatArray, Dims("C", "F")]
    clients: Annotated[FloatArray, Dims("one")]
    support: Annotated[FloatArray | None, Dims("C", stays=True)] = None


@dataclass(frozen=True, eq=False)
class Rows(Stacked):
    centers: Annotated[FloatArray, Dims("K", "F")]
    weight: Annotated[FloatArray, Dims("K")]
    support: Annotated[FloatArray | None, Dims("K", stays=True)] = None


@dataclass(frozen=True, eq=False)
class State(Record):
    centers: Annotated[FloatArray, Dims("C", "F")]
    round: int
    shift: float


def sums(C: int = 3, F: int = 2) -> st.SearchStrategy[Sums]:
    return st.builds(
        Sums,
        hnp.arrays(float, C, elements=numbers),
        hnp.arrays(float, (C, F), elements=numbers),
        hnp.arrays(float, 1, elements=numbers),
    )


def stacks(F: int = 2) -> st.SearchStrategy[Rows]:
    return st.integers(0, 4).flatmap(
        lambda k: st.builds(
            Rows,
            hnp.arrays(float, (k, F), elements=numbers),
            hnp.arrays(float, k, elements=numbers),
        )
    )


def same(a: Message, b: Message, tol: float = 0.0) -> bool:
    x, y = a.arrays(), b.arrays()
    return x.keys() == y.keys() and all(
        x[n].shape == y[n].shape and np.allclose(x[n], y[n], rtol=tol, atol=tol) for n in x
    )


@given(sums(), sums(), sums())
def test_sums_are_a_commutative_monoid(a: Sums, b: Sums, c: Sums) -> None:
    assert same(Sums.merge([a, b]), Sums.merge([b, a]))
    left = Sums.merge([Sums.merge([a, b]), c])
    assert same(left, Sums.merge([a, Sums.merge([b, c])]), 1e-9)
    assert same(left, Sums.merge([a, b, c]), 1e-9)
    assert same(Sums.merge([a, a.identity()]), a)
    assert a.identity().is_empty()


@given(stacks(), stacks(), stacks())
def test_stacks_are_a_monoid_whose_rows_are_kept(a: Rows, b: Rows, c: Rows) -> None:
    left = Rows.merge([Rows.merge([a, b]), c])
    assert same(left, Rows.merge([a, Rows.merge([b, c])]))
    assert same(left, Rows.merge([a, b, c]))
    assert same(Rows.merge([a, a.identity()]), a)
    assert a.identity().is_empty()
    swapped = np.sort(Rows.merge([b, a]).weight)
    np.testing.assert_array_equal(swapped, np.sort(Rows.merge([a, b]).weight))


@given(sums(), st.lists(st.booleans(), min_size=3, max_size=3))
def test_keeping_withdraws_whole_clusters(a: Sums, mask: list[bool]) -> None:
    kept = a.keep(np.array(mask))
    for c, stays in enumerate(mask):
        assert kept.weight[c] == (a.weight[c] if stays else 0)
        assert kept.total[c].tolist() == (a.total[c].tolist() if stays else [0, 0])
    assert kept.clients.tolist() == a.clients.tolist()


def test_keeping_rows_keeps_what_stands_behind_them() -> None:
    rows = Rows(np.arange(6.0).reshape(3, 2), np.arange(3.0), np.array([5.0, 6.0, 7.0]))
    kept = rows.keep(np.array([True, False, True]))
    assert kept.weight.tolist() == [0, 2]
    assert kept.support is not None
    assert kept.support.tolist() == [5, 7]


@given(sums())
def test_the_wire_format_is_exact_and_holds_nothing_local(a: Sums) -> None:
    full = Sums(a.weight, a.total, a.clients, np.array([1.0, 2.0, 3.0]))
    arrays = full.arrays()
    assert set(arrays) == {"weight", "total", "clients"}
    back = Sums.from_arrays(arrays)
    assert back.support is None
    assert all(back.arrays()[n].tobytes() == arrays[n].tobytes() for n in arrays)
    assert full.nbytes == 8 * (3 + 6 + 1)


def test_numbers_in_a_state_come_back_as_numbers() -> None:
    state = State(np.zeros((2, 2)), 3, 0.5)
    back = State.from_arrays(state.arrays())
    assert type(back.round) is int
    assert type(back.shift) is float
    assert (back.round, back.shift) == (3, 0.5)


def test_other_fields_than_announced_are_refused() -> None:
    with pytest.raises(MessageError, match=r"expected the fields \['centers', 'weight'\], got"):
        Rows.from_arrays({"centers": np.zeros((1, 2)), "extra": np.zeros(1)})


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (Rows(np.zeros((2, 3)), np.zeros(2)), r"'centers' has shape \(2, 3\), expected"),
        (Rows(np.zeros((2, 2)), np.zeros(3)), r"'weight' has shape \(3,\), expected \(K=2\)"),
        (Rows(np.zeros(2), np.zeros(2)), r"'centers' has shape \(2,\)"),
        (Rows(np.array([["a", "b"]]), np.zeros(1)), "'centers' holds <U1, expected numbers"),
    ],
)
def test_wrong_shapes_and_types_are_named(message: Rows, words: str) -> None:
    with pytest.raises(MessageError, match=words):
        message.check({"F": 2})


def test_right_shapes_pass_and_nan_shows() -> None:
    rows = Rows(np.zeros((2, 2)), np.array([1.0, np.nan]))
    rows.check({"F": 2})
    assert not rows.is_finite()
