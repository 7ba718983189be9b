"""Data and schema: everything a user can get wrong is answered in one sentence."""

import numpy as np
import pytest

from fedclust.core import ConfigError, Data, DataError, Schema


def test_rows_come_in_as_contiguous_floats() -> None:
    data = Data.of([[1, 2], [3, 4]])
    assert data.X.dtype == np.float64
    assert data.X.flags.c_contiguous
    assert len(data) == 2
    assert len(data.weight) == 0
    assert Data.of(np.zeros((2, 2), np.float32)).X.dtype == np.float32
    assert Data.of(np.zeros((2, 2), np.uint8)).X.dtype == np.float64


def test_rows_of_weight_zero_are_not_there() -> None:
    data = Data.of([[1.0], [2.0], [3.0]], [1.0, 0.0, 2.0])
    assert data.X.ravel().tolist() == [1.0, 3.0]
    assert data.weight.tolist() == [1.0, 2.0]


def test_no_rows_are_fine_no_columns_are_not() -> None:
    assert len(Data.of(np.empty((0, 3)))) == 0
    with pytest.raises(DataError, match="no columns"):
        Data.of(np.empty((3, 0)))


@pytest.mark.parametrize(
    ("X", "words"),
    [
        ([1.0, 2.0], r"client 'b': expected a table of rows and columns, got shape \(2,\)"),
        ([["x", 1.0]], "client 'b': not all values are numbers"),
        ([[1j, 1.0]], "client 'b': complex numbers are not supported"),
        ([[1.0, 2.0], [3.0]], "client 'b': not all values are numbers"),
        (
            [[1.0, np.nan], [1.0, 2.0]],
            r"client 'b': column 'age' has 1 missing or infinite values \(first in row 0\); drop",
        ),
        ([[1.0, 2.0], [np.inf, 2.0]], r"column 'size' has 1 missing or infinite .* row 1"),
        ([[1e200, 1.0]], "client 'b': column 'size' reaches 1e.200, .* rescale"),
        ([[1e-200, 0.0]], "client 'b': column 'size' reaches 1e-200, .* rescale"),
    ],
)
def test_bad_tables_are_refused_by_client_and_column(X: object, words: str) -> None:
    with pytest.raises(DataError, match=words):
        Data.of(X, client="client 'b'", names=["size", "age"])


def test_columns_without_names_are_counted() -> None:
    with pytest.raises(DataError, match="column 1 has 1 missing"):
        Data.of([[1.0, np.nan]])


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        ([1.0], r"2 rows, but sample_weight of shape \(1,\)"),
        ([1.0, -1.0], "finite and not negative"),
        ([1.0, np.nan], "finite and not negative"),
        (["a", "b"], "sample_weight holds values that are not numbers"),
    ],
)
def test_bad_weights_are_refused(weight: list[float], words: str) -> None:
    with pytest.raises(DataError, match=words):
        Data.of([[1.0], [2.0]], weight)


def test_bounds_are_public_or_not_known() -> None:
    low, high = Schema(2, low=np.zeros(2), high=np.ones(2)).box()
    assert (low.tolist(), high.tolist()) == ([0, 0], [1, 1])
    with pytest.raises(ConfigError, match="no public bounds: give bounds="):
        Schema(2).box()


def test_sparse_and_masked_tables_are_refused() -> None:
    from scipy.sparse import csr_array

    with pytest.raises(DataError, match="sparse tables are not supported; give X.toarray"):
        Data.of(csr_array(np.eye(3)))
    with pytest.raises(DataError, match="some values are masked"):
        Data.of(np.ma.masked_equal(np.eye(3), 1.0))
