"""From a study file to a folder with labels for each client."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from fedclust import ConfigError, DataError
from fedclust.cli import app
from fedclust.study import read_study
from fedclust.study.run import run_study

from .example import SMALLEST, read, write


def test_the_smallest_study_runs(tmp_path: Path) -> None:
    done = run_study(read_study(write(tmp_path)), tmp_path / "run")
    model = done.model
    assert model.preparation.names == ["age", "weight"]  # numeric, and in all files
    sizes = [size or 0 for size in model.sizes]
    assert sum(sizes) == 78
    assert sizes[0] >= sizes[1]  # named by size
    assert sorted(model.centers_in_units[:, 0].round(-1)) == [40, 60]
    assert sorted(p.name for p in (tmp_path / "run").iterdir()) == [
        "history.jsonl", "model.json", "profile.json", "report.html", "study.toml",
    ]  # fmt: skip
    labels = read(done, "north")
    folder = tmp_path / "fedclust-labels" / f"run-{model.about.run_id}"
    assert done.labels["north"] == folder / "north.parquet"
    assert list(labels) == ["row", "cluster"]
    assert labels["cluster"][3] is None  # its age is missing: left out
    assert set(labels["cluster"]) <= {None, 0, 1}
    config = json.loads((tmp_path / "run" / "model.json").read_text())
    assert config["columns"] == ["age", "weight"]
    assert config["algorithm"] == "llf-cm"
    history = (tmp_path / "run" / "history.jsonl").read_text().splitlines()
    assert len(history) == config["rounds"]


def test_every_setting_is_used(tmp_path: Path) -> None:
    study = (
        SMALLEST.replace('algorithm = "lossless"', 'algorithm = "lossless"\nfuzzy = true')
        + """
fuzzifier = 1.5
n_init = 2
max_rounds = 40
tol = 1e-5
seed = 3
init = "careful"

[data]
id = "patient"
missing = "mean"
scaling = "min-max"

[sampling]
fraction = 1.0
min_clients = 2

[privacy]
tier = "paper"
min_count = 3

[outputs]
labels = "csv"
labels_in = "run"
report = false

[features.age]
unit = "years"
low = 0
high = 120

