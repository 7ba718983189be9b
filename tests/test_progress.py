"""The progress of a long run, and the state after Ctrl-C."""

import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from fedclust import make
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
    Clock(monkeypatch)
    monkeypatch.setattr("fedclust.cli.progress._PAUSE", 0.0)
    shown = watch_run(write_study(tmp_path, '"auto"', "[2, 6]"), terminal=False).splitlines()
    known = [line for line in shown if "about" in line]
    assert known == shown[-len(known) :]  # from the first round with centres on
    assert len(known) > 0.9 * len(shown)
    shares = [int(line.split(": ")[1].partition("%")[0]) for line in known]
    assert shares == sorted(shares)
    assert shares[0] < 20
    assert shares[-1] > 90


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


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_a_run_can_be_resumed_after_ctrl_c(tmp_path: Path) -> None:
    np.savetxt(tmp_path / "a.csv", np.random.default_rng(1).normal(size=(30_000, 6)),
               delimiter=",", header="a,b,c,d,e,f", comments="")  # fmt: skip
    study = tmp_path / "study.toml"
    study.write_text(
        '[clients]\nnorth = "a.csv"\n[clustering]\nalgorithm = "lossless"\nfuzzy = true\n'
        "n_clusters = 12\ntol = 1e-13\nmax_rounds = 400\n[outputs]\nreport = false\n"
    )
    command = [sys.executable, "-m", "fedclust", "run", str(study)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    journal = tmp_path / ".study-run.unfinished" / "journal"
    deadline = time.monotonic() + 60
    # The fourth run is the clustering; it is saved once a second.
    while not (journal / "00003.json").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    if process.returncode == 0:
        pytest.skip("the run was over before it could be stopped")
    assert process.returncode == 130, said
    assert f"Continue with: fedclust run {study} --resume" in said
    assert not (tmp_path / "study-run").exists()
    study.write_text(study.read_text())
    assert subprocess.run([*command, "--resume"], timeout=120).returncode == 0
    assert (tmp_path / "study-run" / "model.json").is_file()
