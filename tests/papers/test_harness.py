"""The harness of the papers' experiments: verdicts, stored runs, and an up-to-date page."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fedclust import DataError
from papers.__main__ import app
from papers.experiment import Cell, Claim, Experiment, Panel, Task, curve, holds, judge
from papers.experiments import EXPERIMENTS
from papers.harness import Job, execute, jobs
from papers.report import load, page, save, section

DOCS = Path(__file__).parents[2] / "docs"


def measure_line(seed: int, at: float) -> dict[str, float]:
    return {"x": at + 0.01 * seed, "line@1": 1.0, "line@2": 2.0}


def absent(seed: int) -> dict[str, float]:
    raise DataError("no such data")


TOY = Experiment(
    id="toy",
    paper="none",
    title="A toy",
    tasks=[
        Task("one", measure_line, {"at": 1.0}, runs=3, quick=2),
        Task("two", measure_line, {"at": 2.0}, runs=3, quick=0),
        Task("gone", absent, {}, runs=1, quick=1),
    ],
    cells=[
        Cell("r", "a", "one", "x", "1.0"),
        Cell("r", "b", "one", "x", "5.0"),
        Cell("r", "c", "two", "x", "9.0", because="they counted twice"),
        Cell("r", "d", "gone", "x", "1.0"),
        Cell("r", "e", "elsewhere", "x", "1.0"),
        Cell("r", "f", "one", "x", None),
    ],
    claims=[Claim("one is less than two", "x", "one", "two")],
    panels=[
        Panel("p", {"one": curve("one", "line", (1, 2))}, "x", "y", log_y=True),
        Panel("q", {"one": [(1, "one", "x")], "2": [(1, "two", "x")]}, "x", "y"),
        Panel("g", {"one": [(0, "one", "x")], "no": [(1, "no", "x")]}, "", "", ticks=("a", "b")),
    ],
)


def run_toy(folder: Path, **changes: Any) -> tuple[Any, Any]:
    reported: list[str] = []
    settings = {"quick": False, "runs": None, **changes}
    found = list(
        execute({"toy": jobs(TOY, **settings)}, folder, lambda text, n: reported.append(text))
    )
    assert len(reported) == len(jobs(TOY, **settings))
    ((_, results, failed),) = found
    return results, failed


def test_every_cell_gets_a_verdict(tmp_path: Path) -> None:
    results, failed = run_toy(tmp_path)
    assert failed == {"gone": "no such data"}
    verdicts = [one.verdict for one in judge(TOY, results, failed)]
    ordered = "ordering holds"
    assert verdicts == ["reproduced", ordered, ordered, "no data here", "not obtainable", ""]
    assert holds(TOY.claims[0], results) == "holds"
    assert holds(TOY.claims[0], {"one": results["one"]}) == "not run"
    close = {"one": {"x": [1.0, 2.0]}, "two": {"x": [1.1, 2.1]}}
    assert holds(TOY.claims[0], close) == "a tie"
    wide = [one.verdict for one in judge(TOY, {"one": {"x": [0.0, 4.0]}}, {})]
    assert wide[0] == "too noisy"
    reversed_order = {"one": {"x": [9.5]}, "two": {"x": [2.0]}}
    assert [one.verdict for one in judge(TOY, reversed_order, {})][:4] == [
        "differs",
        "differs",
        "differs",
        "not run",
    ]
    text = section(TOY, reversed_order, {})
    assert "differs: they counted twice" in text
    assert "differs: no known reason" in text
    assert "**does not hold**" in text


def test_the_statistics_that_papers_report() -> None:
    kinds: list[Any] = ["min", "max", "std", "best half"]
    cells = [Cell("", "", "t", "accuracy", None, statistic=kind) for kind in kinds]
    four = {"t": {"accuracy": [1.0, 2.0, 3.0, 4.0], "score": [4.0, 3.0, 2.0, 1.0]}}
    outcomes = judge(Experiment("e", "", "", [], cells), four, {})
    assert [round(one.ours, 2) for one in outcomes] == [1.0, 4.0, 1.12, 3.5]


def test_few_runs_are_the_first_of_many_and_none_is_repeated(tmp_path: Path) -> None:
    quick, _ = run_toy(tmp_path, quick=True)
    assert quick == {"one": {"x": [1.0, 1.01], "line@1": [1.0, 1.0], "line@2": [2.0, 2.0]}}
    kept = tmp_path / f"{Job(TOY.tasks[0], 1).name}.json"
    kept.write_text("damaged")  # ignored
    assert run_toy(tmp_path, quick=True)[0] == quick
    kept.write_text(json.dumps({"x": 7.0}))  # a finished run is loaded, not repeated
    again, _ = run_toy(tmp_path, runs=2)
    assert again["one"]["x"] == [1.0, 7.0]
    assert len(again["two"]["x"]) == 2


def test_results_are_stored_and_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from papers.figures import draw

    results, failed = run_toy(tmp_path / "runs")
    save(tmp_path, TOY, results, failed)
    stored = {
        "one": results["one"],
        "two": {"x": results["two"]["x"]},
    }  # the quantities that the toy uses
    assert load(tmp_path, TOY) == (stored, failed)
    assert draw(TOY, results, tmp_path).read_text().startswith("<?xml")
    flat = Experiment("flat", "", "", TOY.tasks, TOY.cells)
    first = draw(flat, results, tmp_path).read_bytes()
    assert draw(flat, results, tmp_path).read_bytes() == first
    assert draw(TOY, {}, tmp_path).exists()


def test_an_empty_experiment_is_reported(tmp_path: Path) -> None:
    assert list(execute({"none": []}, tmp_path, lambda text, n: None)) == [("none", {}, {})]


def test_the_command_runs_and_reports(tmp_path: Path) -> None:
    invoke = CliRunner().invoke
    shown = invoke(app, ["list"])
    assert shown.exit_code == 0
    assert all(id in shown.output for id in EXPERIMENTS)
    shown = invoke(app, ["run", "ffcm-table2", "--quick", "--out", str(tmp_path)])
    assert shown.exit_code == 0, shown.output
    assert "ffcm-table2" in shown.output
    table = (tmp_path / "papers.md").read_text()
    assert "| within SSE | avg2 | 0.3120 |" in table
    shown = invoke(app, ["run", "ffcm-tabel2", "--out", str(tmp_path)])
    assert shown.exit_code == 2
    assert "unknown experiment 'ffcm-tabel2'" in shown.output
    shown = invoke(app, ["page", str(tmp_path), "--out", str(tmp_path / "p.md")])
    assert shown.exit_code == 0
    assert (tmp_path / "p.md").read_text().startswith("# The papers, reproduced")
    assert invoke(app, ["page", str(tmp_path / "runs")]).exit_code == 2
    for wrong in (["--quick", "--runs", "2"], ["--out", str(tmp_path / "p.md")]):
        assert invoke(app, ["run", "dwf-fig1", *wrong]).exit_code == 2
    assert invoke(app, ["run", "", "--quick"]).exit_code == 2


def test_missing_data_sets_are_named_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEDCLUST_DATA", str(tmp_path / "nothing"))
    command = ["run", "ffcf", "--quick", "--out", str(tmp_path)]
    shown = " ".join(CliRunner().invoke(app, command).output.split())
    assert (
        "Missing data sets: ffcf_case3. Put the files into the folder set by FEDCLUST_DATA" in shown
    )
    table = (tmp_path / "papers.md").read_text()
    assert "Not available on the machine that ran this: ffcf_case3." in table
    assert str(tmp_path) not in table


def test_ctrl_c_keeps_finished_runs(tmp_path: Path) -> None:
    running = execute({"toy": jobs(TOY, quick=False, runs=40)}, tmp_path, _interrupt)
    with pytest.raises(KeyboardInterrupt):
        list(running)
    assert len(list(tmp_path.glob("*.json"))) < 40  # of 120: those that had started


def _interrupt(text: str, n: int) -> None:
    raise KeyboardInterrupt


def test_the_page_matches_the_stored_runs() -> None:
    found = {i: (e, *load(DOCS / "papers", e)) for i, e in EXPERIMENTS.items()}
    assert (DOCS / "papers.md").read_text() == page(found)


# Experiments that take a second or two per run and do not depend on the machine.
CHEAP = [i for i in EXPERIMENTS if i not in ("ffcm-table5", "fkm-fig5", "dwf-fig5", "dwf-fig4")]


@pytest.mark.parametrize("id", CHEAP)
def test_stored_runs_are_reproduced(id: str) -> None:
    """The first run of some tasks of each experiment gives the stored values."""
    experiment = EXPERIMENTS[id]
    results, _ = load(DOCS / "papers", experiment)
    quick = [task for task in experiment.tasks if task.quick and task.name in results]
    absent = ""
    for task in quick[:: max(1, len(quick) // 4)]:
        try:
            found = task(0)
        except DataError as problem:
            absent = str(problem)
            continue
        for quantity, stored in results[task.name].items():
            near = pytest.approx(stored[0], rel=1e-5, abs=1e-7)
            assert found[quantity] == near, (task.name, quantity)
    if absent:
        pytest.skip(absent)


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=list(EXPERIMENTS))
def test_experiments_name_what_they_run(experiment: Experiment) -> None:
    names = [task.name for task in experiment.tasks]
    assert len(names) == len(set(names))
    assert experiment.notes
    for claim in experiment.claims:
        assert claim.smaller in names
        assert claim.larger in names
    for panel in experiment.panels:
        assert all(task in names for line in panel.lines.values() for _, task, _ in line)
        assert not panel.ticks or {len(line) for line in panel.lines.values()} == {len(panel.ticks)}
    for cell in experiment.cells:
        assert cell.task in names or "FEMNIST" in cell.task
