"""Rows with missing cells: which plans get them, and what others answer."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import pytest

from fedclust.channels import LocalChannel
from fedclust.core import (
    Data,
    DataError,
    Dims,
    Empty,
    OneRoundQuery,
    Plan,
    Schema,
    Summed,
    Traits,
    run,
)
from fedclust.typing import FloatArray, Rng

ROWS = np.array([[1.0, 2.0], [np.nan, 4.0], [5.0, np.nan]])


@dataclass(frozen=True, eq=False)
class Total(Summed):
    """Sum of each column."""

    total: Annotated[FloatArray, Dims("F")]


@dataclass(frozen=True, eq=False)
class Totals(OneRoundQuery[Empty, Total]):
    """Sums of the observed cells."""

    key: ClassVar[str] = "totals"
    traits: ClassVar[Traits] = Traits(additive=True)

    def broadcast(self, state: Empty) -> Empty:
        return Empty()

    def client_step(self, down: Empty, data: Data, rng: Rng) -> Total:
        return Total(np.nansum(data.X, axis=0))

    def sizes(self, schema: Schema) -> dict[str, int]:
        return {"F": schema.n_features}


class TolerantTotals(Totals):
    """The same, for rows with missing cells."""

    traits: ClassVar[Traits] = Traits(additive=True, missing=True)


def ask(query: Totals, rows: FloatArray) -> FloatArray:
    channel = LocalChannel({"a": Data.of(rows, missing=True)})
    total: FloatArray = run(Plan(query), channel, Schema(2)).model.total
    return total


def test_missing_cells_reach_only_algorithms_that_accept_them() -> None:
    np.testing.assert_array_equal(ask(TolerantTotals(), ROWS), [6.0, 6.0])
    with pytest.raises(DataError, match="client 'a': totals needs complete rows"):
        ask(Totals(), ROWS)


def test_complete_rows_reach_every_algorithm() -> None:
    np.testing.assert_array_equal(ask(Totals(), ROWS[:1]), [1.0, 2.0])


def test_a_row_without_any_value_is_left_out_with_its_weight() -> None:
    rows = np.array([[np.nan, np.nan], [1.0, np.nan]])
    kept = Data.of(rows, [3.0, 2.0], missing=True)
    np.testing.assert_array_equal(kept.X, rows[1:])
    np.testing.assert_array_equal(kept.weight, [2.0])


def test_infinite_values_are_no_missing_cells() -> None:
    with pytest.raises(DataError, match="column 'b' has infinite values"):
        Data.of([[1.0, np.inf]], missing=True, names=["a", "b"])
    with pytest.raises(DataError, match="column 0 has 1 missing or infinite values"):
        Data.of(ROWS)
