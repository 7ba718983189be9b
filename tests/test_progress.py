"""The progress of a long run, and the state after Ctrl-C."""

import io
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from fedclust import load, make
from fedclust.channels import LocalChannel
from fedclust.cli.progress import Watch, format_seconds
from fedclust.cli.tools.outlook import Outlook, predict_rounds
from fedclust.core import Plan, Schema, rounds
from fedclust.study import Study, read_study, run_study
from fedclust.study.phases import Phase

X = np.random.default_rng(0).normal(size=(200, 2))
STUDY = """
[clients]
north = "north.csv"
south = "south.csv"
[clustering]
algorithm = "lossless"
n_clusters = {k}
k_range = {ks}
[outputs]
report = false
"""


class Clock:
    """Time that passes by one second with every look at it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr("fedclust.cli.progress.time.monotonic", self)

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def write_study(folder: Path, k: str = "3", ks: str = "") -> Study:
    for client, seed in (("north", 1), ("south", 2)):
        rows = np.random.default_rng(seed).normal(size=(80, 2))
        np.savetxt(folder / f"{client}.csv", rows, delimiter=",", header="a,b", comments="")
    text = STUDY.format(k=k, ks=ks).replace("k_range = \n", "")
    (folder / "study.toml").write_text(text)
    return read_study(folder / "study.toml")


def watch_run(study: Study, *, terminal: bool) -> str:
    text = io.StringIO()
    console = Console(file=text, force_terminal=terminal, width=100)
    with Watch(console, Outlook.of(study)) as watch:
        folder = study.path.with_name("run")
        run_study(study, folder, on_phase=watch.enter, on_round=watch)
    return text.getvalue()


def test_plain_lines_name_each_phase_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Clock(monkeypatch)
    monkeypatch.setattr("fedclust.cli.progress._PAUSE", 1e9)
    shown = watch_run(write_study(tmp_path, '"auto"', "[2, 4]"), terminal=False)
    names = [line.partition(":")[0] for line in shown.splitlines()]
    assert names == [
        "reading files", "scaling columns", "choosing k", "checking stability", "clustering",
        "describing clusters", "writing labels",
    ]  # fmt: skip
    assert "llf" not in shown
    assert "careful" not in shown


def test_the_share_never_falls_and_the_estimate_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An estimate needs a round with centres, so there is none before the first one ends."""
    Clock(monkeypatch)
    monkeypatch.setattr("fedclust.cli.progress._PAUSE", 0.0)
    shown = watch_run(write_study(tmp_path, '"auto"', "[2, 6]"), terminal=False).splitlines()
    known = [line for line in shown if "about" in line]
    unknown = shown[: -len(known)]
    assert shown == unknown + known
    assert set(unknown[:-1]) == {"reading files", "scaling columns"}
    assert unknown[-1] == "choosing k"  # begins, and has asked nothing yet
    shares = [int(line.split(": ")[1].partition("%")[0]) for line in known]
    assert shares == sorted(shares)
    # Each line takes as long here, so half of the lines are about half of the run.
    middle = len(unknown) + len(known) // 2
    assert abs(shares[len(known) // 2] - 100 * middle / len(shown)) < 25
    assert shares[0] < 20
    assert known[-1].startswith("writing labels")  # which reads the files again, and is still to do
    assert 90 < shares[-1] < 100


def test_the_bar_of_a_terminal_shows_phase_share_and_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fedclust.cli.progress._DELAY", 0.0)
    shown = watch_run(write_study(tmp_path), terminal=True)
    assert "writing labels" in shown  # the last thing that is drawn
    assert "% about " in shown
    assert "left" in shown


def test_a_short_run_shows_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedclust.cli.progress._DELAY", 60.0)
    assert watch_run(write_study(tmp_path), terminal=False) == ""


def test_a_long_phase_is_reported_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Clock(monkeypatch)
    shown = watch_run(write_study(tmp_path, '"auto"', "[2, 9]"), terminal=False)
    lines = [line for line in shown.splitlines() if line.startswith("choosing k: ")]
    assert len(lines) > 1


def test_the_estimate_of_steady_rounds_is_about_right() -> None:
    """A clustering whose rounds take a second each, which converges as fuzzy c-means does."""
    outlook = Outlook(largest_k=3, writes_labels=False)
    outlook.enter(Phase.READING, 0.0)
    outlook.enter(Phase.SCALING, 0.0)
    plan = Plan(make("llf-fcm", 3, init=X[:3], tol=1e-8))
    outlook._k = 3
    all_rounds = list(rounds(plan, LocalChannel({"a": X}), Schema(2)))
    assert outlook.seconds_left(0.0) is None
    for last in all_rounds:
        outlook.add(Phase.CLUSTERING, plan, last, last.number + 1.0)
        now, left = last.number + 1.0, outlook.seconds_left(last.number + 1.0)
        assert left is not None
        if now > len(all_rounds) / 3:
            assert abs(now + left - len(all_rounds)) < 0.5 * len(all_rounds)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "1 s"), (7.4, "7 s"), (33, "35 s"), (61, "1 min"), (600, "10 min"), (7300, "2 h 2 min")],
)
def test_durations_are_as_exact_as_they_can_be(seconds: float, words: str) -> None:
    assert format_seconds(seconds) == words


