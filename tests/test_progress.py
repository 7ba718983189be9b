"""The progress bar of a long run, and the state after Ctrl-C."""

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
from fedclust.cli.progress import Watch, predict_rounds
from fedclust.core import Plan, Schema, rounds

X = np.random.default_rng(0).normal(size=(200, 2))


def render_progress(terminal: bool, monkeypatch: pytest.MonkeyPatch, patience: float = 0.0) -> str:
    monkeypatch.setattr("fedclust.cli.progress._DELAY", patience)
    text = io.StringIO()
    console = Console(file=text, force_terminal=terminal, width=100)
    plan = Plan(make("llf-cm", 4, init=X[:4] + 0.1))
    with Watch(console) as watch:
        for _ in range(2):  # a second run begins a new line
            for last in rounds(plan, LocalChannel({"a": X}), Schema(2)):
                watch("clustering", plan, last)
    return text.getvalue()


def test_the_bar_shows_phase_and_round(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = render_progress(True, monkeypatch)
    assert "clustering (llf-cm)" in shown
    assert "round" in shown


def test_no_bar_without_a_terminal_or_in_a_short_run(monkeypatch: pytest.MonkeyPatch) -> None:
    assert render_progress(False, monkeypatch) == ""
    assert render_progress(True, monkeypatch, patience=60.0) == ""


def test_the_number_of_rounds_is_predicted_from_how_centres_slow_down() -> None:
    plan = Plan(make("llf-fcm", 3, init=X[:3], tol=1e-8))
    shifts: list[float] = []
    predicted: list[int | None] = []
    for last in rounds(plan, LocalChannel({"a": X}), Schema(2)):
        shifts.append(last.state.shift)
        predicted.append(predict_rounds(plan.algorithm, last, shifts))
    assert predicted[0] == 300  # nothing is known yet
    half = predicted[len(predicted) // 2]
    assert half is not None
    assert abs(half - len(shifts)) <= 0.5 * len(shifts)
    assert predicted[-1] is not None
    assert abs(predicted[-1] - len(shifts)) <= 1


@pytest.mark.parametrize("shifts", [[1.0] * 7, [0.0] * 7, [float("inf")] * 7])
def test_without_slowing_down_the_prediction_is_the_limit(shifts: list[float]) -> None:
    algorithm = make("llf-cm", 2, init=X[:2])
    last: Any = SimpleNamespace(number=7, state=SimpleNamespace(centers=X[:2]))
    assert predict_rounds(algorithm, last, shifts) == 300
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