[features.sex]
categories = ["f", "m"]
"""
    )
    done = run_study(read_study(write(tmp_path, study)), tmp_path / "run")
    assert done.model.preparation.names == ["age", "sex=f", "sex=m"]
    assert done.clustering.algorithm.key == "llf-fcm"
    labels = (tmp_path / "run" / "labels" / "south.csv").read_text().splitlines()
    assert labels[0] == "patient,cluster,membership_0,membership_1"
    assert labels[4].startswith("south3,")
    assert float(labels[4].split(",")[2]) + float(labels[4].split(",")[3]) == pytest.approx(1)
    assert not (tmp_path / "run" / "report.html").exists()


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ('algorithm = "k-fed"\nmax_rounds = 3', "k-fed has no parameter max_rounds"),
        ('algorithm = "fkm"\nfuzzy = true', "fuzzy = true, but fkm computes labels"),
        ('algorithm = "fkm"\nfuzzifier = 2.0', "fkm has no parameter fuzzifier"),
    ],
)
def test_settings_that_cannot_be_met_are_refused(tmp_path: Path, extra: str, words: str) -> None:
    study = SMALLEST.replace('algorithm = "lossless"', extra)
    with pytest.raises(ConfigError, match=words):
        run_study(read_study(write(tmp_path, study)), tmp_path / "run")


def test_an_existing_folder_is_not_overwritten_without_force(tmp_path: Path) -> None:
    study = read_study(write(tmp_path))
    run_study(study, tmp_path / "run")
    with pytest.raises(ConfigError, match="exists already; choose another --out"):
        run_study(study, tmp_path / "run")
    run_study(study, tmp_path / "run", force=True)
    assert not list(tmp_path.glob(".*unfinished"))


def test_labels_of_two_runs_never_collide(tmp_path: Path) -> None:
    study = read_study(write(tmp_path))
    runs = [run_study(study, tmp_path / place / "run") for place in ("a", "b")]
    shutil.rmtree(tmp_path / "a" / "run")  # the user deletes a run and runs it again
    runs.append(run_study(study, tmp_path / "a" / "run"))
    (tmp_path / "b" / "run").rename(tmp_path / "b" / "kept")  # or puts a run aside
    runs.append(run_study(study, tmp_path / "b" / "run"))
    files = [Path(run.labels[client]) for run in runs for client in ("north", "south")]
    assert len(set(files)) == 8
    assert all(file.is_file() for file in files)


def test_labels_that_cannot_be_written_are_refused_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda path, mode: Path(path) != tmp_path)  # root may write
    seen: list[object] = []
    with pytest.raises(
        ConfigError, match=r"client 'north': .* write labels to .*labels_in = \"run"
    ):
        run_study(read_study(write(tmp_path)), tmp_path / "run", on_round=lambda *_: seen.append(1))
    assert not seen
    study = SMALLEST + '[outputs]\nlabels_in = "run"\n'
    run_study(read_study(write(tmp_path, study)), tmp_path / "run")


@pytest.mark.parametrize("apart", [True, False])
def test_labels_of_many_clients_take_one_line(tmp_path: Path, apart: bool) -> None:
    clients = []
    for i in range(60):
        folder = tmp_path / (f"site{i}" if apart else "sites")
        folder.mkdir(exist_ok=True)
        rows = np.random.default_rng(i).normal(size=(12, 2))
        np.savetxt(folder / f"c{i}.csv", rows, delimiter=",", header="a,b", comments="")
        clients.append(f'c{i} = "{folder.name}/c{i}.csv"\n')
    path = tmp_path / "study.toml"
    path.write_text(f"[clients]\n{''.join(clients)}[clustering]{SMALLEST.split('[clustering]')[1]}")
    shown = CliRunner().invoke(app, ["run", str(path)])
    assert shown.exit_code == 0, shown.output
    (line,) = (line for line in shown.output.splitlines() if line.startswith("Labels"))
    run_id = json.loads((tmp_path / "study-run" / "model.json").read_text())["run_id"]
    written = Path("fedclust-labels") / f"study-run-{run_id}"
    if apart:
        assert line == f"Labels: {written} beside each client's data (60 files)"
    else:
        assert line == f"Labels: {tmp_path / 'sites' / written} (60 files, one for each client)"


def test_force_replaces_the_labels_of_the_run_that_it_replaces(tmp_path: Path) -> None:
    study = read_study(write(tmp_path))
    first, other = (run_study(study, tmp_path / name) for name in ("run", "other"))
    again = run_study(study, tmp_path / "run", force=True)
    assert not Path(first.labels["north"]).parent.exists()
    assert Path(again.labels["north"]).is_file()
    assert Path(other.labels["north"]).is_file()


@pytest.mark.parametrize("run_id", ["", "..", "../../precious", 7])
def test_a_damaged_run_id_removes_nothing(tmp_path: Path, run_id: Any) -> None:
    study = read_study(write(tmp_path))
    run_study(study, tmp_path / "run")
    file = tmp_path / "run" / "model.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "run_id": run_id}))
    (tmp_path / "precious").mkdir()
    run_study(study, tmp_path / "run", force=True)
    assert (tmp_path / "precious").is_dir()
    assert (tmp_path / "north.csv").is_file()
    assert len(list((tmp_path / "fedclust-labels").iterdir())) == 2


def test_the_commands(tmp_path: Path) -> None:
    path, invoke = str(write(tmp_path)), CliRunner().invoke
    shown = invoke(app, ["check", path])
    assert shown.exit_code == 0
    assert "The study can run." in shown.output
    report = json.loads(invoke(app, ["check", path, "--json"]).output)
    assert report["passes"]
    assert report["rows"] == {"north": 40, "south": 40}
    shown = invoke(app, ["run", path])
    assert shown.exit_code == 0, shown.output
    assert "2 clusters" in shown.output
    assert (tmp_path / "study-run" / "model.json").is_file()
    assert invoke(app, ["run", path]).exit_code == 1
    (tmp_path / "south.csv").unlink()
    shown = invoke(app, ["check", path])
    assert shown.exit_code == 1
    assert "south.csv" in " ".join(shown.output.split())
    assert invoke(app, ["check", path, "--json"]).exit_code == 1


def test_force_replaces_runs_and_nothing_else(tmp_path: Path) -> None:
    """--out . --force must not take the user's files away."""
    study = read_study(write(tmp_path))
    with pytest.raises(ConfigError, match="is not the folder of a run, so --force does not"):
        run_study(study, tmp_path, force=True)
    assert (tmp_path / "north.csv").is_file()


