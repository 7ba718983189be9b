"""A followed study is the study in one process, bit for bit."""

from pathlib import Path

import pytest

from fedclust.study.run import run_study

from ..support.following import Federation, tables
from ..support.in_process import told

pytest.importorskip("cryptography")


@pytest.mark.parametrize("one_message", [False, True])
@pytest.mark.parametrize("F", [2, 5])
@pytest.mark.parametrize(
    "clustering", ["", "fuzzy = true\nfuzzifier = 1.7", "n_init = 2\nmax_rounds = 10"]
)
def test_a_followed_study_is_the_study_in_one_process(
    clustering: str, F: int, one_message: bool, tmp_path: Path
) -> None:
    there = Federation(tmp_path, tables(4, F=F), clustering=clustering, one_message=one_message)
    run_study(there.study, tmp_path / "here")
    there.run(tmp_path / "there")
    assert told(tmp_path / "there") == told(tmp_path / "here")
