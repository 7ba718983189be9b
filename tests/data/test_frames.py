"""Frames of all libraries give the same columns."""

from typing import Any

import numpy as np
import pytest

from fedclust import DataError, FederatedKMeans
from fedclust.clustering.preparation import Column, prepare
from fedclust.data.frames import columns_of

COLUMNS: dict[str, Any] = {
    "n": [1, None, 3] * 10,
    "x": [0.5, 1.5, None] * 10,
    "s": ["a", None, "b"] * 10,
}


def frames() -> list[Any]:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    arrow = pytest.importorskip("pyarrow")
    pd = pandas.DataFrame(COLUMNS)
    return [pd, pd.convert_dtypes(), polars.DataFrame(COLUMNS), arrow.table(COLUMNS)]


@pytest.mark.parametrize("number", range(4))
def test_every_library_gives_the_same_columns(number: int) -> None:
    columns = columns_of(frames()[number])
    assert list(columns) == ["n", "x", "s"]
    assert np.array_equal(columns["n"], [1, np.nan, 3] * 10, equal_nan=True)
    assert np.array_equal(columns["x"], [0.5, 1.5, np.nan] * 10, equal_nan=True)
    assert columns["s"].tolist() == ["a", None, "b"] * 10


@pytest.mark.parametrize("number", range(4))
def test_every_library_can_be_prepared(number: int) -> None:
    columns = [Column("x"), Column("s", categories=("a", "b"))]
    ready = prepare(columns, {"north": frames()[number], "south": COLUMNS})
    expected = prepare(columns, {"north": COLUMNS, "south": COLUMNS})
    assert np.array_equal(ready.scale, expected.scale)
    assert np.array_equal(ready.apply(frames()[number])[0], expected.apply(COLUMNS)[0])


def test_every_library_can_be_clustered() -> None:
    rng = np.random.default_rng(0)
    table = {"a": rng.normal(size=60), "b": rng.normal(size=60)}
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    arrow = pytest.importorskip("pyarrow")
    centers = [
        FederatedKMeans(2, random_state=0).fit(frame(table)).cluster_centers_
        for frame in (pandas.DataFrame, polars.DataFrame, arrow.table)
    ]
    assert np.array_equal(centers[0], centers[1])
    assert np.array_equal(centers[0], centers[2])


def test_what_is_not_a_frame_is_named() -> None:
    with pytest.raises(DataError, match=r"client 'north': expected a data frame .* got list"):
        columns_of([[1, 2]], "client 'north'")
