"""A missing or damaged run folder gives a clear error."""

import json
from pathlib import Path
from typing import Any

import pytest

from fedclust.core import ConfigError, DataError
from fedclust.report import read_run, write_report

from .folders import change, write_run


def test_a_run_is_read_whole(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path, choice=True))
    assert [cluster.id for cluster in run.profile.clusters] == [1, 2, 3]
    assert len(run.history) == 12
    assert run.history[0].shift is None  # NaN in the file
    assert run.choice is not None
    assert run.choice.recommended == 3
    assert "[clustering]" in run.study


def test_numbers_that_are_not_finite_are_none(tmp_path: Path) -> None:
    write_run(tmp_path)
    text = (tmp_path / "model.json").read_text()
    for written in ("NaN", "-Infinity", "1e999"):
        (tmp_path / "model.json").write_text(text.replace("812.4", written))
        assert read_run(tmp_path).about.inertia is None


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such folder; give the folder of a run"):
        write_report(tmp_path / "nothing")


@pytest.mark.parametrize("name", ["model.json", "profile.json", "history.jsonl", "study.toml"])
def test_every_file_is_missed_by_name(tmp_path: Path, name: str) -> None:
    (write_run(tmp_path) / name).unlink()
    with pytest.raises(ConfigError, match=f"there is no {name}"):
        write_report(tmp_path)
    assert not (tmp_path / "report.html").exists()


@pytest.mark.parametrize("name", ["model.json", "profile.json", "history.jsonl", "choice.json"])
def test_what_is_not_json_is_named(tmp_path: Path, name: str) -> None:
    (write_run(tmp_path, choice=True) / name).write_text("{")
    with pytest.raises(DataError, match=rf"{name}.*: not JSON .*run the study again"):
        read_run(tmp_path)


def test_what_is_not_text_is_named(tmp_path: Path) -> None:
    (write_run(tmp_path) / "study.toml").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(DataError, match=r"study.toml: not readable as text in UTF-8"):
        read_run(tmp_path)


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    change(write_run(tmp_path), "model.json", format=2)
    with pytest.raises(DataError, match=r"model.json: unknown format 2.*reads format 1"):
        read_run(tmp_path)
    (tmp_path / "model.json").write_text("[]")
    with pytest.raises(DataError, match="unknown format None"):
        read_run(tmp_path)


@pytest.mark.parametrize(
    ("name", "values", "said"),
    [
        ("model.json", {"rounds": "many"}, r"json: rounds: expected an integer, got 'many'"),
        ("model.json", {"rounds": True}, "rounds: expected an integer, got True"),
        ("model.json", {"converged": 1}, "converged: expected true or false, got 1"),
        ("model.json", {"algorithm": {}}, "algorithm: expected text"),
        ("model.json", {"privacy": "none"}, "privacy: expected an object with tier, guarantee"),
        ("model.json", {"bytes_sent": [1]}, "bytes_sent: expected an object with names"),
        ("model.json", {"columns": "age"}, "columns: expected a list"),
        ("model.json", {"columns": []}, "columns: expected age, resting"),
        ("model.json", {"columns": ["age"]}, "as in the preparation"),
        ("model.json", {"clusters": []}, "model.json and profile.json list different clusters"),
        ("profile.json", {"clients": [{}]}, r"clients\[0\].name: missing"),
        ("profile.json", {"quality": [{"index": 1}]}, r"quality\[0\].index: expected text, got 1"),
        ("profile.json", {"map": {"axes": []}}, "map.axes: expected a list of 2 values"),
        (
            "choice.json",
            {"scores": [{"n_clusters": 2, "indices": {"elbow": "x"}}]},
            r"scores\[0\].indices.elbow: expected a number",
        ),
    ],
)
def test_values_of_another_kind_are_named(
    tmp_path: Path, name: str, values: dict[str, Any], said: str
) -> None:
    change(write_run(tmp_path, choice=True), name, **values)
    with pytest.raises(DataError, match=said) as reported:
        read_run(tmp_path)
    assert "\n" not in str(reported.value)


def test_a_preparation_of_other_columns_is_refused(tmp_path: Path) -> None:
    model = json.loads((write_run(tmp_path) / "model.json").read_text())
    change(tmp_path, "model.json", preparation={**model["preparation"], "scale": [1.0]})
    with pytest.raises(
        DataError, match="preparation.scale: expected one finite number per column .5"
    ):
        read_run(tmp_path)


def test_a_grid_of_another_shape_is_refused(tmp_path: Path) -> None:
    profile = json.loads((write_run(tmp_path) / "profile.json").read_text())
    profile["map"]["grid"]["counts"].pop()
    change(tmp_path, "profile.json", map=profile["map"])
    with pytest.raises(DataError, match=r"counts: expected 20 rows \(y\) of 20 counts \(x\)"):
        read_run(tmp_path)


def test_a_bad_line_of_the_history_is_named_by_its_number(tmp_path: Path) -> None:
    with open(write_run(tmp_path) / "history.jsonl", "a") as file:
        file.write('\n{"round": 12}\n')
    with pytest.raises(DataError, match=r"history.jsonl:14: n_clients: missing"):
        read_run(tmp_path)
