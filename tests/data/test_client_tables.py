"""One table or several: what a user may call data."""

import numpy as np
import pytest
from scipy.sparse import dok_array

from fedclust import ConfigError, DataError
from fedclust.data.client_tables import column, rows_by_owner, tables_by_client

A, B = np.ones((2, 3)), np.zeros((4, 3))


def test_a_list_or_dict_of_tables_is_several() -> None:
    listed = tables_by_client([A, B])
    assert listed is not None
    assert list(listed) == ["0", "1"]
    named = tables_by_client({"x": A, "y": B})
    assert named is not None
    assert list(named) == ["x", "y"]
    assert list(tables_by_client([A] * 11) or {})[:2] == ["00", "01"]


def test_everything_else_is_one_table() -> None:
    assert tables_by_client(A) is None
    assert tables_by_client(A.tolist()) is None
    assert tables_by_client([]) is None
    assert tables_by_client(dok_array((2, 2))) is None


def test_weights_come_by_table() -> None:
    weighted = tables_by_client({"x": A}, None, {"x": [1, 2]})
    assert weighted is not None
    assert weighted["x"][1] == [1, 2]
    assert (tables_by_client([A, B], None, [[1], [2]]) or {})["1"][1] == [2]
    with pytest.raises(ConfigError, match="sample_weight: 2 tables, but weights for 1"):
        tables_by_client([A, B], None, [[1]])


def test_owners_and_tables_exclude_each_other() -> None:
    with pytest.raises(ConfigError, match="clients: give one table and the owner of each row"):
        tables_by_client([A, B], ["x", "y"])
    with pytest.raises(DataError, match="no table"):
        tables_by_client({})


def test_rows_are_found_by_owner_in_their_order() -> None:
    groups = rows_by_owner(column("clients", ["b", "a", "b", 3], 4))
    assert {name: rows.tolist() for name, rows in groups.items()} == {
        "3": [3],
        "a": [1],
        "b": [0, 2],
    }


def test_a_column_has_one_value_per_row() -> None:
    assert column("w", None, 3) is None
    assert column("w", [1, 2, 3], 3).tolist() == [1, 2, 3]
    with pytest.raises(
        DataError, match=r"clients: expected one value for each of 3 rows, got \(2,\)"
    ):
        column("clients", [1, 2], 3)
