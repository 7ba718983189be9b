"""A run that is killed at any moment resumes, with results that are the same bit for bit."""

import os
from pathlib import Path

import numpy as np
import pytest

from fedclust.study import read_study
from fedclust.study.run import run_study

from .example import SMALLEST, write
from .test_resume import read_results

KILLS = int(os.environ.get("FEDCLUST_KILLS", "24"))
STUDY = (
    SMALLEST
    + "n_init = 2\ntol = 0\nmax_rounds = 8\n"
    + '[outputs]\nreport = false\nlabels = "csv"\nlabels_in = "run"\n'
)


class Killed(BaseException):
    """As sudden as a signal: no handler of errors catches it."""


class Reaper:
    """Kills the run at the n-th replacement of a file, just before or just after."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at: int, after: bool) -> None:
        self._left, self._after, self._replace = at, after, os.replace
        monkeypatch.setattr("os.replace", self)

    def __call__(self, source: object, target: object) -> None:
        self._left -= 1
        if self._left == 0 and not self._after:
            raise Killed
        self._replace(source, target)  # type: ignore[arg-type]
        if self._left == 0:
            raise Killed


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run that nobody kills."""
    folder = tmp_path_factory.mktemp("whole")
    return run_study(read_study(write(folder, STUDY)), folder / "whole").folder


@pytest.mark.parametrize("number", range(KILLS))
def test_a_run_killed_between_any_two_writes_resumes_bit_for_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: Path, number: int
) -> None:
    monkeypatch.setattr("fedclust.study.journal._PAUSE", 0.0)
    study = read_study(write(tmp_path, STUDY))
    rng = np.random.default_rng(number)
    resume = False
    for _ in range(int(rng.integers(1, 4))):  # it can be killed again
        with monkeypatch.context() as once:
            Reaper(once, int(rng.integers(1, 60)), bool(rng.integers(2)))
            try:
                run_study(study, tmp_path / "cut", resume=resume)
                break
            except Killed:
                resume = (tmp_path / ".cut.unfinished").exists()
    if not (tmp_path / "cut").exists():
        run_study(study, tmp_path / "cut", resume=resume)
    assert read_results(tmp_path / "cut") == read_results(whole)
    labels = [(run / "labels" / "north.csv").read_text() for run in (tmp_path / "cut", whole)]
    assert labels[0] == labels[1]