def test_ids_are_kept_as_they_are_written(tmp_path: Path) -> None:
    study = read_study(write(tmp_path, SMALLEST + '[data]\nid = "patient"\n'))
    text = (tmp_path / "north.csv").read_text()
    text = text.replace("north0,", "007,").replace("north1,", '"a, b",')
    (tmp_path / "north.csv").write_text(text.replace("north2,", "90071992547409931,"))
    done = run_study(study, tmp_path / "run")
    assert read(done, "north")["patient"][:3] == ["007", "a, b", "90071992547409931"]


def test_more_clusters_than_rows_is_refused_before_anything_is_computed(tmp_path: Path) -> None:
    path = write(tmp_path, SMALLEST.replace("n_clusters = 2", "n_clusters = 81"))
    with pytest.raises(DataError, match="80 rows, n_clusters = 81"):
        run_study(read_study(path), tmp_path / "run")
    path.write_text(SMALLEST.replace("n_clusters = 2", "n_clusters = 79"))
    with pytest.raises(
        DataError, match="78 rows without missing values are too few for n_clusters = 79"
    ):
        run_study(read_study(path), tmp_path / "run")


def test_empty_clusters_are_reported(tmp_path: Path) -> None:
    path = write(tmp_path, SMALLEST.replace("n_clusters = 2", "n_clusters = 3"))
    for client in ("north", "south"):
        (tmp_path / f"{client}.csv").write_text("a,b\n" + "1,2\n" * 20 + "5,6\n" * 20)
    shown = CliRunner().invoke(app, ["run", str(path)])
    assert shown.exit_code == 0, shown.output
    assert "1 of 3 clusters have no rows; choose fewer" in shown.output


def test_force_keeps_files_that_no_run_has_written(tmp_path: Path) -> None:
    study = read_study(write(tmp_path))
    run_study(study, tmp_path / "run")
    (tmp_path / "run" / "notes.txt").write_text("mine")
    with pytest.raises(ConfigError, match=r"notes.txt"):
        run_study(study, tmp_path / "run", force=True)
    assert (tmp_path / "run" / "notes.txt").read_text() == "mine"


def test_odd_places_are_refused_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(write(tmp_path))
    monkeypatch.chdir(tmp_path)
    for out in (".", "/proc/nowhere"):
        shown = CliRunner().invoke(app, ["run", path, "--out", out, "--force"])
        assert shown.exit_code == 1
        assert "Errno" not in shown.output
    shown = CliRunner().invoke(app, ["init", "north.csv", "--out", "no/s.toml"])
    assert "the folder no does not exist" in shown.output


def test_rows_that_were_left_out_are_told(tmp_path: Path) -> None:
    path = str(write(tmp_path))
    shown = CliRunner().invoke(app, ["run", path])
    assert "2 of 80 rows were left out: they have missing values." in shown.output
    shown = CliRunner().invoke(app, ["run", path, "--force", "--json"])
    assert json.loads(shown.stdout)["rows_left_out"] == 2
    empty = tmp_path / "none.csv"
    empty.write_text("age,weight\n")
    shown = CliRunner().invoke(app, ["label", str(tmp_path / "study-run"), str(empty)])
    assert shown.exit_code == 1
    assert "there are no rows to label" in " ".join(shown.output.split())


def test_clusters_too_small_to_be_described_are_still_found(tmp_path: Path) -> None:
    path = write(tmp_path, SMALLEST.replace("n_clusters = 2", "n_clusters = 30"))
    done = run_study(read_study(path), tmp_path / "run")
    assert len(done.model.ids) == 30
