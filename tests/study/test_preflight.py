"""Before anything is computed, all problems of all clients are told."""

from pathlib import Path

import pytest

from fedclust import DataError
from fedclust.study import examine, read_study
from fedclust.study.run import run_study

from .example import SMALLEST, write


def test_all_problems_of_all_clients_are_listed_at_once(tmp_path: Path) -> None:
    study = (
        SMALLEST.replace("south.csv", "nowhere.csv")
        + """
[data]
id = "patient"

[features]
age = { low = 0, high = 45 }
height = {}
sex = { categories = ["f"] }
weight = {}
"""
    )
    path = write(tmp_path, study)
    north = (tmp_path / "north.csv").read_text().replace("north5,", "north4,").splitlines()
    cells = [line.split(",") for line in north]
    flat = [",".join([*c[:2], "weight" if i == 0 else "70", c[3]]) for i, c in enumerate(cells)]
    (tmp_path / "north.csv").write_text("\n".join(flat))
    found = examine(read_study(path))
    assert not found.passes
    told = {(p.client, p.column): (p.what, p.stops) for p in found.problems}
    assert told["south", ""][0] == "there is no file nowhere.csv"
    assert told["north", "patient"] == ("1 rows repeat an id", False)
    assert told["north", "height"] == ("the column is not there", True)
    assert "categories that were not declared: m" in told["north", "sex"][0]
    assert "values outside the public bounds" in told["north", "age"][0]
    assert told["north", "weight"] == ("has the same value in all rows", False)
    first = r"client 'south': there is no file nowhere.csv \(and 3 more: fedclust check"
    with pytest.raises(DataError, match=first):
        run_study(read_study(path), tmp_path / "run")


def test_few_rows_gaps_and_missing_ids_are_told(tmp_path: Path) -> None:
    path = write(tmp_path, SMALLEST + '[data]\nid = "nobody"\n', rows=8)
    (tmp_path / "south.csv").write_text("patient,age,weight\n" + "a,NA,1\n" * 6 + "b,3,2\nc,4,5\n")
    (tmp_path / "north.csv").write_text("patient,age,weight\n" + "a,,1\n" * 8)
    found = examine(read_study(path))
    told = [(p.client, p.column, p.what) for p in found.problems]
    assert ("south", "", "8 rows only") in told
    assert ("south", "nobody", "the id column is not there") in told
    assert ("south", "age", "is missing in 75% of the rows") in told
    assert ("north", "age", "has no value at all") in told
    (tmp_path / "north.csv").write_text("patient,age,weight\n")
    assert ("north", "", "0 rows only", True) in examine(read_study(path)).problems
    (tmp_path / "north.csv").unlink()
    (tmp_path / "south.csv").unlink()
    assert not examine(read_study(path)).columns
    (tmp_path / "north.csv").write_text("a\nx\n")
    (tmp_path / "south.csv").write_text("a\ny\n")
    found = examine(read_study(path))
    assert ("all", "", "no numeric column is shared by all clients") in [
        p[:3] for p in found.problems
    ]


def test_globs_name_several_files(tmp_path: Path) -> None:
    study = read_study(write(tmp_path, SMALLEST.replace("north.csv", "n*.csv")))
    (tmp_path / "north2.csv").write_text((tmp_path / "north.csv").read_text())
    assert [p.name for p in study.files("north")] == ["north.csv", "north2.csv"]
    assert examine(study).rows["north"] == 80


def test_a_file_that_cannot_be_read_is_a_problem_of_its_client(tmp_path: Path) -> None:
    path = write(tmp_path, SMALLEST.replace("north.csv", "north.xlsx"))
    (tmp_path / "north.xlsx").write_bytes(b"PK")
    problems = examine(read_study(path)).problems
    assert [p.client for p in problems if p.stops] == ["north"]


def test_bounds_of_a_logarithm_are_kept_to_the_last_digit(tmp_path: Path) -> None:
    path = write(tmp_path, SMALLEST + "[features]\nweight = { log = true, low = 3, high = 5 }\n")
    for client in ("north", "south"):
        (tmp_path / f"{client}.csv").write_text("weight\n" + "3\n4\n5\n" * 10)
    assert examine(read_study(path)).passes


@pytest.mark.parametrize("batch_rows", [0, 7])
def test_batches_are_examined_like_whole_files(tmp_path: Path, batch_rows: int) -> None:
    study = (
        SMALLEST
        + f"[data]\nbatch_rows = {batch_rows}\n"
        + "[features]\nage = { low = 0, high = 45 }\nsex = { categories = ['f'] }\n"
    )
    found = examine(read_study(write(tmp_path, study)))
    told = {(p.client, p.column): p.what for p in found.problems}
    assert told["north", "age"] == "6 values outside the public bounds"
    assert told["south", "age"] == "39 values outside the public bounds"
    assert "not declared: m" in told["north", "sex"]
    assert found.counts["north"].rows == 40
    assert found.counts["north"].complete == 39
