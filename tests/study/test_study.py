"""From a study file to labels at each client."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from fedclust import ConfigError, DataError
from fedclust.cli import app
from fedclust.study import examine, json_schema, read_study
from fedclust.study.run import run_study
from fedclust.study.tables import read_table

SMALLEST = """
[clients]
north = "north.csv"
south = "south.csv"

[clustering]
algorithm = "lossless"
n_clusters = 2
"""


def write(folder: Path, study: str = SMALLEST, rows: int = 40) -> Path:
    rng = np.random.default_rng(0)
    for client, middle in (("north", 40), ("south", 60)):
        lines = ["patient,age,weight,sex"]
        for i in range(rows):
            age = "NA" if i == 3 else f"{rng.normal(middle, 4):.2f}"
            lines.append(f"{client}{i},{age},{rng.normal(70, 9):.2f},{'fm'[i % 2]}")
        (folder / f"{client}.csv").write_text("\n".join(lines) + "\n")
    (folder / "study.toml").write_text(study)
    return folder / "study.toml"


def test_the_smallest_study_runs(tmp_path: Path) -> None:
    done = run_study(read_study(write(tmp_path)), tmp_path / "run")
    assert done.preparation.names == ["age", "weight"]  # numeric, and everybody has them
    assert done.sizes.sum() == 78
    assert done.sizes[0] >= done.sizes[1]  # named by size
    assert sorted(done.in_units[:, 0].round(-1)) == [40, 60]
    found = sorted(str(p.relative_to(tmp_path / "run")) for p in (tmp_path / "run").rglob("*.*"))
    assert found == [
        "history.jsonl",
        "labels/north.csv",
        "labels/south.csv",
        "model.json",
        "study.toml",
    ]
    labels = (tmp_path / "run" / "labels" / "north.csv").read_text().splitlines()
    assert labels[0] == "row,cluster"
    assert labels[4] == "3,-1"  # its age is missing: left out
    model = json.loads((tmp_path / "run" / "model.json").read_text())
    assert model["columns"] == ["age", "weight"]
    assert model["algorithm"]["algorithm"] == "llf-cm"
    history = (tmp_path / "run" / "history.jsonl").read_text().splitlines()
    assert len(history) == model["rounds"]


def test_everything_that_can_be_said_is_heard(tmp_path: Path) -> None:
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

[participation]
fraction = 1.0
min_clients = 2

[privacy]
tier = "paper"

[features.age]
unit = "years"
low = 0
high = 120

[features.sex]
categories = ["f", "m"]
"""
    )
    done = run_study(read_study(write(tmp_path, study)), tmp_path / "run")
    assert done.preparation.names == ["age", "sex=f", "sex=m"]
    assert done.clustering.algorithm.key == "llf-fcm"
    labels = (tmp_path / "run" / "labels" / "south.csv").read_text().splitlines()
    assert labels[0] == "id,cluster,membership_0,membership_1"
    assert labels[4].startswith("south3,")
    assert float(labels[4].split(",")[2]) + float(labels[4].split(",")[3]) == pytest.approx(1)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("n_clusters = 2", "n_cluster = 2"), r"study.toml:8: .* no key 'n_cluster'; did you mean"),
        (("n_clusters = 2", "n_clusters = 0"), "study.toml:8: n_clusters must be at least 1, got"),
        (("n_clusters = 2", 'n_clusters = "two"'), "n_clusters must be a whole number, got 'two'"),
        (("n_clusters = 2", ""), r"study.toml:6: \[clustering\] must have n_clusters"),
        (('"lossless"', '"loseless"'), "algorithm must be one of .*; did you mean 'lossless'"),
        (("[clustering]", "[clusterin]"), "study.toml:6: there is no table .clusterin.; did you"),
        (("[clients]", "[clients"), "study.toml: "),
        (('"south.csv"', "3"), "study.toml:4: client 'south' must have a file, got 3"),
        (("[clustering]", "seed = 1\n[clustering]"), "client 'seed' must have a file, got 1"),
        (("[clustering]", "[features]\nage = 3\n[clustering]"), "feature 'age' must be a table"),
        (("[clustering]", "[features.age]\nlow = 3\n[clustering]"), "give both bounds, or none"),
        (("[clustering]", "[features.sex]\ncategories = 'f'\n[clustering]"), "a list of texts"),
        (("[clustering]", "[participation]\nfraction = 2\n[clustering]"), "must be at most 1"),
        (("[clustering]", "[features.age]\nlog = 1\n[clustering]"), "log must be true or false"),
        (('north = "north.csv"\nsouth = "south.csv"\n', ""), "no .clients.: give each"),
        (("\n[clients]", "data = 3\n[clients]"), "data must be a table"),
    ],
)  # fmt: skip
def test_mistakes_are_named_with_their_line(
    tmp_path: Path, change: tuple[str, str], words: str
) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        read_study(write(tmp_path, SMALLEST.replace(*change)))
    assert "study.toml" in str(caught.value)


def test_a_study_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no such file"):
        read_study(tmp_path / "nothing.toml")


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
    with pytest.raises(DataError, match="problems stop this study, the first: client 'south'"):
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


