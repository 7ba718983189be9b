"""A format that another package defines is known wherever fedclust reads or writes files."""

import csv
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from fedclust import ConfigError, DataError
from fedclust.cli import app
from fedclust.data import (
    BatchReader,
    Format,
    ReadOptions,
    Selection,
    known_formats,
    register_format,
    unregister_format,
)
from fedclust.data.files import read_table
from fedclust.data.streams import Stream, column_kinds
from fedclust.deploy.templates import client_toml
from fedclust.study import read_study, survey_study
from fedclust.study.run import Outcome, run_study
from fedclust.study.settings import json_schema

from ..study.example import SMALLEST, write
from . import json_lines
from .json_lines import JSON_LINES

invoke = CliRunner().invoke
STUDY = SMALLEST.replace(".csv", ".jsonl")
LABELS = '[outputs]\nlabels = "jsonl"\n'


@pytest.fixture
def registered() -> Iterator[None]:
    register_format(JSON_LINES)
    yield
    unregister_format(JSON_LINES)


def as_json(name: str, value: str) -> Any:
    return (value if name in ("patient", "sex") else float(value)) if value != "NA" else None


def write_json_lines(folder: Path, study: str = STUDY) -> Path:
    """The small study, its files as JSON lines beside those as CSV."""
    path = write(folder, study)
    for client in ("north", "south"):
        with open(folder / f"{client}.csv") as file:
            rows = [{n: as_json(n, v) for n, v in row.items()} for row in csv.DictReader(file)]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{client}.jsonl").write_text(text)
    return path


def run(folder: Path, study: str) -> Outcome:
    folder.mkdir()
    return run_study(read_study(write_json_lines(folder, study)), folder / "run")


