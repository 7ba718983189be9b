"""A request that is asked after: a client that works is waited for, and a silent one is not."""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

pytest.importorskip("nvflare", reason="this is the part that needs fedclust[nvflare]")
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.shareable import Shareable, make_reply

from fedclust.channels.nvflare import BODY, STATE, TICKET, call
from fedclust.channels.nvflare import client as client_module
from fedclust.channels.nvflare.call import Call
from fedclust.channels.nvflare.client import SiteExecutor
from fedclust.channels.nvflare.desk import Desk, State

from ..support.clock import Clock

DEADLINE, SILENCE = 120.0, 10.0
HOLD = 1.0  # seconds for which a client holds a question about its work


class Network:
    """Clients that take some seconds for an answer; a reply that comes too late is lost."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **seconds: float) -> None:
        self.clock = Clock()
        monkeypatch.setattr(call, "time", self.clock)
        self.takes = seconds
        self.ends: dict[str, float] = {}  # when the work of a client is done
        self.begun: list[str] = []  # clients, once for every answer that they computed
        self.sent: list[tuple[str, bool]] = []  # the client, and whether the request was sent
        self.lose: Callable[[str, Shareable], bool] = lambda name, message: False
        self.lose_reply = self.lose

    def send(
        self, clients: Sequence[str], message: Shareable, seconds: float
    ) -> Mapping[str, object]:
        replies, longest = {}, 0.0
        for name in clients:
            self.sent.append((name, BODY in message))
            reply, needs = self.reply(name, message)
            if reply is None or needs > seconds or self.lose_reply(name, message):
                reply, needs = make_reply(ReturnCode.TIMEOUT), seconds
            replies[name], longest = reply, max(longest, needs)
        self.clock.now += longest
        return replies

    def reply(self, name: str, message: Shareable) -> tuple[Shareable | None, float]:
        """What a client replies, and after how many seconds."""
        if self.lose(name, message):
            return None, 0.0
        reply = make_reply(ReturnCode.OK)
        if STATE in message:
            reply[STATE] = self.state(name)
            return reply, HOLD if reply[STATE] == State.WORKING else 0.0
        if name not in self.ends:
            self.begun.append(name)
            self.ends[name] = self.clock.now + self.takes[name]
        reply[BODY] = b"done"
        return reply, max(0.0, self.ends[name] - self.clock.now)

    def state(self, name: str) -> str:
        if name not in self.ends:
            return State.UNKNOWN
        return State.DONE if self.ends[name] <= self.clock.now + HOLD else State.WORKING

    def call(self, deadline: float = DEADLINE) -> tuple[dict[str, Any], float]:
        """The answers, and how many seconds passed."""
        start = self.clock.now
        found = dict(Call(self.send, [*self.takes], b"question", deadline, SILENCE).answers())
        return found, self.clock.now - start


def test_quick_answers_need_one_message_each(monkeypatch: pytest.MonkeyPatch) -> None:
    there = Network(monkeypatch, north=0.02, west=0.02)
    assert there.call()[0] == {"north": b"done", "west": b"done"}
    assert there.sent == [("north", True), ("west", True)]


def test_a_client_that_works_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer takes several times as long as silence may, and is computed once."""
    there = Network(monkeypatch, north=7 * SILENCE, west=0.02)
    assert there.call()[0] == {"north": b"done", "west": b"done"}
    assert sorted(there.begun) == ["north", "west"]


def test_a_client_that_died_costs_seconds_and_not_the_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    there = Network(monkeypatch, north=0.02, west=0.02)
    there.lose = lambda name, message: name == "west"
    found, seconds = there.call()
    assert found == {"north": b"done", "west": "no sign of life for 15 seconds"}
    assert seconds < 2 * SILENCE


def test_a_client_that_dies_at_work_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    there = Network(monkeypatch, north=7 * SILENCE)
    start = there.clock.now
    there.lose = lambda name, message: there.clock.now > start + 3 * SILENCE
    found, seconds = there.call()
    assert found["north"].startswith("no sign of life for")
    assert seconds < 5 * SILENCE


