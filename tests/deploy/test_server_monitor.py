"""What monitoring sees of a study that a server runs."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from fedclust.core import FedclustError
from fedclust.deploy.coordinator import run_federated
from fedclust.deploy.events import EventLog, LogFormat
from fedclust.deploy.exposition import render
from fedclust.deploy.kits import read_kit
from fedclust.deploy.quorum import RunOptions
from fedclust.deploy.server_monitor import ServerMonitor

from ..support.clock import Clock
from ..support.pretended import QUICK, STUDY, Pretended, study
from .test_monitor import parse

pytest.importorskip("nvflare", reason="the pretended parts replace those of NVFlare")
PAGE = Path(__file__).parents[2] / "docs" / "monitoring.md"


def monitored(tmp_path: Path, text: str = STUDY) -> ServerMonitor:
    """Run a study, and return what its monitor has seen."""
    kits = tmp_path / "kits"
    log = EventLog(kits / "server" / "fedclust.log", LogFormat.JSON)
    monitor = ServerMonitor(read_kit(kits / "server", "server"), "s", log)
    with monitor.running():
        run_federated(
            study(tmp_path, text), kits, tmp_path / "run", QUICK, monitor.take,
            resume=False, force=False,
        )  # fmt: skip
    return monitor


def events(tmp_path: Path) -> list[dict[str, Any]]:
    lines = (tmp_path / "kits" / "server" / "fedclust.log").read_text().splitlines()
    return [json.loads(line) for line in lines]


def test_a_study_is_logged_and_counted(server: Pretended, tmp_path: Path) -> None:
    monitor = monitored(tmp_path)
    found, seen = parse(render(monitor.families())), events(tmp_path)
    rounds = [e for e in seen if e["event"] == "round"]
    assert (seen[0]["event"], seen[-1]["event"]) == ("started", "finished")
    assert [e["client"] for e in seen if e["event"] == "connected"] == ["north", "south", "west"]
    assert found["fedclust_server_clients"] == {(): 3}
    assert found["fedclust_server_jobs_total"] == {(): 1}
    assert found["fedclust_server_rounds_total"] == {(): len(rounds)}
    assert found["fedclust_server_received_bytes_total"] == {(): sum(e["received"] for e in rounds)}
    assert found["fedclust_server_received_bytes_total"][()] > 1_000
    assert found["fedclust_server_client_connected"][(("client", "west"),)] == 1
    assert monitor.health().ok


def test_incidents_are_counted_by_client(server: Pretended, tmp_path: Path) -> None:
    server.ready = ("north", "south")
    found = parse(render(monitored(tmp_path).families()))
    assert found["fedclust_server_incidents_total"] == {(("client", "west"),): 1}
    (incident,) = (e for e in events(tmp_path) if e["event"] == "incident")
    assert incident["client"] == "west"
    assert incident["text"] == "its job process did not start in time"


def test_a_failure_is_logged_with_its_reason(server: Pretended, tmp_path: Path) -> None:
    server.there = ["north"]
    with pytest.raises(FedclustError, match="1 clients connected"):
        monitored(tmp_path)
    assert events(tmp_path)[-1]["event"] == "failed"
    assert "1 clients connected" in events(tmp_path)[-1]["text"]


def test_all_known_clients_end_the_wait_and_an_unknown_number_does_not(
    server: Pretended, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The grace for further clients is for federations whose clients are not known."""
    clock = Clock()
    monkeypatch.setattr("fedclust.deploy.quorum.time", clock)
    options, took = RunOptions(5.0, 5.0, grace=3.0, attempts=1), []
    for known in (False, True):
        if known:
            keys = dict.fromkeys(("north", "south", "west"), "00" * 32)
            (tmp_path / "kits" / "admin" / "peers.json").write_text(json.dumps(keys))
        start = clock.now
        run_federated(
            study(tmp_path), tmp_path / "kits", tmp_path / f"run{known}", options, lambda line: 0,
            resume=False, force=False,
        )  # fmt: skip
        took.append(clock.now - start)
    assert took[0] == pytest.approx(3.0, abs=0.3)
    assert took[1] == 0.0


def test_the_page_names_every_metric() -> None:
    page = PAGE.read_text()
    source = Path(__file__).parents[2] / "src" / "fedclust" / "deploy"
    for side in ("client", "server"):
        text = (source / f"{side}_monitor.py").read_text()
        gauges = re.findall(r'yield "(\w+)", "[A-Z]', text.split("def _counters")[0])
        counters = re.findall(r'yield "(\w+)", "[A-Z]', text)
        named = re.findall(r'\{_PREFIX\}_(\w+)"', text)
        for name in {*gauges, *counters, *named}:
            assert re.search(rf"\| `fedclust_{side}_{name}(_total)?(\{{\w+[\w,]*\}})?` \|", page), (
                name
            )


def test_bytes_are_those_of_the_history(server: Pretended, tmp_path: Path) -> None:
    monitored(tmp_path)
    rounds = [e for e in events(tmp_path) if e.get("kind") == "llf-fcm" and e["event"] == "round"]
    history = (tmp_path / "run" / "history.jsonl").read_text().splitlines()
    for event, line in zip(rounds[-len(history) :], map(json.loads, history), strict=True):
        assert (event["sent"], event["received"]) == (line["bytes_down"], line["bytes_up"])
