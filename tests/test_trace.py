"""What the trace of a study and of a round must show, whatever else changes."""

from pathlib import Path

import pytest

from benchmarks.trace import ENCODED, LOCKS, trace_round, trace_study, write_files


def test_rows_are_encoded_once_in_a_study(tmp_path: Path) -> None:
    write_files(tmp_path)
    assert trace_study(tmp_path)[ENCODED] == 1


@pytest.mark.parametrize("tier", ["none", "secure"])
def test_a_client_takes_one_file_lock_in_a_round(tmp_path: Path, tier: str) -> None:
    if tier == "secure":
        pytest.importorskip("cryptography")
    write_files(tmp_path)
    assert trace_round(tmp_path, tier)[LOCKS] == 1
