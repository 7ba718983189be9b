"""Preflight reports all problems of all clients before anything is computed."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fedclust import DataError
from fedclust.cli import app
from fedclust.client.problems import group_problems
from fedclust.study import Problem, read_study, survey_study
from fedclust.study.run import run_study

from .example import SMALLEST, write


def test_an_id_that_is_a_feature_is_named(tmp_path: Path) -> None:
    rows = "patient,age\n" + "".join(f"{i},{30 + i}\n" for i in range(20))
    (tmp_path / "north.csv").write_text(rows)
    study = '[clients]\nnorth = "north.csv"\n[clustering]\nalgorithm = "lossless"\nn_clusters = 2\n'
    study += '[data]\nid = "patient"\n[features]\nage = {}\npatient = {}\n'
    found = survey_study(read_study(write(tmp_path, study)))
    assert [(p.code, p.column, p.blocking) for p in found.problems] == [
        ("id-feature", "patient", True)
    ]
    assert "leave it out there" in found.problems[0].public


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
    found = survey_study(read_study(path))
    assert not found.passes
    reported = {(p.client, p.column): (p.code, p.detail, p.blocking) for p in found.problems}
    code, detail, blocking = reported["south", ""]
    assert (code, blocking) == ("unreadable", True)
    assert detail.startswith("there is no file nowhere.csv in the folder ")
    assert reported["north", "patient"] == ("id-repeated", "1", False)
    assert reported["north", "height"] == ("column-missing", "did you mean 'weight'?", True)
    assert reported["north", "sex"][:2] == ("undeclared-category", "m")
    assert reported["north", "age"][0] == "out-of-bounds"
    assert reported["north", "weight"] == ("constant", "", False)
    with pytest.raises(DataError, match=r"client 'south': .*there is no file nowhere.csv") as error:
        run_study(read_study(path), tmp_path / "run")
    assert "; client 'north': column 'height': the column does not exist" in str(error.value)


def test_few_rows_missing_values_and_missing_ids_are_reported(tmp_path: Path) -> None:
    path = write(tmp_path, SMALLEST + '[data]\nid = "nobody"\n', rows=8)
    (tmp_path / "south.csv").write_text("patient,age,weight\n" + "a,NA,1\n" * 6 + "b,3,2\nc,4,5\n")
    (tmp_path / "north.csv").write_text("patient,age,weight\n" + "a,,1\n" * 8)
    found = survey_study(read_study(path))
    reported = [(p.client, p.column, p.code, p.detail) for p in found.problems]
    assert ("south", "", "few-rows", "8") in reported
    assert ("south", "nobody", "id-missing", "") in reported
    assert ("south", "age", "mostly-missing", "75%") in reported
    assert ("north", "age", "all-missing", "") in reported
    (tmp_path / "north.csv").write_text("patient,age,weight\n")
    assert Problem("north", "no-rows") in survey_study(read_study(path)).problems
    (tmp_path / "north.csv").unlink()
    (tmp_path / "south.csv").unlink()
    assert not survey_study(read_study(path)).columns
    (tmp_path / "north.csv").write_text("a\nx\n")
    (tmp_path / "south.csv").write_text("a\ny\n")
    found = survey_study(read_study(path))
    assert Problem("all", "no-shared-column") in found.problems


def test_globs_name_several_files(tmp_path: Path) -> None:
    study = read_study(write(tmp_path, SMALLEST.replace("north.csv", "n*.csv")))
    (tmp_path / "north2.csv").write_text((tmp_path / "north.csv").read_text())
    assert [p.name for p in study.files("north")] == ["north.csv", "north2.csv"]
    assert survey_study(study).rows["north"] == 80


def test_a_file_that_cannot_be_read_is_a_problem_of_its_client(tmp_path: Path) -> None:
    path = write(tmp_path, SMALLEST.replace("north.csv", "north.xlsx"))
    (tmp_path / "north.xlsx").write_bytes(b"PK")
    problems = survey_study(read_study(path)).problems
    assert [p.client for p in problems if p.blocking] == ["north"]


def test_bounds_of_a_logarithm_are_kept_to_the_last_digit(tmp_path: Path) -> None:
    path = write(tmp_path, SMALLEST + "[features]\nweight = { log = true, low = 3, high = 5 }\n")
    for client in ("north", "south"):
        (tmp_path / f"{client}.csv").write_text("weight\n" + "3\n4\n5\n" * 10)
    assert survey_study(read_study(path)).passes


@pytest.mark.parametrize("batch_rows", [0, 7])
def test_batches_are_examined_like_whole_files(tmp_path: Path, batch_rows: int) -> None:
    study = (
        SMALLEST
        + f"[data]\nbatch_rows = {batch_rows}\n"
        + "[features]\nage = { low = 0, high = 45 }\nsex = { categories = ['f'] }\n"
    )
    found = survey_study(read_study(write(tmp_path, study)))
    reported = {(p.client, p.column): (p.code, p.detail) for p in found.problems}
    assert reported["north", "age"] == ("out-of-bounds", "6; first in north.csv:13")
    assert reported["south", "age"] == ("out-of-bounds", "39; first in south.csv:2")
    assert reported["north", "sex"][0] == "undeclared-category"
    assert found.counts["north"] == (40, 39)


def problems(folder: Path, study: str) -> list[str]:
    survey = survey_study(read_study(write(folder, study)))
    return [f"{p.code} ({p.detail})" for p in survey.problems if p.blocking]


def test_rare_values_are_counted_and_not_named(tmp_path: Path) -> None:
    """A column of names that is declared as categories by mistake must not be disclosed."""
    reported = problems(tmp_path, SMALLEST + "[features]\npatient = { categories = ['x'] }\n")
    assert reported == ["undeclared-category (40 rows)"] * 2


def test_codes_are_categories_however_they_are_written(tmp_path: Path) -> None:
    for declared in ("[0, 1]", '["0", "1"]'):
        path = write(tmp_path, SMALLEST + f"[features]\nill = {{ categories = {declared} }}\n")
        for client, zero in (("north", "0"), ("south", "0.0")):
            (tmp_path / f"{client}.csv").write_text("ill\n" + f"{zero}\n1\n" * 10)
        assert survey_study(read_study(path)).passes


def test_problems_that_would_fail_later_are_found_early(tmp_path: Path) -> None:
    assert problems(tmp_path, SMALLEST.replace("south.csv", "north.csv")) == [
        "same-file (north.csv is also a file of client 'north')"
    ]
    few = SMALLEST + "[privacy]\nmin_count = 81\n"
    assert problems(tmp_path, few) == ["below-minimum (80 rows, min_count = 81)"]
    small = SMALLEST + '[privacy]\ntier = "guarded"\nmin_count = 41\n'
    assert problems(tmp_path, small) == ["small-clients (min_count = 41)"]
    assert problems(tmp_path, small.replace("guarded", "none")) == []
    batches = SMALLEST.replace("lossless", "fkm") + "[data]\nbatch_rows = 9\n"
    assert problems(tmp_path, batches)[0].startswith("needs-memory (fkm")
    median = SMALLEST + '[data]\nbatch_rows = 9\nmissing = "median-of-means"\n'
    assert problems(tmp_path, median)[0].startswith("needs-memory (median-of-means")
    (tmp_path / "folder").mkdir()
    reported = problems(tmp_path, SMALLEST.replace("north.csv", "folder"))
    detail = "folder is a folder; name its files, such as folder/*.csv"
    assert reported == [f"unreadable ({detail})"]
    write(tmp_path)
    (tmp_path / "north.csv").write_text("age\n1e300\n" + "40\n" * 30)
    (tmp_path / "south.csv").write_text("age\n" + "40\n50\n" * 20)
    survey = survey_study(read_study(tmp_path / "study.toml"))
    assert [p.code for p in survey.problems if p.blocking] == ["overflow"]


def test_columns_that_only_number_rows_are_not_features(tmp_path: Path) -> None:
    path = write(tmp_path)
    for client in ("north", "south"):
        lines = [f"{i},{i % 7}" for i in range(30)]
        (tmp_path / f"{client}.csv").write_text("\n".join([",age", *lines]))
    assert [c.name for c in survey_study(read_study(path)).columns] == ["age"]


def test_names_in_brackets_are_printed_as_they_are(tmp_path: Path) -> None:
    path = write(tmp_path)
    for client in ("north", "south"):
        lines = [f"{i},{i % 7}" for i in range(30)]
        (tmp_path / f"{client}.csv").write_text("\n".join(["[bold]x[/bold],[/y]", *lines]))
    for command in ("check", "run"):
        shown = CliRunner().invoke(app, [command, str(path)])
        assert shown.exit_code == 0, shown.output
        assert "[/y]" in shown.output


@pytest.mark.parametrize("id", ["cluster", "membership_1"])
def test_ids_must_not_be_overwritten_by_labels(tmp_path: Path, id: str) -> None:
    reported = problems(tmp_path, SMALLEST + f"[data]\nid = '{id}'\n")
    assert len(reported) == 2
    assert all(f"[data] id = '{id}': label files use this column name" in one for one in reported)


@pytest.mark.parametrize("batch_rows", [0, 7])
def test_values_that_are_lists_are_not_categories(tmp_path: Path, batch_rows: int) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    study = SMALLEST.replace(".csv", ".parquet") + f"[data]\nbatch_rows = {batch_rows}\n"
    path = write(tmp_path, study + "[features]\nage = {}\nx = { categories = ['a'] }\n")
    for client in ("north", "south"):
        table = {"age": list(range(20)), "x": [["a"]] * 20}
        pq.write_table(pa.table(table), tmp_path / f"{client}.parquet")
    blocking = [p.code for p in survey_study(read_study(path)).problems if p.blocking]
    assert blocking == ["undeclared-category"] * 2


@pytest.mark.parametrize("batch_rows", [0, 7])
def test_stray_values_are_counted_over_all_rows_and_files(tmp_path: Path, batch_rows: int) -> None:
    study = SMALLEST.replace("north.csv", "n*.csv") + f"[data]\nbatch_rows = {batch_rows}\n"
    path = write(tmp_path, study)
    lines = (tmp_path / "north.csv").read_text().splitlines()
    for row, word in ((30, "-"), (33, "-"), (39, "12h")):
        cells = lines[row].split(",")
        lines[row] = ",".join([*cells[:2], word, cells[3]])
    (tmp_path / "north2.csv").write_text("\n".join(lines))
    found = survey_study(read_study(path))
    (problem,) = [p for p in found.problems if p.blocking]
    assert (problem.client, problem.column, problem.code) == ("north", "weight", "stray-values")
    counts = "77 of 80 values are numbers; the others: 2 x '-', 1 x '12h'"
    assert problem.detail == f"{counts}; first in north2.csv:31"
    assert found.rows == {"north": 80, "south": 40}
    path.write_text(path.read_text() + 'na_values = ["-", "12h"]\n')
    assert survey_study(read_study(path)).passes


@pytest.mark.parametrize("batch_rows", [0, 7])
def test_a_column_that_is_nearly_numeric_is_not_dropped(tmp_path: Path, batch_rows: int) -> None:
    """Without [features] all numeric columns are used, and one with a stray word is one of them."""
    path = write(tmp_path, SMALLEST + f"[data]\nbatch_rows = {batch_rows}\n")
    text = (tmp_path / "north.csv").read_text()
    (tmp_path / "north.csv").write_text(text.replace("NA", "secret"))
    found = survey_study(read_study(path))
    assert [column.name for column in found.columns] == ["age", "weight"]
    assert [(p.column, p.code) for p in found.problems if p.blocking] == [("age", "stray-values")]
    with pytest.raises(DataError, match="39 of 40 values are numbers; the other is 'secret'"):
        run_study(read_study(path), tmp_path / "run")


def test_columns_that_are_not_used_are_named(tmp_path: Path) -> None:
    found = survey_study(read_study(write(tmp_path, SMALLEST + '[data]\nid = "patient"\n')))
    assert found.notes == ("Not used: sex (text).",)


def test_many_different_words_take_bounded_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fedclust.client.column_check._KEPT", 5)
    path = write(tmp_path, SMALLEST + "[features]\npatient = {}\n[data]\nbatch_rows = 7\n")
    details = {p.detail for p in survey_study(read_study(path)).problems if p.blocking}
    assert any("0 of 40 values are numbers; the others: 35 x 'other words'" in d for d in details)


def test_the_same_problem_of_many_clients_is_one_line(tmp_path: Path) -> None:
    """The lines of the files differ, and are all in the JSON."""
    names = [f"s{number:02d}" for number in range(20)]
    for number, name in enumerate(names):
        rows = [f"{row},{row % 7}" for row in range(30)]
        rows[number] = "5,12h"
        (tmp_path / f"{name}.csv").write_text("x,y\n" + "\n".join(rows))
    listed = "\n".join(f'{name} = "{name}.csv"' for name in names)
    path = tmp_path / "study.toml"
    path.write_text(f"[clients]\n{listed}\n[clustering]\nn_clusters = 2\nalgorithm = 'lossless'\n")
    (group,) = group_problems(p for p in survey_study(read_study(path)).problems if p.blocking)
    assert str(group) == (
        "clients 's00', 's01' and 18 others: column 'y': has some values that are not numbers; "
        "correct them, or list them under na_values (s00: 29 of 30 values are numbers; the other "
        "is '12h'; first in s00.csv:2; similar at the others: fedclust check --json)"
    )
    shown = CliRunner().invoke(app, ["check", str(path)])
    assert shown.exit_code == 1
    assert "Rows: 600 at 20 clients, 30 each." in shown.output
    assert len(shown.output.splitlines()) < 20
    found = json.loads(CliRunner().invoke(app, ["check", str(path), "--json"]).stdout)
    assert [p["problem"].count(f"{p['client']}.csv:") for p in found["problems"]] == [1] * 20
