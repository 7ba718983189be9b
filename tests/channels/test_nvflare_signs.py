"""Signs of clients: a second place is refused and both learn it; clocks and disks are reported."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nvflare", reason="needs fedclust[nvflare]")
from nvflare.fuel.f3.cellnet.defs import MessageHeaderKey, ReturnCode
from nvflare.fuel.f3.cellnet.utils import make_reply
from nvflare.fuel.f3.message import Message
from nvflare.private.defs import CellChannelTopic, CellMessageHeaderKeys
from nvflare.private.fed.server.fed_server import FederatedServer

from fedclust.channels.nvflare import signs


class Machine:
    """A client's engine in a folder, which talks to a server in this process."""

    def __init__(self, kit: Path, clients: signs.Clients, name: str = "west") -> None:
        self.kit, self.name = kit, name
        kit.mkdir(parents=True, exist_ok=True)
        handle = clients.guarded(lambda server, request: make_reply(ReturnCode.OK))
        self.left = 0
        self._send = signs.with_signs(
            lambda cell, **values: handle(None, values["request"]), kit, self._leave
        )

    def _leave(self) -> None:
        self.left += 1

    def beat(self, topic: str = CellChannelTopic.HEART_BEAT) -> str:
        headers = {
            CellMessageHeaderKeys.CLIENT_NAME: self.name,
            CellMessageHeaderKeys.CLIENT_IP: f"address of {self.kit.name}",
        }
        reply = self._send(None, topic=topic, request=Message(headers))
        return str(reply.get_header(MessageHeaderKey.RETURN_CODE))

    def notices(self) -> list[dict[str, Any]]:
        path = self.kit / signs.NOTICES
        lines = path.read_text().splitlines() if path.exists() else []
        return [{k: v for k, v in json.loads(line).items() if k != "when"} for line in lines]


class Passing:
    """Time that passes when a test says so, and shows another time of day if it says so."""

    def __init__(self) -> None:
        self.now, self.shift = 1_000.0, 0.0

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return self.now + self.shift


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Passing:
    made = Passing()
    monkeypatch.setattr(signs, "time", made)
    return made


@pytest.fixture
def clients(tmp_path: Path) -> signs.Clients:
    return signs.Clients(tmp_path / signs.REPORT)


def reported(tmp_path: Path) -> Any:
    path = tmp_path / signs.REPORT
    return json.loads(path.read_text()) if path.exists() else {}


def test_a_second_place_is_refused_and_both_learn_it(
    tmp_path: Path, clients: signs.Clients, clock: Passing
) -> None:
    first, second = Machine(tmp_path / "one", clients), Machine(tmp_path / "two", clients)
    assert first.beat(CellChannelTopic.Register) == ReturnCode.OK
    assert second.beat(CellChannelTopic.Register) == ReturnCode.UNAUTHENTICATED
    assert second.beat() == ReturnCode.UNAUTHENTICATED
    assert second.notices() == [{"what": "twice", "refused": True}]
    assert second.left == 0, "its command ends with this reason"
    assert first.beat() == ReturnCode.OK
    found = {"what": "twice", "refused": False, "address": "address of two"}
    assert first.notices() == [found]
    assert first.beat() == ReturnCode.OK
    assert first.notices() == [found], "it is said once"
    assert reported(tmp_path) == {"west": {"twice": "address of two"}}


@pytest.mark.parametrize(
    ("codes", "left"),
    [
        ([ReturnCode.OK, ReturnCode.TIMEOUT, ReturnCode.OK, ReturnCode.TIMEOUT], 0),
        ([ReturnCode.TIMEOUT, ReturnCode.TIMEOUT], 1),
        ([ReturnCode.TIMEOUT, ReturnCode.TARGET_UNREACHABLE, ReturnCode.TIMEOUT], 0),
        ([ReturnCode.UNAUTHENTICATED], 1),
        ([None, None, None], 0),
    ],
)
def test_a_client_that_its_server_does_not_know_registers_again(
    codes: list[str | None], left: int
) -> None:
    """A server with renewed keys answers no heartbeat; one that revoked a kit refuses it."""
    calls: list[int] = []
    beats = signs.Beats(lambda: calls.append(1))
    for code in codes:
        beats.note(None if code is None else make_reply(code))
    assert len(calls) == left


def test_an_engine_with_a_job_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    monkeypatch.setattr("os._exit", ended.append)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE):
        signs.end_to_register_again()
    assert ended == []
    signs.end_to_register_again()
    assert ended == [signs.AGAIN]