def test_the_number_of_rounds_is_predicted_from_how_centres_slow_down() -> None:
    plan = Plan(make("llf-fcm", 3, init=X[:3], tol=1e-8))
    shifts: list[float] = []
    predicted: list[int | None] = []
    for last in rounds(plan, LocalChannel({"a": X}), Schema(2)):
        shifts.append(last.state.shift)
        predicted.append(predict_rounds(plan.algorithm, last, shifts))
    assert predicted[0] is None  # nothing is known yet
    half = predicted[len(predicted) // 2]
    assert half is not None
    assert abs(half - len(shifts)) <= 0.5 * len(shifts)
    assert predicted[-1] is not None
    assert abs(predicted[-1] - len(shifts)) <= 1


@pytest.mark.parametrize("shifts", [[1.0] * 7, [0.0] * 7, [float("inf")] * 7])
def test_without_slowing_down_there_is_no_prediction(shifts: list[float]) -> None:
    algorithm = make("llf-cm", 2, init=X[:2])
    last: Any = SimpleNamespace(number=7, state=SimpleNamespace(centers=X[:2]))
    assert predict_rounds(algorithm, last, shifts) is None
    assert predict_rounds(SimpleNamespace(), last, shifts) is None


# Runs a command, and interrupts itself after a round of the clustering, as Ctrl-C does.
INTERRUPTED = """
import os, signal
from fedclust.cli import app, progress
note = progress.Watch.__call__
def note_and_stop(watch, phase, plan, last):
    note(watch, phase, plan, last)
    if phase == "clustering" and not plan.purpose and last.number == 1:
        os.kill(os.getpid(), signal.SIGINT)
progress.Watch.__call__ = note_and_stop
app(prog_name="fedclust")
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_a_run_can_be_resumed_after_ctrl_c(tmp_path: Path) -> None:
    write_study(tmp_path)
    study = tmp_path / "study.toml"
    study.write_text(study.read_text().replace("[outputs]", "fuzzy = true\n[outputs]"))
    run = ["run", str(study)]
    stopped = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, *run], capture_output=True, text=True, timeout=120
    )
    assert stopped.returncode == 130, stopped.stderr
    assert f"Continue with: fedclust run {study} --resume" in stopped.stderr
    assert not (tmp_path / "study-run").exists()
    assert (tmp_path / ".study-run.unfinished" / "journal").is_dir()
    study.write_text(study.read_text())
    resumed = subprocess.run([sys.executable, "-m", "fedclust", *run, "--resume"], timeout=120)
    assert resumed.returncode == 0
    whole = run_study(read_study(study), tmp_path / "whole").model
    np.testing.assert_array_equal(load(tmp_path / "study-run").centers, whole.centers)
