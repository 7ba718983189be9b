"""Monitoring of real processes: metrics while a study runs, and events of both sides after it."""

import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

pytest.importorskip("nvflare", reason="studies across machines need fedclust[nvflare]")
from ..deploy.test_monitor import parse
from .processes import CLIENTS, Command, Federation, federation, wait_for


@pytest.fixture
def fed(tmp_path: Path) -> Iterator[Federation]:
    with federation(tmp_path) as made:
        yield made


def value(port: int, name: str) -> float:
    """The sum of a client's samples of this name; -1 if there are none."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=120) as reply:
        found = parse(reply.read().decode()).get(f"fedclust_client_{name}")
    return sum(found.values()) if found else -1.0


def listens(command: Command) -> set[str]:
    """Addresses on which any process of a command accepts connections."""
    open_ports = [c for p in command.family() for c in p.net_connections("tcp")]
    return {c.laddr.ip for c in open_ports if c.status == psutil.CONN_LISTEN}


def test_a_client_is_monitored_while_its_study_runs(fed: Federation) -> None:
    study = fed.write_study('algorithm = "llf-fcm"\ntol = 0.0\nmax_rounds = 60')
    words = ("--metrics-port", "0", "--log-format", "json")
    clients = []
    for name in CLIENTS:  # one after another: programs that start are slow
        clients.append(fed.command(name, "client", str(fed.kit(name)), *words))
        clients[-1].says("connecting to")
    port = int(re.findall(r":(\d+)/", clients[0].says(r"metrics: http://127.0.0.1:\d+/"))[0])
    assert value(port, "connected") == 0
    server = fed.server(study, "--log-format", "json")
    wait_for(lambda: value(port, "connected") == 1, "the connection")
    wait_for(lambda: value(port, "answers_total") > 0, "the first answer")
    assert listens(clients[0]) == {"127.0.0.1"}
    assert server.ends() == 0, server.said()
    kit = fed.kit(CLIENTS[0])
    lines = [json.loads(line) for line in (kit / "disclosures.jsonl").read_text().splitlines()]
    wait_for(lambda: value(port, "answers_total") == len(lines), "all answers")
    assert value(port, "sent_bytes_total") == sum(line["bytes"] for line in lines)
    assert value(port, "queries") == lines[-1]["queries"]
    wait_for(lambda: value(port, "connected") == 0, "the end of the connection")
    for command in clients:
        command.stop()
    with pytest.raises(urllib.error.URLError):
        value(port, "connected")
    events = [json.loads(line) for line in (kit / "fedclust.log").read_text().splitlines()]
    seen = [event["event"] for event in events]
    assert (seen[0], seen[-1]) == ("started", "stopped")
    assert seen.count("answered") == len(lines)
    reported = (fed.folder / "kits" / "server" / "fedclust.log").read_text().splitlines()
    rounds = [event for event in map(json.loads, reported) if event["event"] == "round"]
    history = (fed.folder / "study-run" / "history.jsonl").read_text().splitlines()
    last = [e["round"] for e in rounds if e["kind"] == "llf-fcm"][-len(history) :]
    assert last == [json.loads(line)["round"] for line in history]
    assert len(last) > 5
    assert json.loads(reported[-1])["event"] == "finished"