def rows_of(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


@pytest.mark.usefixtures("registered")
def test_a_study_of_such_files_finds_what_it_finds_in_csv_files(tmp_path: Path) -> None:
    whole = run(tmp_path / "whole", STUDY + LABELS)
    same = run(tmp_path / "csv", SMALLEST + '[outputs]\nlabels = "csv"\n')
    assert (whole.model.centers == same.model.centers).all()
    labels = rows_of(Path(whole.labels["north"]))
    written = Path(same.labels["north"]).read_text().splitlines()[1:]
    assert ["" if row["cluster"] is None else str(row["cluster"]) for row in labels] == [
        row.split(",")[1] for row in written
    ]


@pytest.mark.usefixtures("registered")
def test_such_files_are_read_in_batches(tmp_path: Path) -> None:
    whole = run(tmp_path / "whole", STUDY + LABELS)
    batches = run(tmp_path / "batches", STUDY + LABELS + "[data]\nbatch_rows = 7\n")
    np.testing.assert_allclose(batches.model.centers, whole.model.centers)
    assert rows_of(Path(batches.labels["south"])) == rows_of(Path(whole.labels["south"]))


@pytest.mark.usefixtures("registered")
def test_init_and_check_read_such_files(tmp_path: Path) -> None:
    write_json_lines(tmp_path)
    out = tmp_path / "first.toml"
    files = [str(tmp_path / f"{client}.jsonl") for client in ("north", "south")]
    shown = invoke(app, ["init", *files, "--out", str(out)])
    assert shown.exit_code == 0, shown.output
    study = read_study(out)
    assert study.data.id == "patient"
    assert [column.name for column in study.features or ()] == ["age", "weight"]
    assert invoke(app, ["check", str(out)]).exit_code == 0


@pytest.mark.usefixtures("registered")
def test_preflight_names_what_is_wrong_with_such_files(tmp_path: Path) -> None:
    path = write_json_lines(tmp_path)
    (tmp_path / "north.jsonl").write_text('{"age": 40, "weight": 70}\nsecret\n')
    shutil.copy(tmp_path / "south.csv", tmp_path / "south.dat")
    path.write_text(STUDY.replace("south.jsonl", "south.dat"))
    problems = {problem.client: problem.text for problem in survey_study(read_study(path)).problems}
    assert "north.jsonl:2: the line is not a JSON object" in problems["north"]
    assert "fedclust reads .csv, .feather, .jsonl, .npz, .ods, .parquet" in problems["south"]


@pytest.mark.usefixtures("registered")
def test_what_a_reader_raises_and_returns_is_checked(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    stream = Stream((file,), Selection(("x", "y")))
    for lines, words in [
        (['{"x": 1, "y": 1}', '{"x": [1, 2], "y": 1}'], "not readable"),
        (['{"x": [1, 2], "y": 1}'], "column 'x' must have one value per row"),
    ]:
        file.write_text("\n".join(lines))
        with pytest.raises(DataError, match=rf"t\.jsonl: {words}"):
            read_table([file])
        with pytest.raises(DataError, match=rf"t\.jsonl: {words}"):
            list(stream.batches())


@pytest.mark.usefixtures("registered")
def test_the_label_command_reads_and_writes_such_files(tmp_path: Path) -> None:
    done = run(tmp_path / "whole", STUDY + LABELS)
    data, target = tmp_path / "whole" / "north.jsonl", tmp_path / "new.jsonl"
    command = ["label", str(done.folder), str(data), "--id", "patient", "--out", str(target)]
    shown = invoke(app, command)
    assert shown.exit_code == 0, shown.output
    labels = rows_of(target)
    assert [row["patient"] for row in labels] == [row["patient"] for row in rows_of(data)]
    assert labels[3]["cluster"] is None  # its age is missing


@pytest.mark.usefixtures("registered")
def test_lists_of_formats_have_it(tmp_path: Path) -> None:
    np.savez(tmp_path / "t.npz", x=np.arange(3))
    with pytest.raises(ConfigError, match=r"only .*\.jsonl files can be read in batches"):
        column_kinds([tmp_path / "t.npz"], ReadOptions())
    path = write_json_lines(tmp_path, STUDY + '[outputs]\nlabels = "xlsx"\n')
    with pytest.raises(ConfigError, match="one of parquet, csv, jsonl, none"):
        read_study(path)
    labels = json_schema()["properties"]["outputs"]["properties"]["labels"]
    assert labels["enum"] == ["parquet", "csv", "jsonl", "none"]
    assert "JSON Lines" in client_toml("north")


def test_a_format_that_offers_nothing_but_reading_is_refused_where_it_must(tmp_path: Path) -> None:
    plain = Format("plain JSON Lines", (".jsonl",), json_lines.read)
    register_format(plain)
    try:
        path = write_json_lines(tmp_path)
        assert survey_study(read_study(path)).passes
        path.write_text(STUDY + "[data]\nbatch_rows = 7\n")
        reported = {problem.text for problem in survey_study(read_study(path)).problems}
        assert any(
            "north.jsonl: only .parquet, .feather, .csv, .tsv, .txt files" in what
            for what in reported
        )
        path.write_text(STUDY + LABELS)
        with pytest.raises(ConfigError, match="one of parquet, csv, none, got 'jsonl'"):
            read_study(path)
    finally:
        unregister_format(plain)


@pytest.mark.usefixtures("registered")
def test_a_suffix_belongs_to_one_format() -> None:
    before = known_formats()
    register_format(JSON_LINES)
    assert known_formats() == before
    with pytest.raises(ConfigError, match=r"suffix \.csv is already used by format 'CSV'"):
        register_format(Format("another", (".xyz", ".csv"), json_lines.read))
    assert known_formats() == before


@pytest.mark.parametrize("suffixes", [(), ("jsonl",), (".JSONL",), (".",), (".tar.gz",)])
def test_suffixes_are_checked(suffixes: tuple[str, ...]) -> None:
    reader = BatchReader(json_lines.kinds, json_lines.batches)
    with pytest.raises(ConfigError, match="format 'odd': suffix"):
        Format("odd", suffixes, json_lines.read, reader)


def test_an_installed_package_brings_its_format(tmp_path: Path) -> None:
    """Real metadata and a process of its own; a package that is broken does not stop it."""
    package, study = tmp_path / "package", tmp_path / "study"
    about = package / "outside-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: outside\nVersion: 1.0\n")
    points = "json_lines = json_lines:JSON_LINES\nbroken = json_lines:nothing\nodd = json:loads\n"
    (about / "entry_points.txt").write_text(f"[fedclust.formats]\n{points}")
    shutil.copy(json_lines.__file__, package)
    study.mkdir()
    write_json_lines(study)
    path = os.pathsep.join([str(package), os.environ.get("PYTHONPATH", "")])
    shown = subprocess.run(
        [sys.executable, "-m", "fedclust", "check", "--json", str(study / "study.toml")],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert shown.returncode == 0, shown.stderr
    assert json.loads(shown.stdout)["rows"] == {"north": 40, "south": 40}
    assert "entry point 'broken' in group fedclust.formats is not usable" in shown.stderr
    assert "entry point 'odd' in group fedclust.formats is not usable" in shown.stderr
