"""Studies over rows with missing cells, from files to labels and report."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedclust import ConfigError
from fedclust import load as load_model
from fedclust.cli.tools.examples import write_example
from fedclust.core.files import write_text
from fedclust.datasets import load
from fedclust.study import read_study
from fedclust.study.export import as_pipeline, export
from fedclust.study.label import label_files
from fedclust.study.run import run_study, survey_study

from .example import read

STUDY = """
[clients]
north = "north.csv"
south = "south.csv"
west = "west.csv"

[clustering]
algorithm = "llf-cm"
n_clusters = 2

[data]
missing = "partial"

[privacy]
tier = "{tier}"

[features]
a = {{ low = -10, high = 20 }}
b = {{ low = -10, high = 20 }}
c = {{ low = -10, high = 20 }}

[outputs]
report = false
"""


def write_clients(folder: Path, tier: str = "none") -> Path:
    """Three clients; one lacks a column, one has a row without any value."""
    rng = np.random.default_rng(0)
    for number, name in enumerate(("north", "south", "west")):
        X = rng.normal(size=(40, 3)) + 8.0 * (np.arange(40) % 2)[:, None]
        X[rng.random(X.shape) < 0.2] = np.nan
        middle = 8.0 * (np.arange(40) % 2)
        empty = np.isnan(X).all(axis=1) | (number == 2)
        X[:, 0] = np.where(empty & np.isnan(X[:, 0]), middle, X[:, 0])
        if number == 0:
            X[5] = np.nan
        names = ["a", "b"] if number == 2 else ["a", "b", "c"]
        lines = [
            ",".join("" if np.isnan(v) else f"{v:.6f}" for v in row[: len(names)]) for row in X
        ]
        write_text(folder / f"{name}.csv", "\n".join([",".join(names), *lines]) + "\n")
    write_text(folder / "study.toml", STUDY.format(tier=tier))
    return folder / "study.toml"


def run(study: Path) -> tuple[Any, Any]:
    """The outcome of a study, and its profile."""
    done = run_study(read_study(study), study.parent / "run")
    return done, json.loads((study.parent / "run" / "profile.json").read_text())


def test_all_patients_of_four_hospitals_are_labelled(tmp_path: Path) -> None:
    write_example("heart_disease", tmp_path / "heart")
    done, profile = run(tmp_path / "heart" / "study.toml")
    heart = load("heart_disease")
    labels = [label for name in heart.client_names for label in read(done, name)["cluster"]]
    assert len(labels) == 920
    assert None not in labels
    same = float(np.mean(np.array(labels) == heart.y))
    assert max(same, 1 - same) >= 0.79
    assert 0 < profile["agreement"] < 0.3  # the groups are not the hospitals
    shares = profile["missing"]["shares"]
    at = profile["missing"]["columns"].index("ca")
    observed = ~np.isnan(heart.X[:, list(heart.feature_names).index("ca")])
    for number, name in enumerate(heart.client_names):
        seen = observed[heart.client == number]
        few = min(seen.sum(), (~seen).sum()) < profile["minimum"]
        assert shares[name][at] == (None if few else round(1 - seen.mean(), 2))
    assert all(f["mean"] is not None for c in profile["clusters"] for f in c["features"])


@pytest.mark.parametrize("tier", ["none", "secure"])
def test_a_client_without_a_column_takes_part(tmp_path: Path, tier: str) -> None:
    done, profile = run(write_clients(tmp_path, tier))
    for name in ("north", "south", "west"):
        labels = read(done, name)["cluster"]
        expected = [None if name == "north" and row == 5 else row % 2 for row in range(40)]
        first = labels[0]
        agree = [
            label == (None if want is None else first if want == 0 else 1 - first)
            for label, want in zip(labels, expected, strict=True)
        ]
        assert np.mean(agree) > 0.95
        assert (labels[5] is None) == (name == "north")
    assert (profile["missing"] is None) == (tier == "secure")
    if tier == "none":
        assert profile["missing"]["shares"]["west"] == [0.0, pytest.approx(0.2, abs=0.2), 1.0]
        left_out = {client["name"]: client["left_out"] for client in profile["clients"]}
        assert left_out == {"north": 1, "south": 0, "west": 0}


def test_models_know_missing_cells(tmp_path: Path) -> None:
    write_clients(tmp_path)
    run(tmp_path / "study.toml")
    model = load_model(tmp_path / "run")
    table = {"a": [0.0, np.nan, np.nan], "b": [np.nan, 8.0, np.nan], "c": [np.nan, np.nan, np.nan]}
    low, high, unknown = model.predict(table)
    assert {low, high} == {0, 1}
    assert unknown is None
    assert model.predict({"a": [0.0]}) == [low]  # a table without two of the columns
    [labelled] = label_files(model, [tmp_path / "west.csv"], out=tmp_path / "labels.csv")
    assert sum(labelled.labelled.sizes.values()) == 40
    assert labelled.target.is_file()
    with pytest.raises(ConfigError, match="take no missing cells"):
        as_pipeline(model, Path("model.skops"))
    onnx = pytest.importorskip("onnxruntime")
    export(model, tmp_path / "model.onnx")
    session = onnx.InferenceSession(str(tmp_path / "model.onnx"))
    rows = np.column_stack(list(table.values()))
    assert session.run(None, {"X": rows})[0].tolist() == [low, high, -1]


def test_batches_give_the_result_of_rows_in_memory(tmp_path: Path) -> None:
    study = write_clients(tmp_path)
    held, _ = run(study)
    write_text(study, study.read_text().replace('"partial"', '"partial"\nbatch_rows = 7'))
    read_in_parts = run_study(read_study(study), tmp_path / "batches")
    np.testing.assert_allclose(
        read_in_parts.model.centers, held.model.centers, rtol=1e-9, atol=1e-9
    )


def test_the_number_of_clusters_can_be_chosen(tmp_path: Path) -> None:
    study = write_clients(tmp_path)
    wanted = 'n_clusters = "auto"\nk_range = [2, 4]'
    write_text(study, study.read_text().replace("n_clusters = 2", wanted))
    done, _ = run(study)
    assert len(done.model.ids) == 2


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('tier = "none"', 'tier = "dp"', "protects sums over complete rows only"),
        ('tier = "none"', 'tier = "guarded"', "protects sums over complete rows only"),
        ('"llf-cm"', '"fkm"', "fkm needs complete rows"),
        ("[data]", '[data]\nid = "d"\nsplit = "columns"', "use missing = drop or mean"),
    ],
)
def test_what_cannot_take_missing_cells_says_so(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    study = write_clients(tmp_path)
    write_text(study, study.read_text().replace(old, new))
    with pytest.raises(ConfigError, match=words):
        run_study(read_study(study), tmp_path / "run")


@pytest.mark.parametrize(
    ("algorithm", "tier", "reported"),
    [("llf-cm", "none", True), ("llf-cm", "guarded", False), ("fkm", "none", False)],
)
def test_a_check_says_how_rows_can_stay(
    tmp_path: Path, algorithm: str, tier: str, reported: bool
) -> None:
    study = write_clients(tmp_path, tier)
    text = study.read_text().replace("partial", "drop").replace("llf-cm", algorithm)
    write_text(study, text)
    said = [note for note in survey_study(read_study(study)).notes if "partial" in note]
    assert len(said) == reported
    assert all("a client takes part although it lacks a column" in note for note in said)
    write_text(study, text.replace('west = "west.csv"', ""))  # which lacks a column
    said = [note for note in survey_study(read_study(study)).notes if "partial" in note]
    assert len(said) == reported
    assert all("of 80 rows have missing values and will be left out" in note for note in said)


def test_the_number_of_clusters_is_chosen_under_masks(tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    study = write_clients(tmp_path, "secure")
    study.write_text(study.read_text().replace("n_clusters = 2", 'n_clusters = "auto"'))
    done, _ = run(study)
    assert len(done.model.centers) == 2
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert "cells" in summary
    assert load_model(tmp_path / "run").at(3).centers.shape == (3, 3)
