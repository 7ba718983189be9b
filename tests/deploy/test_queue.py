"""Studies on the same kits run one after another, are on record, and can be cancelled."""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fedclust.cli import app
from fedclust.core import ConfigError, FedclustError
from fedclust.deploy.queue import Outcome, cancel, list_queue, read_history, take_turn

from ..support.pretended import Pretended, run

pytest.importorskip("nvflare", reason="studies across machines need fedclust[nvflare]")

WAITS = """
import sys, time
from pathlib import Path
from fedclust.cli.signals import exit_on_signals
from fedclust.deploy.queue import take_turn
admin, study, order = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
with exit_on_signals(), take_turn(admin, study, Path("run"), print):
    with open(order, "a") as file:
        file.write(study + "\\n")
    while not (admin / f"end-{study}").exists():
        time.sleep(0.05)
"""


@contextlib.contextmanager
def others(admin: Path, *studies: str) -> Iterator[list["subprocess.Popen[str]"]]:
    """Processes that enter the queue one after another and stay until a file says so."""
    started: list[subprocess.Popen[str]] = []
    try:
        for study in studies:
            words = [sys.executable, "-c", WAITS, str(admin), study, str(admin / "order")]
            started.append(subprocess.Popen(words, stdout=subprocess.PIPE, text=True))
            wait_until(lambda: len(list_queue(admin)) == len(started))
        yield started
    finally:
        for process in started:
            process.kill()
            process.communicate()


def wait_until(true: object, seconds: float = 180.0) -> None:
    end = time.monotonic() + seconds
    while not true():  # type: ignore[operator]
        assert time.monotonic() < end
        time.sleep(0.05)


def test_studies_run_in_the_order_of_their_commands(tmp_path: Path) -> None:
    with others(tmp_path, "a", "b", "c") as processes:
        wait_until((tmp_path / "order").exists)
        assert [ticket.study for ticket in list_queue(tmp_path)] == ["a", "b", "c"]
        for study in "abc":
            (tmp_path / f"end-{study}").touch()
        said = [process.communicate(timeout=180)[0] for process in processes]
    assert (tmp_path / "order").read_text() == "a\nb\nc\n"
    assert said[0] == ""
    assert "waiting for the study 'a', which runs on the same kits" in said[1]
    assert [(e.study, e.outcome) for e in read_history(tmp_path)] == [
        (study, Outcome.FINISHED) for study in "abc"
    ]


def test_a_killed_command_does_not_block_the_others(tmp_path: Path) -> None:
    with others(tmp_path, "a", "b") as (first, second):
        wait_until((tmp_path / "order").exists)
        first.kill()
        first.wait()
        (tmp_path / "end-b").touch()
        assert second.wait(timeout=180) == 0
    with take_turn(tmp_path, "c", tmp_path, print):
        assert [ticket.study for ticket in list_queue(tmp_path)] == ["c"]
        assert len(list((tmp_path / "queue").glob("*.json"))) == 1
    assert [e.study for e in read_history(tmp_path)] == ["b", "c"]


def test_a_study_that_runs_or_waits_can_be_cancelled(tmp_path: Path) -> None:
    with others(tmp_path, "a", "b") as (first, second):
        wait_until((tmp_path / "order").exists)
        cancel(tmp_path, "b")
        assert second.wait(timeout=180) != 0
        cancel(tmp_path, "a")
        assert first.wait(timeout=180) != 0
    assert {(e.study, e.outcome) for e in read_history(tmp_path)} == {
        ("a", Outcome.INTERRUPTED),
        ("b", Outcome.INTERRUPTED),
    }
    assert (tmp_path / "order").read_text() == "a\n"
    with pytest.raises(ConfigError, match="no study 'a' runs or waits on these kits"):
        cancel(tmp_path, "a")


def test_a_process_that_got_the_id_of_a_dead_one_is_not_taken_for_it(tmp_path: Path) -> None:
    with take_turn(tmp_path, "a", tmp_path, print):
        (path,) = (tmp_path / "queue").glob("*.json")
        ticket = json.loads(path.read_text())
        assert ticket["pid"] == os.getpid()
        path.write_text(json.dumps({**ticket, "started": 0.0}))
        assert list_queue(tmp_path) == []


def test_a_failed_study_is_on_record_with_its_reason(tmp_path: Path) -> None:
    with pytest.raises(FedclustError), take_turn(tmp_path, "a", tmp_path, print):
        raise FedclustError("too few clients")
    (entry,) = read_history(tmp_path)
    assert (entry.outcome, entry.why) == (Outcome.FAILED, "too few clients")
    (tmp_path / "studies.jsonl").write_text('{"half\n' + (tmp_path / "studies.jsonl").read_text())
    assert read_history(tmp_path) == [entry]


def test_the_command_lists_and_cancels(server: Pretended, tmp_path: Path) -> None:
    run(tmp_path)
    kits = str(tmp_path / "kits")
    done = CliRunner().invoke(app, ["studies", "--kits", kits, "--json"])
    (ended,) = json.loads(done.stdout)["ended"]
    assert (ended["study"], ended["outcome"]) == ("s", "finished")
    assert ended["folder"] == str(tmp_path / "run")
    shown = CliRunner().invoke(app, ["studies", "--kits", kits], env={"COLUMNS": "300"})
    assert "finished" in shown.stdout
    with others(tmp_path / "kits" / "admin", "a", "b") as processes:
        shown = CliRunner().invoke(app, ["studies", "--kits", kits], env={"COLUMNS": "300"})
        assert "runs" in shown.stdout
        assert "waits, 1 before it" in shown.stdout
        done = CliRunner().invoke(app, ["studies", "--kits", kits, "--cancel", "b"])
        assert "Interrupted 'b'; continue it with --resume." in done.stdout
        assert processes[1].wait(timeout=180) != 0
