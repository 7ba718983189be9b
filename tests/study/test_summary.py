"""A study whose number of clusters comes from a summary: folder, report, and later questions."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from fedclust import load
from fedclust.cli import app
from fedclust.core import ConfigError, DataError
from fedclust.study.read import read_study
from fedclust.study.run import run_study

STUDY = """
[clients]
north = "north.csv"
south = "south.csv"
west = "west.csv"
[clustering]
algorithm = "lossless"
n_clusters = "auto"
[data]
scaling = "standard"
missing = "mean"
[features]
dose = { low = -5, high = 30, unit = "mg" }
pressure = { low = 40, high = 260 }
[privacy]
tier = "secure"
[outputs]
labels = "csv"
"""


def write_study(folder: Path, text: str = STUDY, deal: int = 3) -> Path:
    rng = np.random.default_rng(0)
    places = np.array([[2.0, 90.0], [10.0, 120.0], [18.0, 190.0]])
    rows = rng.normal(places[np.arange(450) % 3], [0.6, 4.0])
    lines = [f"{dose:.3f},{pressure:.3f}" for dose, pressure in rows]
    lines[::40] = [f",{line.partition(',')[2]}" for line in lines[::40]]  # missing doses
    owner = np.arange(450) // deal % 3
    for c, name in enumerate(("north", "south", "west")):
        own = [line for line, of in zip(lines, owner, strict=True) if of == c]
        (folder / f"{name}.csv").write_text("\n".join(["dose,pressure", *own]) + "\n")
    (folder / "study.toml").write_text(text)
    return folder / "study.toml"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("cryptography")
    folder = tmp_path_factory.mktemp("summary")
    done = run_study(read_study(write_study(folder)), folder / "run")
    assert done.choice is not None
    return done.folder


def ask(*words: str) -> tuple[int, str]:
    done = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["explore", *words])
    return done.exit_code, done.output


def test_any_split_gives_the_same_bits(run: Path, tmp_path: Path) -> None:
    other = run_study(read_study(write_study(tmp_path, deal=37)), tmp_path / "run")
    for file in ("summary.json", "choice.json"):
        assert (other.folder / file).read_text() == (run / file).read_text()
    assert np.array_equal(other.model.centers, load(run).centers, equal_nan=True)


def test_the_folder_has_a_summary_that_hides_few_rows(run: Path) -> None:
    model = load(run)
    assert model.summary is not None
    assert model.summary.rows == 450
    assert model.summary.weight.min() >= 5
    assert json.loads((run / "choice.json").read_text())["recommended"] == len(model.ids)
    report = (run / "report.html").read_text()
    assert "Hierarchy and shapes" in report
    assert "of the 50 queries that a data set answers" in report
    assert "of them learned the summary" in report
    assert "the initial centres come from a summary" in report


def test_other_numbers_of_clusters_are_had_later(run: Path, tmp_path: Path) -> None:
    model = load(run)
    seven = model.at(7)
    assert (len(seven.centers), sum(n or 0 for n in seven.sizes)) == (7, 450)
    assert seven.predict({"dose": [2.0], "pressure": [90.0]})[0] in seven.ids
    assert model.at(2, fuzzifier=2.0).predict_proba({"dose": [2.0], "pressure": [90]}).shape == (
        1,
        2,
    )
    code, shown = ask(str(run))
    assert code == 0
    assert "explained" in shown
    for words in (("--k", "3"), ("--k", "3", "--tree"), ("--k", "3", "--fuzzifier", "2")):
        code, shown = ask(str(run), *words)
        assert code == 0
        assert "3 clusters" in shown
        assert "dose" in shown
    assert ask(str(run), "--shapes")[0] == 0
    target = tmp_path / "seven.json"
    assert ask(str(run), "--k", "7", "--out", str(target))[0] == 0
    assert np.array_equal(load(target).centers, seven.centers)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--tree",), "give the number of clusters with --k"),
        (("--k", "2", "--tree", "--shapes"), "at most one of"),
        (("--k", "2", "--tree", "--out", "m.json"), "leave out --tree and --shapes"),
        (("--k", "2", "--out", "m.txt"), "the name of a model ends in .json"),
        (("--k", "900"), "choose k from 1 to"),
        (("--k", "0"), "choose k from 1 to"),
    ],
)
def test_questions_without_an_answer(words: tuple[str, ...], why: str, run: Path) -> None:
    code, shown = ask(str(run), *words)
    assert code == 1
    assert why in " ".join(shown.split())


def test_a_file_is_not_overwritten(run: Path, tmp_path: Path) -> None:
    target = tmp_path / "model.json"
    target.write_text("mine")
    assert "exists already" in ask(str(run), "--k", "2", "--out", str(target))[1]
    assert target.read_text() == "mine"


def test_check_says_that_the_tier_hides_counts_of_rows(tmp_path: Path) -> None:
    shown = CliRunner().invoke(app, ["check", str(write_study(tmp_path))])
    assert shown.exit_code == 0, shown.output
    assert "Rows: hidden by the tier. Columns: dose, pressure." in shown.output


def test_check_counts_the_rows_that_missing_values_leave(tmp_path: Path) -> None:
    text = STUDY.replace('"mean"', '"drop"').replace('"secure"', '"none"').replace('"auto"', "2")
    shown = CliRunner().invoke(app, ["check", str(write_study(tmp_path, text))])
    lines = (tmp_path / "north.csv").read_text().splitlines()[1:]
    full = sum(not line.startswith(",") for line in lines)
    assert 0 < full < len(lines)
    said = f"Rows: north {len(lines)} ({full} without missing values), south "
    assert said in " ".join(shown.output.split())


def test_a_wrong_folder_is_named_as_it_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = ask("nowhere", "--k", "3")[1]
    assert "fedclust: there is no nowhere; give the folder of a run" in said


def test_a_run_without_a_summary_says_so(tmp_path: Path) -> None:
    text = STUDY.replace('"auto"', "2").replace('"secure"', '"none"')
    done = run_study(read_study(write_study(tmp_path, text)), tmp_path / "run")
    assert ask(str(done.folder), "--k", "3")[0] == 1
    with pytest.raises(ConfigError, match="this run has no summary"):
        load(done.folder).at(3)
    (done.folder / "summary.json").write_text('{"centers": [[1]]}')
    with pytest.raises(DataError, match=r"summary.json: weight: missing"):
        load(done.folder)


def test_a_limit_that_leaves_no_room_is_refused(tmp_path: Path) -> None:
    text = STUDY.replace('"secure"', '"secure"\nmax_queries = 20')
    with pytest.raises(ConfigError, match="take 25 queries or more, and max_queries is 20"):
        read_study(write_study(tmp_path, text))
    given = text.replace('"auto"', '2\ninit = "summary"')
    with pytest.raises(ConfigError, match="take 25 queries or more.* or do without a summary"):
        read_study(write_study(tmp_path, given))
    for clusters in ('"auto"', '2\ninit = "summary"'):
        changed = STUDY.replace('"auto"', f"{clusters}\nn_init = 2")
        with pytest.raises(ConfigError, match="the summary gives one start; leave out n_init"):
            read_study(write_study(tmp_path, changed))
