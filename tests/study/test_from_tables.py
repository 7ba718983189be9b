"""Studies over data frames, and reports of fitted estimators."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedclust import (
    ConfigError,
    DataError,
    FederatedFuzzyCMeans,
    FederatedKMeans,
    VerticalKMeans,
    run_study,
    write_report,
)
from fedclust.report import read_run
from fedclust.study import read_study
from fedclust.study.describe_fit import describe_fit
from fedclust.study.run import run_study as run_files

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pytest.importorskip("pyarrow")


def frames() -> dict[str, Any]:
    """Two clients, with missing cells, a category, and indices that are no columns."""
    rng = np.random.default_rng(0)
    made = {}
    for place, name in enumerate(("north", "south")):
        group = rng.integers(0, 2, 90)
        frame = pd.DataFrame({"age": rng.normal(40 + 30 * group, 4.0)})
        frame["dose"] = np.where(rng.random(90) < 0.1, np.nan, rng.normal(9 - 6 * group, 1.0))
        frame["sex"] = rng.choice(["f", "m"], 90)
        made[name] = frame.set_index(np.arange(90) * 7 + place)
    return made


def _frames_of(*names: str) -> dict[str, Any]:
    return {chr(97 + i): pd.DataFrame({name: np.arange(9.0)}) for i, name in enumerate(names)}


FEATURES = {"age": {"unit": "years"}, "dose": {}, "sex": {"categories": ["f", "m"]}}


def run(folder: Path, data: Any = None, **settings: Any) -> Any:
    given = {"n_clusters": 2, "features": FEATURES, **settings}
    return run_study(frames() if data is None else data, folder / "run", **given)


@pytest.mark.parametrize("n_clusters", [2, "auto"])
def test_the_result_is_that_of_files_bit_for_bit(tmp_path: Path, n_clusters: Any) -> None:
    more = {"clustering": {"k_range": [2, 4]}} if n_clusters == "auto" else {}
    done = run(tmp_path, n_clusters=n_clusters, title="Doses", **more)
    files = tmp_path / "files"
    files.mkdir()
    for name, frame in frames().items():
        frame.to_parquet(files / f"{name}.parquet", index=False)
    (files / "run.toml").write_text((done.folder / "study.toml").read_text())
    again = run_files(read_study(files / "run.toml"), files / "run")
    assert sorted(p.name for p in done.folder.iterdir()) == sorted(
        p.name for p in again.folder.iterdir()
    )
    for name in ("profile.json", "history.jsonl", "study.toml", "labels/north.parquet"):
        assert (done.folder / name).read_bytes() == (again.folder / name).read_bytes(), name
    ours, theirs = (
        {
            k: v
            for k, v in json.loads((one.folder / "model.json").read_text()).items()
            if k not in ("run_id", "created")
        }
        for one in (done, again)
    )
    assert ours == theirs
    assert "<h1>Doses</h1>" in (done.folder / "report.html").read_text()
    assert [column.name for column in done.model.preparation.columns] == ["age", "dose", "sex"]


def test_tables_of_any_library_or_one_table_with_owners(tmp_path: Path) -> None:
    expected = run(tmp_path / "pandas").model.centers
    parts = frames()
    joined = pd.concat(frame.assign(clinic=name) for name, frame in parts.items())
    plain = {name: frame.reset_index(drop=True) for name, frame in parts.items()}
    given = {
        "polars": {name: pl.from_pandas(frame) for name, frame in plain.items()},
        "lazy": {name: pl.from_pandas(frame).lazy() for name, frame in plain.items()},
        "columns": {n: {c: f[c].to_numpy() for c in f} for n, f in plain.items()},
    }
    for kind, data in given.items():
        found = run(tmp_path / kind, data).model.centers
        np.testing.assert_array_equal(found, expected)
    owners = run(tmp_path / "owners", joined, clients="clinic")
    np.testing.assert_array_equal(owners.model.centers, expected)
    assert set(owners.labels) == {"north", "south"}
    listed = run(tmp_path / "list", joined.drop(columns="clinic"), clients=joined["clinic"])
    np.testing.assert_array_equal(listed.model.centers, expected)


def test_a_study_file_can_be_run_as_well(tmp_path: Path) -> None:
    for name, frame in frames().items():
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    (tmp_path / "s.toml").write_text(
        '[clients]\nnorth = "north.csv"\nsouth = "south.csv"\n'
        '[clustering]\nalgorithm = "lossless"\nn_clusters = 2\n'
    )
    done = run_study(tmp_path / "s.toml")
    assert done.folder == tmp_path / "s-run"
    with pytest.raises(ConfigError, match="exists already; give another folder, or force=True"):
        run_study(tmp_path / "s.toml")
    assert run_study(tmp_path / "s.toml", force=True).folder == done.folder


@pytest.mark.parametrize(
    ("data", "settings", "message"),
    [
        ([1, 2], {}, "expected a dict of name to data frame; for one data frame, name the column"),
        ({}, {}, "there is no table"),
        ({"a": 3}, {}, "client 'a': expected a data frame .* got int"),
        (None, {"clients": "clinic"}, "no such column; there are north, south"),
        (None, {"settings": {"data": {"mising": "mean"}}}, r"\[data\] has no key 'mising'"),
        (None, {"clustering": {"k": 3}}, "has no key 'k'; use n_clusters"),
        (None, {"features": {"weight": {}}}, "weight"),
        (None, {"n_clusters": 0}, "^n_clusters must be at least 1, got 0"),
        (None, {"privacy": "secure"}, "^tier = 'secure' needs 3 clients or more"),
        (_frames_of("age", "Age"), {}, "share no column; 'age' in 'a' and 'Age' in 'b' differ by"),
        (
            {"a": pd.DataFrame(np.ones((9, 2)), columns=["x", "x"])},
            {},
            "client 'a': two columns are called 'x'; rename one",
        ),
        (
            {"a": pd.DataFrame({("x", "mean"): [1.0], ("x", "max"): [2.0]})},
            {},
            "client 'a': names of columns have several levels",
        ),
        ({"a": pd.DataFrame({"x": [[1, 2]] * 9})}, {}, "column 'x': its values cannot be stored"),
        ({"a": pd.DataFrame({"x": [1j] * 9})}, {}, "column 'x': its values cannot be stored"),
        (pd.DataFrame({"x": range(9)}), {"clients": ["a", "b"]}, r"one value per row \(9\)"),
    ],
)
def test_mistakes_are_one_sentence_without_the_scratch_folder(
    tmp_path: Path, data: Any, settings: Any, message: str
) -> None:
    given = frames() if data is None else data
    with pytest.raises((ConfigError, DataError), match=message) as caught:
        run(tmp_path, given, **settings)
    assert "fedclust-" not in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_an_unknown_column_of_owners_and_mixed_values_are_named(tmp_path: Path) -> None:
    frame = pd.concat(one.assign(clinic=name) for name, one in frames().items())
    with pytest.raises(DataError, match="clients='clinik': there is no such column; .*did you"):
        run(tmp_path, frame, clients="clinik")
    mixed = frames()
    mixed["north"]["odd"] = [1, "x", {"a": 1}] * 30
    with pytest.raises(
        DataError, match="client 'north': column 'odd': its values cannot be stored"
    ):
        run(tmp_path, mixed)


@pytest.mark.parametrize("kind", [FederatedKMeans, FederatedFuzzyCMeans])
def test_a_fitted_estimator_has_the_report_of_its_study(tmp_path: Path, kind: Any) -> None:
    tables = {name: frame[["age", "dose"]].dropna() for name, frame in frames().items()}
    model = kind(2, random_state=0).fit(tables)
    page = write_report(model, tables, tmp_path / "page.html", title="Two <groups>").read_text()
    assert "<h1>Two &lt;groups&gt;</h1>" in page
    assert "fedclust.write_report" in page
    found = describe_fit(model, tables)
    rows = np.vstack([table.to_numpy() for table in tables.values()])
    for cluster in found.profile.clusters:
        assert cluster.size == (model.labels_ == cluster.id).sum()
        if kind is FederatedKMeans:
            own = rows[model.labels_ == cluster.id].mean(axis=0)
            means = [f.mean or 0.0 for f in cluster.features]
            np.testing.assert_allclose(means, own)
    assert not hasattr(kind(2), "n_features_in_")
    sent = {c: sum(p.bytes_up.get(c, 0) for p in found.profile.phases) for c in model.clients_}
    assert found.about.bytes_sent == sent
    assert all(sent[client] > model.bytes_sent_[client] for client in sent)


def test_a_report_takes_the_rows_of_the_fit_in_any_order_of_columns() -> None:
    tables = {name: frame[["age", "dose"]].dropna() for name, frame in frames().items()}
    model = FederatedKMeans(2, random_state=0).fit(tables)
    moved = {name: frame[["dose", "age"]] for name, frame in tables.items()}
    assert describe_fit(model, moved).profile == describe_fit(model, tables).profile
    other = {name: frame.rename(columns={"age": "size"}) for name, frame in tables.items()}
    with pytest.raises(DataError, match="X has the columns size, dose, the fit had age, dose"):
        describe_fit(model, other)
    joined = pd.concat(frame.assign(clinic=name) for name, frame in tables.items())
    named = FederatedKMeans(2, random_state=0).fit(joined, clients="clinic")
    assert (
        describe_fit(named, joined).profile.clients == describe_fit(model, tables).profile.clients
    )


def test_features_can_be_a_list_of_names(tmp_path: Path) -> None:
    done = run(tmp_path, frames(), n_clusters=2, features=["age", "dose"])
    assert [column.name for column in done.model.preparation.columns] == ["age", "dose"]
    assert repr(done) == f"<Outcome: 2 clusters; see {done.folder / 'report.html'}>"


def test_columns_that_are_not_used_are_named(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match=r"were not used: sex \(text\); to use a column, list it"):
        run(tmp_path / "sex", features=None)
    odd = {name: frame[["age"]].assign(old=frame["age"] > 50) for name, frame in frames().items()}
    odd["north"]["Dose"], odd["south"]["dose"] = "1.5", 1.0
    odd["north"]["born"] = odd["south"]["born"] = pd.Timestamp("2001-01-01")
    with pytest.warns(UserWarning, match="columns were not used") as caught:
        run(tmp_path / "odd", odd, features=None)
    (said,) = (str(one.message) for one in caught)
    for part in ("old (booleans)", "born (dates)", "dose (client 'north' does not have it)"):
        assert part in said
    assert "'Dose' in 'north' and 'dose' in 'south' differ by case" in said
    kept = {name: frame[["age", "old"]] for name, frame in odd.items()}
    wanted = {"age": {}, "old": {"categories": ["false", "true"]}}
    assert len(run(tmp_path / "kept", kept, features=wanted).model.preparation.columns) == 2


@pytest.mark.parametrize("library", [lambda frame: frame, pl.from_pandas])
def test_a_model_labels_the_tables_of_all_clients(tmp_path: Path, library: Any) -> None:
    tables = {name: library(frame.dropna()) for name, frame in frames().items()}
    model = run(tmp_path, clustering={"fuzzy": True}).model
    assert model.predict(tables) == {n: model.predict(one) for n, one in tables.items()}
    assert model.predict_proba(tables)["north"].shape == (len(tables["north"]), 2)
    columns = {name: tables["north"][name].to_numpy() for name in ("age", "dose", "sex")}
    assert model.predict(columns) == model.predict(tables["north"])


def test_what_has_no_report_says_so(tmp_path: Path) -> None:
    tables = {name: frame[["age", "dose"]].dropna() for name, frame in frames().items()}
    model = FederatedKMeans(2, random_state=0).fit(tables)
    with pytest.raises(DataError, match="X has 1 features, the fit had 2; pass the rows of"):
        write_report(model, {n: t[["age"]] for n, t in tables.items()}, tmp_path / "x.html")
    columns = VerticalKMeans(2).fit([np.eye(6)[:, :2], np.eye(6)[:, 2:]])
    with pytest.raises(ConfigError, match="VerticalKMeans cannot be described"):
        write_report(columns, np.eye(6), tmp_path / "x.html")


@pytest.mark.filterwarnings("ignore:.* too few rows for the noise")
def test_a_noisy_fit_is_described_without_further_noise(tmp_path: Path) -> None:
    pytest.importorskip("opendp")
    tables = {name: frame[["age", "dose"]].dropna() for name, frame in frames().items()}
    model = FederatedKMeans(2, privacy="dp", bounds=([0, 0], [100, 20]), random_state=0)
    model.fit(tables)
    found = describe_fit(model, tables)
    assert found.profile.coverage == "none"
    assert write_report(model, tables, tmp_path / "dp.html").exists()


def test_the_folder_of_a_run_can_be_read(tmp_path: Path) -> None:
    assert read_run(run(tmp_path).folder).profile.rows_used > 0


@pytest.mark.parametrize(
    ("wrong", "near"),
    [
        ("k", "use n_clusters"),
        ("seed", "use clustering={"),
        ("missing", "use settings={"),
        ("titel", "did you mean 'title'"),
        ("nonsense", "no parameter 'nonsense'$"),
    ],
)
def test_a_parameter_of_another_name_gets_the_right_one(wrong: str, near: str) -> None:
    given: Any = {wrong: 3}
    with pytest.raises(TypeError, match=near):
        run_study({}, **given)