def test_files_of_all_kinds_are_the_same_table(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import feather, parquet

    columns: dict[str, Any] = {"x": [1.0, 2.0], "n": [3, 4], "s": ["a", None]}
    parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    feather.write_feather(pa.table(columns), tmp_path / "t.feather")
    (tmp_path / "t.csv").write_text("x,n,s\n1,3,a\n2,4,NA\n")
    for kind in ("parquet", "feather", "csv"):
        found = read_table([tmp_path / f"t.{kind}"], ("NA",))
        assert found["x"].tolist() == [1.0, 2.0]
        assert found["n"].tolist() == [3.0, 4.0]
        assert found["s"].tolist() == ["a", None]
    np.savez(tmp_path / "t.npz", x=np.array([1.0, 2.0]), image=np.ones((2, 2)))
    assert list(read_table([tmp_path / "t.npz"], ())) == ["x"]
    both = read_table([tmp_path / "t.csv"] * 2, ("NA",))
    assert len(both["x"]) == 4


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("t.csv", b"", "the file is empty"),
        ("t.csv", b"a,a\n1,2\n", "two columns are called 'a'"),
        ("t.csv", b"a,b\n1\n", r"t.csv:2: 1 values for 2 columns"),
        ("t.npz", b"nonsense", "not a readable NPZ file"),
        ("t.parquet", b"nonsense", "not readable"),
        ("t.xlsx", b"", "unknown kind of file; fedclust reads .csv"),
    ],
)
def test_files_that_cannot_be_read_are_named(
    tmp_path: Path, name: str, content: bytes, words: str
) -> None:
    if name == "t.parquet":
        pytest.importorskip("pyarrow")
    (tmp_path / name).write_bytes(content)
    with pytest.raises((ConfigError, DataError), match=words):
        read_table([tmp_path / name], ())
    (tmp_path / "a.csv").write_text("x\n1\n")
    (tmp_path / "b.csv").write_text("y\n1\n")
    with pytest.raises(DataError, match="columns x, y are not in all files of this client"):
        read_table([tmp_path / "a.csv", tmp_path / "b.csv"], ())
    path = write(tmp_path, SMALLEST.replace("north.csv", name))
    (tmp_path / name).write_bytes(content)
    problems = examine(read_study(path)).problems
    assert [p.client for p in problems if p.stops] == ["north"]


def test_without_pyarrow_parquet_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    (tmp_path / "t.parquet").write_bytes(b"x")
    with pytest.raises(ConfigError, match=r"pip install 'fedclust\[study\]'"):
        read_table([tmp_path / "t.parquet"], ())


def test_globs_name_several_files(tmp_path: Path) -> None:
    study = read_study(write(tmp_path, SMALLEST.replace("north.csv", "n*.csv")))
    (tmp_path / "north2.csv").write_text((tmp_path / "north.csv").read_text())
    assert [p.name for p in study.files("north")] == ["north.csv", "north2.csv"]
    assert examine(study).rows["north"] == 80


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ('algorithm = "k-fed"\nmax_rounds = 3', "max_rounds has no meaning for k-fed"),
        ('algorithm = "fkm"\nfuzzy = true', "fuzzy = true, but fkm finds labels"),
    ],
)
def test_settings_that_cannot_be_met_are_refused(tmp_path: Path, extra: str, words: str) -> None:
    study = SMALLEST.replace('algorithm = "lossless"', extra)
    with pytest.raises(ConfigError, match=words):
        run_study(read_study(write(tmp_path, study)), tmp_path / "run")


def test_a_folder_is_never_overwritten_unasked(tmp_path: Path) -> None:
    study = read_study(write(tmp_path))
    run_study(study, tmp_path / "run")
    with pytest.raises(ConfigError, match="is there already; give another --out, or --force"):
        run_study(study, tmp_path / "run")
    run_study(study, tmp_path / "run", force=True)
    assert not list(tmp_path.glob(".*unfinished"))


def test_the_commands(tmp_path: Path) -> None:
    path, invoke = str(write(tmp_path)), CliRunner().invoke
    shown = invoke(app, ["check", path])
    assert shown.exit_code == 0
    assert "The study can be run." in shown.output
    told = json.loads(invoke(app, ["check", path, "--json"]).output)
    assert told["passes"]
    assert told["rows"] == {"north": 40, "south": 40}
    shown = invoke(app, ["run", path])
    assert shown.exit_code == 0, shown.output
    assert "2 clusters" in shown.output
    assert (tmp_path / "study-run" / "model.json").is_file()
    assert invoke(app, ["run", path]).exit_code == 1
    (tmp_path / "south.csv").unlink()
    shown = invoke(app, ["check", path])
    assert shown.exit_code == 1
    assert "there is no file south.csv" in " ".join(shown.output.split())
    assert invoke(app, ["check", path, "--json"]).exit_code == 1


def test_the_schema_knows_every_key() -> None:
    schema = json_schema()
    assert schema["required"] == ["clients", "clustering"]
    clustering = schema["properties"]["clustering"]
    assert clustering["required"] == ["algorithm", "n_clusters"]
    assert clustering["properties"]["n_clusters"] == {
        "type": "integer", "description": "number of clusters", "minimum": 1,
    }  # fmt: skip
    assert schema["properties"]["features"]["additionalProperties"]["properties"]["categories"][
        "items"
    ]
