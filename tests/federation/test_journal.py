"""A run that is repeated from its journal: the same bits, and nobody is asked twice."""

from pathlib import Path

import numpy as np
import pytest

from fedclust.channels import RemoteChannel
from fedclust.core import CheckpointError, TooFewClients
from fedclust.federation.journal import Journal
from fedclust.federation.study import run_across
from fedclust.study.file import Study, read_study
from fedclust.study.run import Outcome

from .example import InProcess, write_kits

STUDY = """
[clustering]
algorithm = "llf-fcm"
n_clusters = 3
n_init = 2
max_rounds = 8
tol = 0.0
[participation]
fraction = 0.67
min_clients = 2
"""


class Crash(Exception):
    pass


def study(tmp_path: Path, text: str = STUDY) -> Study:
    (tmp_path / "s.toml").write_text(text)
    return read_study(tmp_path / "s.toml", files=False)


def run(tmp_path: Path, transport: InProcess, text: str = STUDY, out: str = "run") -> Outcome:
    journal = Journal(transport, tmp_path / "journal")
    try:
        remote = RemoteChannel(journal, run="r", about={"study": "s"}, quorum=2)
        return run_across(study(tmp_path, text), remote, tmp_path / out, force=True)
    finally:
        journal.close()


def crash_at(number: int) -> InProcess:
    def spoil(n: int, client: str, answer: bytes) -> bytes:
        if n == number:
            raise Crash
        return answer

    return InProcess({}, spoil)


def test_a_run_that_crashes_again_and_again_ends_with_the_same_bits(tmp_path: Path) -> None:
    sites = write_kits(tmp_path)
    whole = InProcess(sites)
    expected = run(tmp_path, whole, out="whole")
    (tmp_path / "journal").unlink()
    asked = 0
    for stop in (1, 3, 2, 9, 5):
        transport = crash_at(stop)
        transport.sites = sites
        with pytest.raises(Crash):
            run(tmp_path, transport)
        asked += len(transport.asked) - 1
    last = InProcess(sites)
    found = run(tmp_path, last)
    for file in ("model.json", "history.jsonl"):
        assert (tmp_path / "run" / file).read_text() == (tmp_path / "whole" / file).read_text()
    assert found.centers.tobytes() == expected.centers.tobytes()
    # Only exchanges that a crash hit, and the one before each, were asked a second time.
    assert asked + len(last.asked) <= len(whole.asked) + 5


def test_a_finished_run_is_repeated_without_asking_anybody_but_for_labels(tmp_path: Path) -> None:
    sites = write_kits(tmp_path)
    run(tmp_path, InProcess(sites))
    again = InProcess(sites)
    run(tmp_path, again)
    assert len(again.asked) == 1  # the last exchange was not confirmed by another


def test_a_round_without_quorum_is_asked_again(tmp_path: Path) -> None:
    sites = write_kits(tmp_path)
    lost = InProcess(sites, lambda n, client, raw: raw if n != 4 or client == "west" else "gone")
    with pytest.raises(TooFewClients, match="gone"):
        run(tmp_path, lost)
    after = InProcess(sites)
    run(tmp_path, after)
    whole = InProcess(sites)
    (tmp_path / "journal").unlink()
    run(tmp_path, whole, out="whole")
    assert (tmp_path / "run" / "model.json").read_text() == (
        tmp_path / "whole" / "model.json"
    ).read_text()
    assert len(lost.asked) + len(after.asked) == len(whole.asked) + 1


def test_a_journal_that_was_cut_off_loses_its_last_record_only(tmp_path: Path) -> None:
    sites = write_kits(tmp_path)
    run(tmp_path, InProcess(sites), out="whole")
    path = tmp_path / "journal"
    path.write_bytes(path.read_bytes()[:-7])
    run(tmp_path, InProcess(sites))
    assert (tmp_path / "run" / "model.json").read_text() == (
        tmp_path / "whole" / "model.json"
    ).read_text()


def test_a_journal_of_another_study_is_refused(tmp_path: Path) -> None:
    sites = write_kits(tmp_path)
    run(tmp_path, InProcess(sites))
    with pytest.raises(CheckpointError, match="another study"):
        run(tmp_path, InProcess(sites), STUDY.replace("n_clusters = 3", "n_clusters = 4"))


def test_what_is_no_journal_is_refused(tmp_path: Path) -> None:
    from zlib import crc32

    body = b"not a frame at all"
    start = np.array([len(body)], "<u8").tobytes() + np.array([crc32(body)], "<u4").tobytes()
    (tmp_path / "journal").write_bytes(start + body)
    with pytest.raises(CheckpointError, match="not a readable journal"):
        Journal(InProcess({}), tmp_path / "journal")


def test_two_runs_do_not_write_one_journal(tmp_path: Path) -> None:
    first = Journal(InProcess({}), tmp_path / "journal")
    with pytest.raises(CheckpointError, match="another process is at work"):
        Journal(InProcess({}), tmp_path / "journal", patience=0.2)
    first.close()
    Journal(InProcess({}), tmp_path / "journal", patience=0.2).close()


def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    Journal(InProcess({}), tmp_path / "journal").close()
    assert (tmp_path / "journal").stat().st_mode & 0o077 == 0
