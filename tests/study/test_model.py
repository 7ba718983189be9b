"""A model is a file of plain values that labels new rows as the run would have done."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from fedclust import ConfigError, DataError, load
from fedclust.cli import app
from fedclust.clustering.model import Model
from fedclust.study import read_study
from fedclust.study.label import label_files
from fedclust.study.run import Outcome, run_study

from .example import SMALLEST, write

pq = pytest.importorskip("pyarrow.parquet")
FUZZY = SMALLEST.replace('"lossless"', '"lossless"\nfuzzy = true') + '[data]\nid = "patient"\n'


@pytest.fixture
def done(tmp_path: Path) -> Outcome:
    return run_study(read_study(write(tmp_path, FUZZY)), tmp_path / "run")


def test_a_model_is_read_as_it_was_written(done: Outcome) -> None:
    for path in (done.folder, done.folder / "model.json"):
        assert load(path).as_config() == done.model.as_config()
    assert np.array_equal(load(done.folder).centers, done.model.centers)


def test_new_rows_get_the_labels_the_run_gave(done: Outcome, tmp_path: Path) -> None:
    (here,) = label_files(load(done.folder), [tmp_path / "north.csv"])
    assert here.target == tmp_path / "north.labels.parquet"
    found, given = pq.read_table(here.target), pq.read_table(done.labels["north"])
    assert found.equals(given)
    assert found.column_names[0] == "patient"  # the id column of the study
    assert sum(here.labelled.sizes.values()) == 39
    assert here.labelled.left_out == 1
    assert here.remarks == ()


def test_frames_get_labels_and_memberships(done: Outcome) -> None:
    table = {"age": [40.0, np.nan, 61.0], "weight": [70.0, 70.0, 70.0]}
    labels, U = done.model.predict(table), done.model.predict_proba(table)
    assert labels[1] is None
    assert labels[0] != labels[2]
    assert [done.model.ids[c] for c in U[[0, 2]].argmax(axis=1)] == [labels[0], labels[2]]
    assert np.isnan(U[1]).all()
    assert done.model.columns == ["age", "weight"]
    with pytest.raises(DataError, match="the table: column 'weight' does not exist"):
        done.model.predict({"age": [1.0]})


def test_hard_clusters_have_no_memberships(tmp_path: Path) -> None:
    model = run_study(read_study(write(tmp_path)), tmp_path / "run").model
    with pytest.raises(ConfigError, match="llf-cm gives labels, not memberships"):
        model.predict_proba({"age": [1.0], "weight": [2.0]})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda c: {**c, "format": 9}, "unknown format 9; this fedclust reads format 1"),
        (lambda c: {k: v for k, v in c.items() if k != "clusters"}, "clusters: missing"),
        (lambda c: {**c, "clusters": 3}, "clusters: expected a list, got 3"),
        (lambda c: [c], "unknown format None"),
        (lambda c: {**c, "rounds": "many"}, "rounds: expected an integer, got 'many'"),
    ],
)
def test_invalid_model_files_are_refused(done: Outcome, change: Any, words: str) -> None:
    file = done.folder / "model.json"
    file.write_text(json.dumps(change(json.loads(file.read_text()))))
    with pytest.raises(DataError, match=rf"model.json: {words}"):
        load(done.folder)
    file.write_text("{")
    with pytest.raises(DataError, match="model.json: not JSON"):
        load(done.folder)
    with pytest.raises(ConfigError, match="there is no nothing; give the folder of a run"):
        load(done.folder / "nothing")


def test_files_larger_than_a_batch_are_labelled_in_batches(done: Outcome, tmp_path: Path) -> None:
    import pyarrow as pa

    rng = np.random.default_rng(0)
    table = {"age": rng.normal(50, 9, 95), "weight": rng.normal(70, 9, 95)}
    pq.write_table(pa.table(table), tmp_path / "new.parquet")
    (here,) = label_files(
        done.model, [tmp_path / "new.parquet"], out=tmp_path / "new.csv", batch_rows=10
    )
    assert here.remarks == (
        "new.parquet: there is no id column 'patient', so its rows are numbered",
    )
    lines = (tmp_path / "new.csv").read_text().splitlines()
    assert lines[0] == "row,cluster,membership_0,membership_1"
    assert [int(line.split(",")[0]) for line in lines[1:]] == list(range(95))
    assert [int(line.split(",")[1]) for line in lines[1:]] == done.model.predict(table)
    np.savez(tmp_path / "new.npz", age=table["age"], weight=table["weight"])
    label_files(done.model, [tmp_path / "new.npz"], out=tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_text() == (tmp_path / "new.csv").read_text()


def test_the_label_command(done: Outcome, tmp_path: Path) -> None:
    north, invoke = tmp_path / "north.csv", CliRunner().invoke
    shown = invoke(app, ["label", str(done.folder), str(north)])
    assert shown.exit_code == 0, shown.output
    assert "cluster 1: 38 rows" in shown.output
    assert (tmp_path / "north.labels.parquet").is_file()
    shown = invoke(app, ["label", str(done.folder), str(north)])
    assert shown.exit_code == 1
    archive = tmp_path / "t.npz"
    np.savez(archive, age=np.ones(2), weight=np.ones(2))
    for arguments, words in [
        ([str(tmp_path / "no.csv")], "there is no file"),
        ([str(north), "--out", str(tmp_path / "x.txt")], "written to .parquet or .csv files"),
        ([str(north), "--out", str(north)], "labels would overwrite the data"),
        ([str(north), "--id", "name", "--force"], "there is no column 'name'"),
        ([str(archive), "--id", "name", "--force"], "t.npz: there is no column 'name'"),
        ([str(north), "--id", "cluster", "--force"], "--id: label files use this column name"),
    ]:
        shown = invoke(app, ["label", str(done.folder), *arguments])
        assert shown.exit_code == 1
        assert words in " ".join(shown.output.split())


def test_a_model_describes_its_run(done: Outcome) -> None:
    about = Model.from_config(done.model.as_config()).about
    assert about is not None
    assert about.lossless is True
    assert about.privacy.tier == "none"
    assert about.versions["numpy"] == np.__version__


def test_na_values_of_the_study_apply_to_new_rows(tmp_path: Path) -> None:
    study = read_study(write(tmp_path, SMALLEST + '[data]\nna_values = ["unknown", "-9"]\n'))
    for client in ("north", "south"):
        text = (tmp_path / f"{client}.csv").read_text()
        (tmp_path / f"{client}.csv").write_text(text.replace("NA", "unknown"))
    done = run_study(study, tmp_path / "run")
    (tmp_path / "new.csv").write_text("age,weight\n40,70\nunknown,70\n40,-9\n")
    (here,) = label_files(load(done.folder), [tmp_path / "new.csv"])
    assert (sum(here.labelled.sizes.values()), here.labelled.left_out) == (1, 2)


def test_settings_for_reading_can_be_given_with_new_rows(done: Outcome, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("age;weight\n1.234;70\n")
    command = ["label", str(done.folder), str(tmp_path / "new.csv"), "--force"]
    shown = CliRunner().invoke(app, command)
    assert "set decimal or thousands under [data]" in " ".join(shown.output.split())
    shown = CliRunner().invoke(app, [*command, "--set", "decimal=."])
    assert shown.exit_code == 0, shown.output
    shown = CliRunner().invoke(app, [*command, "--set", "id=x"])
    assert "there is no setting 'id'" in " ".join(shown.output.split())


@pytest.mark.parametrize(
    ("ids", "written"),
    [
        ([1, None, 3], [1, None, 3]),
        ([None, None, 2**63 + 1], [None, None, str(2**63 + 1)]),
        ([0.5, 1.5, None], [0.5, 1.5, None]),
        ([["a"], ["b"], None], [["a"], ["b"], None]),
    ],
)
@pytest.mark.parametrize("n_rows", [1, 9])
def test_ids_of_any_kind_are_written(
    done: Outcome,
    tmp_path: Path,
    ids: Any,
    written: Any,
    n_rows: int,
) -> None:
    """A first batch without ids must not fix the type of the column."""
    import pyarrow as pa

    kind = pa.uint64() if 2**63 + 1 in ids else None
    table = {"age": [40.0] * 3, "weight": [70.0] * 3, "name": pa.array(ids, kind)}
    pq.write_table(pa.table(table), tmp_path / "new.parquet")
    files, target = [tmp_path / "new.parquet"], tmp_path / "l.parquet"
    label_files(done.model, files, out=target, id="name", batch_rows=n_rows)
    assert pq.read_table(tmp_path / "l.parquet")["name"].to_pylist() == written