def test_without_questions_about_the_answer_the_slow_client_would_be_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    there = Network(monkeypatch, north=7 * SILENCE)
    there.lose = lambda name, message: STATE in message
    assert there.call()[0]["north"].startswith("no sign of life for")


def test_a_lost_request_is_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    there = Network(monkeypatch, north=0.02)
    there.lose = lambda name, message: len(there.sent) == 1
    assert there.call()[0] == {"north": b"done"}
    assert [sent for _, sent in there.sent] == [True, False, True]


def test_a_lost_answer_is_fetched_and_not_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    there = Network(monkeypatch, north=0.02)
    there.lose_reply = lambda name, message: len(there.sent) == 1
    assert there.call()[0] == {"north": b"done"}
    assert there.begun == ["north"]


def test_a_client_that_works_for_ever_ends_with_the_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    there = Network(monkeypatch, north=1e9, west=0.02)
    found, seconds = there.call()
    late = "still at work after 120 seconds, the deadline"
    assert found == {"north": late, "west": b"done"}
    assert DEADLINE <= seconds < DEADLINE + SILENCE


@pytest.mark.parametrize("deadline", [6.0, SILENCE, 1.2 * SILENCE])
def test_slow_and_dead_clients_differ_under_a_short_deadline(
    deadline: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = Network(monkeypatch, north=1e9, west=0.02)
    there.lose = lambda name, message: name == "west"
    found, seconds = there.call(deadline)
    assert found["north"] == f"still at work after {deadline:.0f} seconds, the deadline"
    assert found["west"].startswith("no sign of life for")
    assert seconds < deadline + HOLD


def test_a_client_that_the_engine_cannot_reach_is_given_up_at_once() -> None:
    """The engine notices a closed connection itself."""
    sent = []

    def send(clients: Sequence[str], message: Shareable, seconds: float) -> Mapping[str, object]:
        sent.append(message[TICKET])
        return {"north": make_reply(ReturnCode.COMMUNICATION_ERROR)}

    found = dict(Call(send, ["north"], b"", DEADLINE, SILENCE).answers())
    assert found == {"north": "cannot be reached"}
    assert len(sent) == 1


# The other side: the desk of a client


def test_a_client_at_work_says_so_and_answers_a_copy_of_its_request_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(client_module, "_HOLD", 0.01)
    begun, go_on, asked, found = threading.Event(), threading.Event(), [], []

    def work(raw: bytes) -> bytes:
        asked.append(raw)
        begun.set()
        assert go_on.wait(30)
        return b"done"

    site = SiteExecutor()
    site._desk = Desk(work)

    def ask(**message: Any) -> Any:
        request = Shareable()
        request.update({TICKET: "1", **message})
        return site._answer("", request, None)

    assert ask(**{STATE: True})[STATE] == State.UNKNOWN
    requests = [
        threading.Thread(target=lambda: found.append(ask(**{BODY: b"question"})[BODY]))
        for _ in range(2)
    ]
    requests[0].start()
    assert begun.wait(30)
    requests[1].start()
    assert ask(**{STATE: True})[STATE] == State.WORKING
    go_on.set()
    for request in requests:
        request.join(30)
    assert ask(**{STATE: True})[STATE] == State.DONE
    assert found == [b"done", b"done"]
    assert asked == [b"question"]


def test_an_error_of_a_request_is_that_of_its_copy() -> None:
    def fail(raw: bytes) -> bytes:
        raise ValueError(raw.decode())

    desk = Desk(fail)
    for body in (b"first", b"copy"):
        with pytest.raises(ValueError, match="first"):
            desk.ask("1", body)
    assert desk.state("1", 0.0) is State.DONE
    assert desk.state("2", 0.0) is State.UNKNOWN
    with pytest.raises(ValueError, match="second"):
        desk.ask("2", b"second")
