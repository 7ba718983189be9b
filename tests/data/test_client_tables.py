"""Users may pass one table or several."""

import numpy as np
import pytest
from scipy.sparse import dok_array

from fedclust import ConfigError, DataError
from fedclust.data.client_tables import as_column, rows_by_owner, tables_by_client

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


def test_weights_are_given_by_table() -> None:
    weighted = tables_by_client({"x": A}, None, {"x": [1, 2]})
    assert weighted is not None
    assert weighted["x"][1] == [1, 2]
    assert (tables_by_client([A, B], None, [[1], [2]]) or {})["1"][1] == [2]
    with pytest.raises(ConfigError, match="sample_weight: expected weights for 2 tables, got 1"):
        tables_by_client([A, B], None, [[1]])


def test_clients_and_several_tables_exclude_each_other() -> None:
    with pytest.raises(ConfigError, match="clients: not allowed with several tables"):
        tables_by_client([A, B], ["x", "y"])
    with pytest.raises(DataError, match="no table"):
        tables_by_client({})


def test_rows_are_grouped_by_owner_in_their_order() -> None:
    groups = rows_by_owner(as_column("clients", ["b", "a", "b", 3], 4))
    assert {name: rows.tolist() for name, rows in groups.items()} == {
        "3": [3],
        "a": [1],
        "b": [0, 2],
    }


def test_a_column_has_one_value_per_row() -> None:
    assert as_column("w", None, 3) is None
    assert as_column("w", [1, 2, 3], 3).tolist() == [1, 2, 3]
    with pytest.raises(
        DataError, match=r"clients: expected one value per row \(3\), got shape \(2,\)"
    ):
        as_column("clients", [1, 2], 3)
