"""Records become JSON and the same records again; a wrong value is named by its place."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from fedclust.core import ConfigError, DataError
from fedclust.results import build, read_lines, read_record, to_json, write_lines, write_record
from fedclust.typing import FloatArray


@dataclass(frozen=True)
class Leaf:
    name: str
    size: int | None
    kind: Literal["low", "high"] = "low"

    def __post_init__(self) -> None:
        if not self.name:
            raise ConfigError("a leaf needs a name")


@dataclass(frozen=True)
class Tree:
    leaves: tuple[Leaf, ...]
    place: tuple[float, float]
    ages: Mapping[str, int]
    settings: Mapping[str, Any]
    tall: bool


TREE = Tree((Leaf("a", 3), Leaf("b", None, "high")), (0.5, 2), {"x": 1}, {"k": [1, "2"]}, True)


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_record(tmp_path / "tree.json", TREE)
    assert read_record(tmp_path / "tree.json", Tree) == TREE
    write_lines(tmp_path / "leaves.jsonl", TREE.leaves)
    assert read_lines(tmp_path / "leaves.jsonl", Leaf) == TREE.leaves


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"leaves": [{"name": "a", "size": 1}, {"name": "b", "size": "x"}]},
         "tree.json: leaves[1].size: expected an integer, got 'x'"),
        ({"leaves": [{"name": "a"}]}, "tree.json: leaves[0].size: missing"),
        ({"leaves": [{"name": "a", "size": True}]},
         "tree.json: leaves[0].size: expected an integer, got True"),
        ({"leaves": [{"name": "a", "size": 1, "kind": "mid"}]},
         "tree.json: leaves[0].kind: expected 'low' or 'high', got 'mid'"),
        ({"leaves": [{"name": "", "size": 1}]}, "tree.json: leaves[0]: a leaf needs a name"),
        ({"leaves": [7]}, "tree.json: leaves[0]: expected an object with name, size, kind, got 7"),
        ({"place": [1.0]}, "tree.json: place: expected a list of 2 values, got [1.0]"),
        ({"place": [1.0, float("nan")]}, "tree.json: place[1]: expected a number, got nan"),
        ({"ages": {"x": 0.5}}, "tree.json: ages.x: expected an integer, got 0.5"),
        ({"tall": 1}, "tree.json: tall: expected true or false, got 1"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_named_by_file_and_place(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(DataError) as raised:
        build(Tree, {**to_json(TREE), **changes}, "tree.json")
    assert str(raised.value) == words


def test_fields_of_other_classes_are_ignored_and_defaults_used() -> None:
    assert build(Leaf, {"name": "a", "size": 1, "colour": "red"}, "leaf") == Leaf("a", 1)


@dataclass(frozen=True, eq=False)
class Row:
    values: FloatArray
    total: float | None


def test_values_that_are_not_finite_are_null_in_a_file() -> None:
    written = json.dumps(to_json(Row(np.array([1.0, np.nan]), np.inf)), allow_nan=False)
    assert json.loads(written) == {"values": [1.0, None], "total": None}
    row = build(Row, json.loads(written), "row")
    assert np.array_equal(row.values, [1.0, np.nan], equal_nan=True)
    assert row.total is None
    assert build(Row, json.loads('{"values": [], "total": NaN}'), "row").total is None
