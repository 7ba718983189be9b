"""What monitoring sees of a client: from real replies and refusals, and without private details."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from fedclust.channels import RemoteChannel
from fedclust.client.config import read_client_config
from fedclust.client.disclosures import read_disclosures
from fedclust.core import ConfigError
from fedclust.deploy.client_monitor import CONTACT_LIMIT, ClientMonitor
from fedclust.deploy.events import EventLog, LogFormat
from fedclust.deploy.exposition import render
from fedclust.deploy.kits import read_kit
from fedclust.study.read import read_study

from ..support.in_process import FEDERATION, InProcess, run_across, write_kits
from .test_monitor import parse

pytest.importorskip("nvflare", reason="clients need fedclust[nvflare]")

LOG = "disclosures.jsonl"
STUDY = """
[clustering]
algorithm = "llf-fcm"
n_clusters = 3
max_rounds = 5
[privacy]
tier = "none"
[outputs]
report = false
"""


class Watched:
    """Three clients that take part in a study, one of which is monitored."""

    def __init__(self, folder: Path, consent: str = "") -> None:
        self.folder, self.kit = folder, folder / "north"
        self.sites = write_kits(folder, consent)
        about = {"role": "client", "name": "north", "federation": FEDERATION}
        (self.kit / "fedclust.json").write_text(json.dumps(about))
        config = read_client_config(self.kit / "client.toml")
        log = EventLog(self.kit / "fedclust.log", LogFormat.JSON)
        self.monitor = ClientMonitor(read_kit(self.kit, "client"), config, log)

    def run(self) -> None:
        (self.folder / "s.toml").write_text(STUDY)
        study = read_study(self.folder / "s.toml", files=False)
        channel = RemoteChannel(InProcess(self.sites), run="abc123", about={"study": "s"})
        run_across(study, channel, self.folder / "run")

    def events(self) -> list[dict[str, Any]]:
        lines = (self.kit / "fedclust.log").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def value(self, name: str, **labels: str) -> float | None:
        found = parse(render(self.monitor.families()))
        return found.get(f"fedclust_client_{name}", {}).get(tuple(labels.items()))


def test_replies_are_counted_as_the_log_of_disclosures_has_them(tmp_path: Path) -> None:
    north = Watched(tmp_path)
    with north.monitor.running():
        north.run()
    lines = list(read_disclosures(north.kit / LOG))
    assert north.value("answers_total") == len(lines) > 8
    assert north.value("sent_bytes_total") == sum(line["bytes"] for line in lines) > 1_000
    assert north.value("received_bytes_total") == sum(line["received"] for line in lines) > 1_000
    assert north.value("queries") == lines[-1]["queries"]
    assert north.value("queries_left") == 1_000 - lines[-1]["queries"]
    assert north.value("epsilon_spent") is None
    assert north.value("last_answer_time_seconds") == pytest.approx(time.time(), abs=60)
    first, *answered, last = north.events()
    assert (first["event"], last["event"]) == ("started", "stopped")
    assert [e["event"] for e in answered] == ["answered"] * len(lines)
    assert {e["study"] for e in answered} == {"s"}
    assert {e["run"] for e in answered} == {"abc123"}
    rounds = [e["round"] for e in answered if e["kind"] == "llf-fcm"]
    assert rounds == list(range(len(rounds)))
    assert len(rounds) > 2


def test_refusals_are_counted_by_code_and_logged_once(tmp_path: Path) -> None:
    north = Watched(tmp_path, 'algorithms = ["llf-cm"]\nepsilon = 2.0')
    for _ in range(3):
        with pytest.raises(Exception, match="algorithms"):
            north.run()
        north.monitor.look()
    assert north.value("refusals_total", code="consent") == 3
    assert north.value("epsilon_spent") == 0.0
    assert north.value("epsilon_limit") == 2.0
    refused = [e for e in north.events() if e["event"] == "refused"]
    assert len(refused) == 1
    assert refused[0]["code"] == "consent"
    assert refused[0]["level"] == "warning"


def test_events_and_metrics_have_no_row_path_or_private_detail(tmp_path: Path) -> None:
    """The data are broken in a way whose private part names file, line and value."""
    north = Watched(tmp_path)
    data = (north.kit / "people.csv").read_text().splitlines()
    data[3] = data[3].rpartition(",")[0] + ",quollsecret"
    (north.kit / "people.csv").write_text("\n".join(data) + "\n")
    with north.monitor.running():
        north.run()  # the others are enough
    assert "width: stray-values" in (north.kit / LOG).read_text()  # the problem was met
    shown = render(north.monitor.families()) + (north.kit / "fedclust.log").read_text()
    for private in ("quoll", "secret", "people.csv", "north1", str(tmp_path), *data[1].split(",")):
        assert private not in shown


def test_a_heartbeat_that_was_answered_is_a_connection(tmp_path: Path) -> None:
    north = Watched(tmp_path)
    assert north.value("connected") == 0
    assert north.value("last_contact_time_seconds") is None
    (north.kit / "contact").touch()
    north.monitor.look()
    assert north.value("connected") == 1
    assert north.monitor.health().state["connected"] is True
    old = time.time() - CONTACT_LIMIT - 1
    north.monitor._started = old - 1
    os.utime(north.kit / "contact", (old, old))
    north.monitor.look()
    north.monitor.look()
    assert north.value("connected") == 0
    assert [e["event"] for e in north.events()] == ["connected", "disconnected"]


def test_a_contact_of_an_earlier_start_is_none_now(tmp_path: Path) -> None:
    north = Watched(tmp_path)
    (north.kit / "contact").touch()
    north.monitor._started = time.time() + 5
    assert north.value("connected") == 0


def test_the_end_is_logged_with_its_reason(tmp_path: Path) -> None:
    north = Watched(tmp_path)
    with pytest.raises(ConfigError), north.monitor.running():
        raise ConfigError("the coordinator revoked it")
    assert [e["event"] for e in north.events()] == ["started", "failed", "stopped"]
    assert north.events()[1]["text"] == "the coordinator revoked it"


def test_a_client_without_a_usable_certificate_or_log_is_not_healthy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    north = Watched(tmp_path)
    assert not north.monitor.health().ok  # this kit has no certificate
    assert north.value("certificate_days") == -1
    monkeypatch.setattr(ClientMonitor, "_days_left", lambda self: 200)
    assert north.monitor.health().ok
    north.monitor._looked -= 60
    assert not north.monitor.health().ok
    north.monitor.look()
    assert north.monitor.health().ok
    with monkeypatch.context() as filled:
        filled.setattr("fedclust.channels.nvflare.signs.is_full", lambda folder: True)
        assert not north.monitor.health().ok
        assert "is full; no study can use this client" in str(north.monitor.look())
    assert north.monitor.look() is None
    (north.kit / "fedclust.log").mkdir()
    with north.monitor.running():
        pass
    assert not north.monitor.health().ok
