"""Labels of new rows: one file for each file of rows, beside it, and never on top of another."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from fedclust import ConfigError, load
from fedclust.cli import app
from fedclust.core import WriteError
from fedclust.study import read_study
from fedclust.study.label import choose_targets, label_files
from fedclust.study.run import Outcome, run_study

from .example import SMALLEST, write

pq = pytest.importorskip("pyarrow.parquet")
STUDY = (
    SMALLEST
    + '[data]\nid = "patient"\n[features]\nage = { low = 0, high = 120 }\n'
    + "weight = { low = 1, high = 400, log = true }\n"
)


@pytest.fixture
def done(tmp_path: Path) -> Outcome:
    return run_study(read_study(write(tmp_path, STUDY)), tmp_path / "run")


def test_every_file_has_its_own_labels_and_its_own_row_order(done: Outcome, tmp_path: Path) -> None:
    files = [tmp_path / "south.csv", tmp_path / "north.csv"]
    found = label_files(load(done.folder), files)
    assert [file.source for file in found] == files
    for file in found:
        assert file.target == file.source.with_name(f"{file.source.stem}.labels.parquet")
        labels = pq.read_table(file.target).to_pydict()
        assert labels["patient"] == [f"{file.source.stem}{i}" for i in range(40)]
        given = pq.read_table(done.labels[file.source.stem]).to_pydict()
        assert labels == given


def test_files_of_one_name_keep_their_suffixes(tmp_path: Path) -> None:
    here, there = tmp_path / "a", tmp_path / "b"
    files = [here / "people.csv", here / "people.parquet", here / "more.csv", there / "people.csv"]
    assert [target.relative_to(tmp_path) for target in choose_targets(files, None).values()] == [
        Path("a/people.csv.labels.parquet"),
        Path("a/people.parquet.labels.parquet"),
        Path("a/more.labels.parquet"),
        Path("b/people.labels.parquet"),
    ]
    in_one = choose_targets([files[0], files[2]], tmp_path / "labels")
    assert set(in_one.values()) == {
        tmp_path / "labels" / f"{name}.labels.parquet" for name in ("people", "more")
    }
    with pytest.raises(ConfigError, match="people.csv and .*people.csv would both go to"):
        choose_targets([files[0], files[3]], tmp_path / "labels")
    with pytest.raises(ConfigError, match="2 files have 2 files of labels, but .*l.csv is one"):
        choose_targets(files[:2], tmp_path / "l.csv")
    with pytest.raises(ConfigError, match="people.csv is named twice"):
        choose_targets([files[0], files[0]], None)


def test_a_glob_of_data_does_not_match_labels(done: Outcome, tmp_path: Path) -> None:
    label_files(load(done.folder), [tmp_path / "north.csv"])
    (tmp_path / "north.labels.csv").write_text("patient,cluster\n")
    path = tmp_path / "study.toml"
    path.write_text(STUDY.replace('"north.csv"', '"north*"'))
    assert [file.name for file in read_study(path).files("north")] == ["north.csv"]


def test_another_id_column_can_be_named(done: Outcome, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("number,age,weight\n7,40,70\n8,61,70\n")
    (numbered,) = label_files(load(done.folder), [tmp_path / "new.csv"])
    assert pq.read_table(numbered.target).column_names == ["row", "cluster"]
    assert "no id column 'patient', so its rows are numbered" in numbered.remarks[0]
    (named,) = label_files(load(done.folder), [tmp_path / "new.csv"], id="number", force=True)
    assert pq.read_table(named.target)["number"].to_pylist() == ["7", "8"]
    assert named.remarks == ()


@pytest.mark.parametrize("rows", [1, 100])
def test_values_outside_the_bounds_of_the_study_are_reported(
    done: Outcome, tmp_path: Path, rows: int
) -> None:
    (tmp_path / "new.csv").write_text(
        "patient,age,weight\na,40,70\nb,-1,70\nc,121,500\nd,,0.5\ne,120,1\n"
    )
    (here,) = label_files(load(done.folder), [tmp_path / "new.csv"], batch_rows=rows)
    assert here.remarks == (
        "new.csv: 2 values of 'age' are outside the bounds of the study (0 to 120), so no such "
        "row was part of it",
        "new.csv: 2 values of 'weight' are outside the bounds of the study (1 to 400), so no such "
        "row was part of it",
    )
    assert here.labelled.left_out == 1
    shown = CliRunner().invoke(
        app, ["label", str(done.folder), str(tmp_path / "new.csv"), "--force"]
    )
    assert shown.exit_code == 0
    assert "Warning: new.csv: 2 values of 'age' are outside" in shown.output


def test_the_command_labels_several_files(done: Outcome, tmp_path: Path) -> None:
    files = [str(tmp_path / f"{name}.csv") for name in ("north", "south")]
    shown = CliRunner().invoke(app, ["label", str(done.folder), *files])
    assert shown.exit_code == 0, shown.output
    total = [int(line.split(": ")[1].split()[0]) for line in shown.output.splitlines()[:2]]
    assert sum(total) == 78
    (line,) = (line for line in shown.output.splitlines() if line.startswith("Labels"))
    assert "north.labels.parquet" in line
    assert "south.labels.parquet" in line


def test_nothing_is_written_if_one_target_exists(done: Outcome, tmp_path: Path) -> None:
    (tmp_path / "south.labels.parquet").write_text("mine")
    with pytest.raises(ConfigError, match="south.labels.parquet exists already; choose another"):
        label_files(load(done.folder), [tmp_path / "north.csv", tmp_path / "south.csv"])
    assert not (tmp_path / "north.labels.parquet").exists()
    assert (tmp_path / "south.labels.parquet").read_text() == "mine"


@pytest.mark.parametrize("name", ["l.parquet", "l.csv"])
def test_a_folder_that_cannot_be_written_is_named_without_scratch_files(
    done: Outcome, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may write anywhere, so the refusal is made here, in the words of each library."""
    if name.endswith(".csv"):
        monkeypatch.setattr("builtins.open", _refusing_open)
    else:
        monkeypatch.setattr("pyarrow.parquet.ParquetWriter", _refusing_writer)
    with pytest.raises(WriteError) as caught:
        label_files(load(done.folder), [tmp_path / "north.csv"], out=tmp_path / name)
    assert str(caught.value) == f"{tmp_path / name} cannot be written (Permission denied)"


_open = open


def _refusing_open(path: object, *rest: object, **settings: object) -> object:
    if ".tmp" in str(path):
        raise PermissionError(13, "Permission denied", str(path))
    return _open(path, *rest, **settings)  # type: ignore[call-overload]


def _refusing_writer(path: object, *rest: object, **settings: object) -> object:
    words = f"Failed to open local file '{path}'. Detail: [errno 13] Permission denied"
    raise PermissionError(13, words)  # as Arrow does: no filename, but a path in the text
