"""Exported models give the same results as the model."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from fedclust import ConfigError
from fedclust.cli import app
from fedclust.clustering.model import Model
from fedclust.clustering.preparation import Column, Preparation
from fedclust.study.export import export

rng = np.random.default_rng(0)
CENTERS = rng.normal(size=(3, 3))


def model(fuzzifier: float | None = None, fill: Any = None, log: bool = False) -> Model:
    columns = (Column("age", log=log), Column("sex", categories=("f", "m")))
    ready = Preparation(columns, np.array([2.0, 0, 0]), np.array([3.0, 1, 1]), fill)
    return Model(CENTERS, (1, 4, 7), (5, 5, 5), ready, "llf-cm", fuzzifier)


TABLE = {"age": rng.uniform(0.5, 9, 40), "sex": np.array(["f", "m"] * 20, dtype=object)}
X = np.column_stack([TABLE["age"], TABLE["sex"] == "f", TABLE["sex"] == "m"]).astype(float)


@pytest.mark.parametrize("fuzzifier", [None, 1.5, 2.0])
@pytest.mark.parametrize("log", [False, True])
def test_onnx_gives_the_results_of_the_model(
    tmp_path: Path, fuzzifier: float | None, log: bool
) -> None:
    onnx = pytest.importorskip("onnx")
    from onnx.reference import ReferenceEvaluator

    chosen = model(fuzzifier, log=log)
    export(chosen, tmp_path / "m.onnx")
    session = ReferenceEvaluator(onnx.load(tmp_path / "m.onnx"))
    found = session.run(None, {"X": X})
    assert found[0].tolist() == chosen.predict(TABLE)
    if fuzzifier is not None:
        assert np.allclose(found[1], chosen.predict_proba(TABLE), atol=1e-12)


def test_onnx_fills_missing_values_and_handles_rows_on_centres(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    from onnx.reference import ReferenceEvaluator

    chosen = model(2.0, fill=np.array([4.0, 0.5, 0.5]))
    export(chosen, tmp_path / "m.onnx")
    session = ReferenceEvaluator(onnx.load(tmp_path / "m.onnx"))
    rows = X.copy()
    rows[3, 0] = np.nan
    table = {**TABLE, "age": rows[:, 0]}
    assert session.run(None, {"X": rows})[0].tolist() == chosen.predict(table)
    on_centre = chosen.centers * chosen.preparation.scale + chosen.preparation.offset
    U = session.run(None, {"X": on_centre})[1]
    assert np.allclose(U, np.eye(3), atol=1e-9)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
def test_skops_is_a_pipeline_of_scikit_learn(tmp_path: Path) -> None:
    skops = pytest.importorskip("skops.io")
    chosen = model()
    export(chosen, tmp_path / "m.skops")
    pipeline = skops.load(tmp_path / "m.skops")  # nothing in it needs to be trusted
    assert pipeline.predict(X).tolist() == chosen.predict(TABLE)
    assert pipeline[-1].classes_.tolist() == [1, 4, 7]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_skops_knows_the_names_of_the_columns(tmp_path: Path, library: str) -> None:
    """Warnings are errors in these tests: a data frame gives none."""
    skops, frames = pytest.importorskip("skops.io"), pytest.importorskip(library)
    chosen = model()
    export(chosen, tmp_path / "m.skops")
    pipeline = skops.load(tmp_path / "m.skops")
    names = ["age", "sex=f", "sex=m"]
    assert pipeline.feature_names_in_.tolist() == names
    frame = frames.DataFrame(dict(zip(names, X.T, strict=True)))
    assert pipeline.predict(frame).tolist() == chosen.predict(TABLE)
    with pytest.raises(ValueError, match="feature names"):
        pipeline.predict(frame[names[::-1]])


@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
def test_a_single_cluster_can_be_exported(tmp_path: Path) -> None:
    skops = pytest.importorskip("skops.io")
    ready = Preparation((Column("age"),), np.zeros(1), np.ones(1), None)
    export(Model(np.array([[3.0]]), (5,), (9,), ready, "llf-cm"), tmp_path / "m.skops")
    assert skops.load(tmp_path / "m.skops").predict([[1.0], [7.0]]).tolist() == [5, 5]


@pytest.mark.parametrize("fuzzifier", [None, 2.0])
def test_onnx_gives_no_cluster_to_rows_with_missing_values(
    tmp_path: Path, fuzzifier: float | None
) -> None:
    onnx = pytest.importorskip("onnx")
    from onnx.reference import ReferenceEvaluator

    chosen = model(fuzzifier)
    export(chosen, tmp_path / "m.onnx")
    rows = X.copy()
    rows[[2, 5], 0] = np.nan
    found = ReferenceEvaluator(onnx.load(tmp_path / "m.onnx")).run(None, {"X": rows})
    expected = chosen.predict({**TABLE, "age": rows[:, 0]})
    assert [None if c == -1 else c for c in found[0].tolist()] == expected
    assert expected[2] is expected[5] is None
    if fuzzifier is not None:
        U = chosen.predict_proba({**TABLE, "age": rows[:, 0]})
        assert np.allclose(found[1], U, atol=1e-12, equal_nan=True)


def test_onnx_describes_its_input_and_its_clusters(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    export(model(2.0), tmp_path / "m.onnx")
    made = onnx.load(tmp_path / "m.onnx")
    (given,) = made.graph.input
    assert given.name == "X"
    assert given.doc_string.endswith("columns: age, sex=f, sex=m")
    properties = {entry.key: json.loads(entry.value) for entry in made.metadata_props}
    assert properties == {"columns": ["age", "sex=f", "sex=m"], "clusters": [1, 4, 7]}


@pytest.mark.parametrize(
    ("chosen", "name", "words"),
    [
        (model(2.0), "m.skops", "scikit-learn has no fuzzy c-means; export to .onnx instead"),
        (model(log=True), "m.skops", "cannot be exported to skops"),
        (model(), "m.pkl", "unknown format"),
    ],
)
def test_unsupported_exports_are_refused(
    tmp_path: Path, chosen: Model, name: str, words: str
) -> None:
    pytest.importorskip("skops.io")
    with pytest.raises(ConfigError, match=words):
        export(chosen, tmp_path / name)
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize(("library", "name"), [("onnx", "m.onnx"), ("skops", "m.skops")])
def test_absent_libraries_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str, name: str
) -> None:
    monkeypatch.setitem(__import__("sys").modules, library, None)
    with pytest.raises(ConfigError, match=rf"needs {library}: pip install 'fedclust\[export\]'"):
        export(model(), tmp_path / name)


def test_the_export_command(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    (tmp_path / "model.json").write_text(json.dumps(model().as_config()))
    arguments = ["export", str(tmp_path), str(tmp_path / "m.onnx")]
    shown = CliRunner().invoke(app, arguments)
    assert shown.exit_code == 0, shown.output
    assert (tmp_path / "m.onnx").is_file()
    assert CliRunner().invoke(app, arguments).exit_code == 1
    assert CliRunner().invoke(app, [*arguments, "--force"]).exit_code == 0
