"""What is wrong at clients, in the words of the coordinator's console and of the client's."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nvflare", reason="the engine's report is read with NVFlare's names")
from fedclust.channels.nvflare import signs
from fedclust.core import FedclustError
from fedclust.deploy.conditions import Conditions, check_space, describe_offset
from fedclust.deploy.run_client import explain_notice

from ..support.pretended import Pretended, run


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signs, "is_full", lambda folder: True)


def report(kit: Path, **clients: dict[str, Any]) -> None:
    kit.mkdir(exist_ok=True, parents=True)
    (kit / signs.REPORT).write_text(json.dumps(clients))


def test_without_a_report_nothing_is_known(tmp_path: Path) -> None:
    conditions = Conditions(tmp_path)
    assert conditions.find() == conditions.find_new() == []
    (tmp_path / signs.REPORT).write_text("{")
    assert conditions.find() == []


def test_each_condition_is_a_sentence_and_shown_once(tmp_path: Path) -> None:
    conditions = Conditions(tmp_path)
    report(tmp_path, west={"disk": True}, north={"twice": "10.0.0.7", "clock": -180})
    texts = [str(one) for one in conditions.find_new()]
    assert texts == [
        "north: a second machine (address 10.0.0.7) uses a copy of its kit and was refused; one "
        "kit runs on one machine. If nobody knows it, revoke the kit (fedclust revoke)",
        "north: its clock is 3 minutes behind the server's; certificates and logs depend on it",
        "west: its disk is full; the study goes on with it once there is space",
    ]
    assert conditions.find_new() == []
    assert conditions.blocked() == {"west"}
    report(tmp_path, west={}, north={"twice": True})
    assert "a second machine uses a copy" in str(conditions.find_new()[0])
    assert not conditions.blocked()


def test_text_of_other_machines_stays_on_one_line(tmp_path: Path) -> None:
    report(tmp_path, **{"no\nrth": {"twice": "10.0.0.7\x1b[2J\nsouth: all is well"}})
    (text,) = map(str, Conditions(tmp_path).find())
    assert "\n" not in text
    assert "\x1b" not in text


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (61, "61 seconds ahead of"),
        (-180, "3 minutes behind"),
        (7_200, "2 hours ahead of"),
        (-172_800, "2 days behind"),
    ],
)
def test_how_far_clocks_differ(seconds: float, words: str) -> None:
    assert describe_offset(seconds) == words


def test_a_client_reads_what_the_server_says_about_it() -> None:
    with pytest.raises(FedclustError, match="this kit runs on another machine"):
        explain_notice({"what": "twice", "refused": True})
    stays = explain_notice({"what": "twice", "refused": False, "address": "10.0.0.7\n"})
    assert "refused a second machine (address 10.0.0.7" in stays
    assert "\n" not in stays
    assert "is 2 days ahead of the server's" in explain_notice({"what": "clock", "seconds": 172800})
    assert explain_notice({"what": "hello\n"}).startswith("the server says: hello")


@pytest.mark.usefixtures("full")
def test_a_full_disk_of_the_server_is_named(server: Pretended, tmp_path: Path) -> None:
    with pytest.raises(FedclustError, match=r"the disk with .*\.run\.federation is full; free"):
        run(tmp_path)
    assert not server.jobs


def test_space_is_looked_for_where_a_folder_will_be(tmp_path: Path, full: None) -> None:
    with pytest.raises(FedclustError, match="is full; free space, then run the same command"):
        check_space([tmp_path / "a" / "b"])


def test_there_is_space_on_this_disk(tmp_path: Path) -> None:
    if os.statvfs(tmp_path).f_bavail * os.statvfs(tmp_path).f_frsize < 2 * signs.LEAST:
        pytest.skip("this disk is full")
    check_space([tmp_path])


def test_a_study_waits_for_a_client_whose_disk_is_full(server: Pretended, tmp_path: Path) -> None:
    """Two of three are enough for this study; the third is not in its job."""
    report(tmp_path / "kits" / "server", west={"disk": True})
    said = [line.get("message", "") for line in run(tmp_path)]
    assert "west: its disk is full; the study goes on with it once there is space" in said
    assert "connected: north, south (2 needed)" in said
    server.there = ["north", "west"]
    with pytest.raises(FedclustError, match="1 clients connected .*; west: its disk is full"):
        run(tmp_path, force=True)


def test_a_job_that_could_not_be_started_says_where(server: Pretended, tmp_path: Path) -> None:
    server.die_in_job = 1
    said = [line.get("message", "") for line in run(tmp_path)]
    early = next(text for text in said if text.startswith("the job ended early"))
    assert "(FINISHED:EXECUTION_EXCEPTION); it could not be started at west; submitting" in early