def test_a_client_that_moves_or_starts_again_is_welcome(
    tmp_path: Path, clients: signs.Clients, clock: Passing
) -> None:
    old, new = Machine(tmp_path / "old", clients), Machine(tmp_path / "new", clients)
    for topic in (CellChannelTopic.Register, CellChannelTopic.HEART_BEAT):
        assert old.beat(topic) == ReturnCode.OK
        assert Machine(old.kit, clients).beat(topic) == ReturnCode.OK
    clock.now += 11  # the old one has been stopped
    assert new.beat(CellChannelTopic.Register) == ReturnCode.OK
    assert old.beat() == ReturnCode.UNAUTHENTICATED, "and may not come back"
    assert not (new.kit / signs.NOTICES).exists()


def test_other_clients_and_older_ones_are_not_compared(
    tmp_path: Path, clients: signs.Clients, clock: Passing
) -> None:
    assert Machine(tmp_path / "one", clients).beat() == ReturnCode.OK
    assert Machine(tmp_path / "two", clients, "south").beat() == ReturnCode.OK
    handle = clients.guarded(lambda server, request: make_reply(ReturnCode.OK))
    without = Message({CellMessageHeaderKeys.CLIENT_NAME: "west"})
    assert handle(None, without).get_header(MessageHeaderKey.RETURN_CODE) == ReturnCode.OK


def test_a_refused_request_leaves_no_trace(
    tmp_path: Path, clients: signs.Clients, clock: Passing
) -> None:
    """Who is rejected by the engine itself cannot take a client's place."""
    refuse = clients.guarded(lambda server, request: make_reply(ReturnCode.UNAUTHENTICATED, "no"))
    kit, left = tmp_path / "x", list[int]()
    send = signs.with_signs(
        lambda cell, **values: refuse(None, values["request"]), kit, lambda: left.append(1)
    )
    kit.mkdir()
    headers = {CellMessageHeaderKeys.CLIENT_NAME: "west"}
    send(None, topic=CellChannelTopic.HEART_BEAT, request=Message(headers))
    assert left == [1]
    assert Machine(tmp_path / "one", clients).beat() == ReturnCode.OK


def test_a_clock_that_is_wrong_is_reported_until_it_is_right(
    tmp_path: Path, clients: signs.Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, server = Passing(), Passing()
    machine = Machine(tmp_path / "one", clients)

    def beat() -> None:
        """The same module runs on both sides here; they see different clocks."""
        times = iter((client.time(), server.time()))
        both = Passing()
        both.time = lambda: next(times, server.time())  # type: ignore[method-assign]
        monkeypatch.setattr(signs, "time", both)
        machine.beat()

    beat()
    assert reported(tmp_path) == {}
    client.shift = -180
    beat()
    client.shift = -181
    beat()
    assert reported(tmp_path) == {"west": {"clock": -180}}, "it is written once"
    assert machine.notices() == [{"what": "clock", "seconds": -180}]
    client.shift = 59
    beat()
    assert reported(tmp_path) == {"west": {}}


def test_a_full_disk_is_reported_until_there_is_space(
    tmp_path: Path, clients: signs.Clients, clock: Passing, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(tmp_path / "one", clients)
    monkeypatch.setattr(signs, "is_full", lambda folder: True)
    machine.beat()
    assert reported(tmp_path) == {"west": {"disk": True}}
    monkeypatch.setattr(signs, "is_full", lambda folder: False)
    machine.beat()
    assert reported(tmp_path) == {"west": {}}


def test_reports_of_an_earlier_server_are_gone(tmp_path: Path) -> None:
    (tmp_path / signs.REPORT).write_text('{"west": {"disk": true}}')
    signs.Clients(tmp_path / signs.REPORT)
    assert reported(tmp_path) == {}


def test_other_requests_are_passed_on_as_they_are(tmp_path: Path) -> None:
    message = Message({})
    send = signs.with_signs(lambda cell, **values: values["request"], tmp_path, lambda: None)
    assert send(None, topic="get_task", request=message) is message
    assert not message.headers
    lost = signs.with_signs(lambda cell, **values: None, tmp_path, lambda: None)
    assert lost(None, topic=CellChannelTopic.HEART_BEAT, request=message) is None


def test_a_place_is_a_machine_and_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = signs.place_of(tmp_path)
    assert here == signs.place_of(tmp_path)
    assert here != signs.place_of(tmp_path / "copy")
    monkeypatch.setattr("socket.gethostname", lambda: "another")
    assert here != signs.place_of(tmp_path)
    assert "another" not in signs.place_of(tmp_path)


def test_a_command_that_reads_names_does_not_load_the_engine() -> None:
    """NVFlare takes 25 MB, and a command that waits beside a client for days needs none of it."""
    code = (
        "import sys, fedclust.deploy.run_client, fedclust.channels.nvflare.signs as signs;"
        "signs.is_full('.'); sys.exit('nvflare' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_what_is_guarded_exists_in_this_version() -> None:
    assert callable(FederatedServer.register_client)
    assert callable(FederatedServer.client_heartbeat)
