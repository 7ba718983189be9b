"""The harness of the papers' experiments: stored runs, resumption, and an up-to-date page."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from fedclust import DataError
from papers.__main__ import app, read_all
from papers.experiment import (
    Cell,
    Claim,
    Experiment,
    Grid,
    Panel,
    Scatter,
    Task,
    curve,
    is_measured,
)
from papers.experiments import EXPERIMENTS
from papers.experiments.papers import COMPARISON, PAPERS
from papers.harness import execute, open_jobs
from papers.report import page, section_of, section_text
from papers.store import Finished, Store, identify
from papers.tables import as_csv
from papers.verdict import judge

DOCS = Path(__file__).parents[2] / "docs"


def measure_line(seed: int, at: float) -> dict[str, float]:
    return {"x": at + 0.01 * seed, "line@1": 1.0, "line@2": 2.0, "unused": 3.0}


def absent(seed: int) -> dict[str, float]:
    raise DataError("no such data: no/such/folder")


def centers(seed: int) -> dict[str, float]:
    return {"end 0 x": 1.0, "end 0 y": 2.0, "start 0 x": 0.0, "start 0 y": 0.0}


def rows() -> tuple[Any, Any]:
    return np.zeros((4, 2)), np.array([0, 0, 1, 1])


TOY = Experiment(
    id="toy",
    title="A toy",
    tasks=[
        Task("one", measure_line, {"at": 1.0}, runs=3, quick=2),
        Task("slow", measure_line, {"at": 2.0}, runs=3, quick=0, heavy=True),
        Task("gone", absent, {}, runs=1, quick=1),
        Task("picture", centers, {}, runs=1, quick=1),
    ],
    cells=[
        Cell("r", "a", "one", "x", "1.0"),
        Cell("r", "b", "one", "x", "5.0", because="they counted twice"),
        Cell("r", "c", "slow", "x", "9.0"),
        Cell("r", "d", "gone", "x", "1.0"),
        Cell("r", "e", "one", "x", "1.0", absent="the file is lost"),
        Cell("r", "f", "one", "x", None),
    ],
    claims=[Claim("one is less than two", "x", "one", "slow")],
    panels=[
        Panel("p", {"one": curve("one", "line", (1, 2))}, "x", "y", log_y=True, log_x=True),
        Panel(
            "q",
            {"one": [(1, "one", "x")], "2": [(1, "slow", "x")]},
            "x",
            "y",
            published={"one": [(1, 1.0)]},
        ),
        Panel("b", {"one": [(0, "one", "x")]}, "", "", boxes=True, ticks=["a"]),
        Panel("c", {"one": curve("one", "line", (1, 2))}, "x", "y", bars=True),
        Scatter("s", rows, [("picture", "end")], 1, moves=("picture", "start")),
    ],
    grids=[
        Grid(
            "g",
            {"one": [(0, "one", "x"), (1, "no", "x")]},
            ["a", "b"],
            3,
            {"one": "good"},
            "advice",
        ),
        Grid("h", {"one": [(0, "one", "x")]}, ["a"]),
    ],
)


def run_toy(folder: Path, **changes: Any) -> Store:
    settings = {"quick": False, "runs": None, **changes}
    store = Store.read(folder, TOY)
    reported: list[str] = []
    jobs = open_jobs([store], **settings)
    assert execute(jobs, lambda text, n: reported.append(text), workers=2)
    assert len(reported) == len(jobs)
    return Store.read(folder, TOY)


def test_few_runs_are_the_first_of_many_and_none_is_repeated(tmp_path: Path) -> None:
    quick = run_toy(tmp_path, quick=True)
    assert sorted(quick.runs["one"]) == [0, 1]
    assert "slow" not in quick.runs
    assert quick.failed == {"gone": "no such data: no/such/folder"}
    first = quick.runs["one"][0]
    assert first.values == {"x": 1.0, "line@1": 1.0, "line@2": 2.0}  # what the toy uses
    assert first.seconds is not None
    assert set(first.versions) == {"python", "fedclust", "numpy", "scikit-learn", "scipy"}
    changed = json.loads(quick.path.read_text())
    changed["tasks"]["one"]["values"]["x"][1] = 7.0
    quick.path.write_text(json.dumps(changed))
    again = run_toy(tmp_path)
    assert [run.values["x"] for run in again.runs["one"].values()] == [1.0, 7.0, 1.02]
    assert sorted(again.runs["slow"]) == [0, 1, 2]


def test_heavy_runs_come_last_and_shared_runs_are_made_once(tmp_path: Path) -> None:
    other = Experiment("other", "", TOY.tasks[:1], TOY.cells[:1])
    stores = [Store.read(tmp_path, one) for one in (TOY, other)]
    jobs = open_jobs(stores, quick=False, runs=None)
    assert [job.task.heavy for job in jobs] == sorted(job.task.heavy for job in jobs)
    shared = [job for job in jobs if job.task.name == "one"]
    assert [len(job.wanted_by) for job in shared] == [2, 2, 2]
    assert execute(shared, lambda text, n: None, workers=1)
    kept = Store.read(tmp_path, other).runs["one"][0].values
    assert kept == {"x": 1.0}
    third = Store.read(tmp_path, Experiment("third", "", TOY.tasks[:1], TOY.cells[:1]))
    assert open_jobs([third, stores[0]], quick=False, runs=1) == [
        job for job in jobs if job.task.name in ("gone", "picture", "slow") and job.seed == 0
    ]  # what another has stored is copied
    assert set(Store.read(tmp_path, third.experiment).runs["one"]) == {0, 1, 2}


def test_runs_of_something_else_are_not_used(tmp_path: Path) -> None:
    """Other settings, another revision of the measure, or a quantity that is new."""
    run_toy(tmp_path)
    renamed = Task("one", measure_line, {"at": 3.0})
    assert identify(renamed) != identify(TOY.tasks[0])
    for changed in (
        Experiment("toy", "", [renamed], TOY.cells[:1]),
        Experiment("toy", "", TOY.tasks[:1], [Cell("r", "a", "one", "unused", None)]),
    ):
        assert not Store.read(tmp_path, changed).runs
    assert Store.read(tmp_path, Experiment("toy", "", TOY.tasks[:1], TOY.cells[:1])).runs


def test_a_limit_of_time_ends_the_command(tmp_path: Path) -> None:
    store = Store.read(tmp_path, TOY)
    jobs = open_jobs([store], quick=False, runs=None)
    assert not execute(jobs, lambda text, n: None, workers=1, seconds=0.0)
    assert store.path.is_file()


def test_ctrl_c_keeps_finished_runs(tmp_path: Path) -> None:
    store = Store.read(tmp_path, TOY)
    with pytest.raises(KeyboardInterrupt):
        execute(open_jobs([store], quick=False, runs=4), _interrupt, workers=1)
    assert sum(map(len, Store.read(tmp_path, TOY).runs.values())) == 1


def _interrupt(text: str, n: int) -> None:
    raise KeyboardInterrupt


def test_a_section_shows_tables_claims_reasons_and_grids(tmp_path: Path) -> None:
    store = run_toy(tmp_path)
    text = section_text(section_of(store))
    assert "| r | 1.0 / 1.01 | **5.0 / 1.01** | **9.0 / 2.01** | 1.0 / not run |" in text
    assert "1.0 / cannot be had" in text
    assert "- one is less than two: holds (3 of 3 pairs)" in text
    assert "- 1 differs (r, b): they counted twice." in text
    assert "| g (0 to 3 runs each) | a | b | advice |" in text
    assert "| `one` | 1.010 ± 0.008 | not run | good |" in text
    assert "<details><summary>h</summary>" in text
    assert "Missing data sets: no such data." in text
    assert "toy`: 7 of 8 runs, 0.0 minutes of CPU, python 3" in text
    del store.runs["slow"][2]
    assert "9.0 / 2.00 (2 of 3)" in section_text(section_of(store))
    store.runs["one"][0] = Finished(store.runs["one"][0].values)
    assert "1 runs are from before times and versions" in section_text(section_of(store))
    lines = as_csv(judge(TOY, store.results())).splitlines()
    assert len(lines) == 1 + len(TOY.cells)
    assert lines[0].startswith("table,row,column,statistic,published")


def test_figures_are_the_same_in_every_run(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from papers.figures import draw

    results = run_toy(tmp_path).results()
    first = draw(TOY, results, tmp_path).read_bytes()
    assert first.startswith(b"<?xml")
    assert draw(TOY, results, tmp_path).read_bytes() == first


def test_a_level_alone_is_no_figure() -> None:
    level = Panel("l", {"pooled": [(1, "a", "x"), (2, "a", "x")]}, "x", "y")
    line = Panel("m", {**level.lines, "one": [(1, "a", "x"), (2, "b", "x")]}, "x", "y")
    runs = {"a": {0: {"x": 1.0}}, "b": {0: {"x": 2.0}}}
    assert not is_measured(level, runs)
    assert is_measured(line, runs)
    assert not is_measured(line, {"a": runs["a"]})


def test_panels_of_one_quantity_stand_side_by_side() -> None:
    pytest.importorskip("matplotlib")
    from papers.figures import _columns

    def panels(*labels: str) -> list[Panel]:
        return [Panel("p", {}, "x", label) for label in labels]

    assert _columns(panels(*"aabbcc")) == 2
    assert _columns(panels(*"aaabbb")) == 3
    assert _columns(panels(*"aaaaaa")) == 3
    assert _columns(panels(*"ab")) == 2
    assert _columns(panels(*"aaaa")) == 2


def test_curves_may_be_over_the_better_half() -> None:
    pytest.importorskip("matplotlib")
    from papers.figures import _values

    runs = {"a": {s: {"score": float(s), "x": 10.0 * s} for s in (3, 1, 2, 4)}}
    assert _values(runs, "a", "x", better_half=True).tolist() == [10.0, 20.0]
    assert sorted(_values(runs, "a", "x")) == [10.0, 20.0, 30.0, 40.0]


def test_the_top_of_the_page_says_where_most_numbers_differ() -> None:
    store = Store.read(DOCS / "papers", EXPERIMENTS["llf-table3"])
    differing = [one for one in section_of(store).outcomes if one.verdict == "differs"]
    count = sum(one.cell.table == "SDB" for one in differing)
    text = page({"llf-table3": store})
    assert (
        f"Of the {len(differing)} that differ, most are in few places: {count} in LLF, SDB" in text
    )


def test_a_page_of_few_runs_does_not_say_how_many_numbers_are_reproduced(tmp_path: Path) -> None:
    text = page({"llf-table4": Store.read(tmp_path, EXPERIMENTS["llf-table4"])})
    assert "Only 0 of 4 numbers have the runs that a verdict needs" in text
    assert "%" not in text


def test_times_are_estimated_from_stored_runs(tmp_path: Path) -> None:
    """The mean of the stored runs, times the wanted ones; runs without any time are counted."""
    store = Store.read(tmp_path, TOY)
    first, *others = TOY.tasks
    for seed, seconds in enumerate((2.0, 4.0, None)):
        store.add(first, seed, Finished({"x": 1.0}, seconds))
    assert store.estimate(lambda task: 10) == (30.0, 10 * len(others))


def test_the_command_runs_and_reports(tmp_path: Path) -> None:
    invoke = CliRunner().invoke
    shown = invoke(app, ["list"])
    assert shown.exit_code == 0
    assert all(id in shown.output for id in EXPERIMENTS)
    unknown = invoke(app, ["list", str(tmp_path)]).output.splitlines()[-2]  # the total
    assert "0.0+" in unknown  # a plus: the time of some runs is not stored
    shown = invoke(app, ["run", "dwf-fig1", "--quick", "--workers", "1", "--out", str(tmp_path)])
    assert shown.exit_code == 0, shown.output
    assert "dwf-fig1" in shown.output
    assert "Fig. 1: empty clusters stay" in (tmp_path / "papers.md").read_text()
    shown = invoke(app, ["run", "dwf-fig1", "--minutes", "0", "--out", str(tmp_path)])
    assert "The time is over" in shown.output
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


def test_a_run_may_end_before_the_last_round(tmp_path: Path) -> None:
    store = Store.read(tmp_path, TOY)
    store.add(TOY.tasks[0], 0, Finished({"x": 1.0, "line@1": 2.0}))
    store.add(TOY.tasks[0], 1, Finished({"x": 3.0, "line@1": 4.0, "line@2": 5.0}))
    store.write()
    found = Store.read(tmp_path, TOY).results()["one"]
    assert found == {0: {"x": 1.0, "line@1": 2.0}, 1: {"x": 3.0, "line@1": 4.0, "line@2": 5.0}}


def test_missing_data_sets_are_named_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEDCLUST_DATA", str(tmp_path / "nothing"))
    command = ["run", "ffcf", "--quick", "--out", str(tmp_path)]
    shown = " ".join(CliRunner().invoke(app, command).output.split())
    assert (
        "Missing data sets: ffcf_case3. Put the files into the folder set by FEDCLUST_DATA" in shown
    )
    table = (tmp_path / "papers.md").read_text()
    assert "Missing data sets: ffcf_case3." in table
    assert str(tmp_path) not in table


def test_page_tables_and_figures_follow_from_the_stored_runs(tmp_path: Path) -> None:
    """Byte for byte; figures depend on the version of matplotlib, and are drawn without error."""
    stores = read_all(DOCS / "papers")
    assert set(stores) == set(EXPERIMENTS)
    assert (DOCS / "papers.md").read_text() == page(stores)
    for id, store in stores.items():
        if store.experiment.cells:
            written = (DOCS / "papers" / f"{id}.csv").read_text()
            assert written == as_csv(judge(store.experiment, store.results())), id
        drawn = any(is_measured(panel, store.results()) for panel in store.experiment.panels)
        assert (DOCS / "papers" / f"{id}.svg").is_file() == drawn, id


# Experiments that take a second or two per run and do not depend on the machine.
SLOW = ("ffcm-table5", "fkm-fig5", "dwf-fig4", "dwf-fig5", "dwf-fig6", "comparison")


@pytest.mark.parametrize("id", [i for i in EXPERIMENTS if i not in SLOW])
def test_stored_runs_are_reproduced(id: str) -> None:
    """The first run of some tasks of each experiment gives the stored values."""
    store = Store.read(DOCS / "papers", EXPERIMENTS[id])
    quick = [t for t in EXPERIMENTS[id].tasks if t.quick and 0 in store.runs.get(t.name, {})]
    reason = ""
    for task in quick[:: max(1, len(quick) // 4)]:
        try:
            found = task(0)
        except DataError as problem:
            reason = str(problem)
            continue
        for quantity, stored in store.runs[task.name][0].values.items():
            near = pytest.approx(stored, rel=1e-4 if "@" in quantity else 1e-5, abs=1e-7)
            assert found[quantity] == near, (task.name, quantity)
    if reason:
        pytest.skip(reason)


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=list(EXPERIMENTS))
def test_experiments_name_what_they_run(experiment: Experiment) -> None:
    names = [task.name for task in experiment.tasks]
    assert len(names) == len(set(names))
    assert experiment.notes
    for claim in experiment.claims:
        assert {claim.smaller, claim.larger} <= set(names)
    for cell in experiment.cells:
        assert cell.task in names or cell.absent
    for panel in experiment.panels:
        if isinstance(panel, Scatter):
            assert {task for task, _ in panel.centers} <= set(names)
        else:
            assert all(task in names for line in panel.lines.values() for _, task, _ in line)
            assert set(panel.published) <= set(panel.lines)
    for grid in experiment.grids:
        assert {len(line) for line in grid.lines.values()} == {len(grid.ticks)}


def test_every_experiment_belongs_to_one_paper_with_a_conclusion() -> None:
    listed = [e.id for paper in (*PAPERS, COMPARISON) for e in paper.experiments]
    assert sorted(listed) == sorted(EXPERIMENTS)
    assert all(paper.conclusion for paper in (*PAPERS, COMPARISON))
    assert all(paper.bibtex.count("{") == paper.bibtex.count("}") > 3 for paper in PAPERS)
