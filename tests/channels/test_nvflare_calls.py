"""A request that is asked after: a client that works is waited for, and a silent one is not."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

pytest.importorskip("nvflare", reason="this is the part that needs fedclust[nvflare]")
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.shareable import Shareable, make_reply

from fedclust.channels.nvflare import BODY, STATE, TICKET
from fedclust.channels.nvflare import client as client_module
from fedclust.channels.nvflare.call import Call
from fedclust.channels.nvflare.client import SiteExecutor
from fedclust.channels.nvflare.desk import Desk, State

LONG = 60.0  # seconds; the deadline that nobody here should have to wait for
SILENCE = 0.4


class Network:
    """Executors in threads; a reply that takes longer than its request allows is lost."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, **answers: Callable[[bytes], bytes]
    ) -> None:
        monkeypatch.setattr(client_module, "_HOLD", 0.05)
        self.sites = {name: SiteExecutor() for name in answers}
        for name, answer in answers.items():
            self.sites[name]._desk = Desk(answer)
        self.sent: list[tuple[str, bool]] = []  # the client, and whether the request was sent
        self.lose: Callable[[str, Shareable], bool] = lambda name, message: False

    def send(
        self, clients: Sequence[str], message: Shareable, seconds: float
    ) -> Mapping[str, object]:
        replies: dict[str, object] = {}

        def one(name: str) -> None:
            reply = self.sites[name]._answer("", message, None)
            replies[name] = reply

        threads = []
        for name in clients:
            self.sent.append((name, BODY in message))
            if self.lose(name, message):
                continue
            threads.append(threading.Thread(target=one, args=(name,), daemon=True))
            threads[-1].start()
        end = time.monotonic() + seconds
        for thread in threads:
            thread.join(max(0.0, end - time.monotonic()))
        if len(replies) < len(clients):
            time.sleep(max(0.0, end - time.monotonic()))
        late = {name: make_reply(ReturnCode.TIMEOUT) for name in clients}
        return {**late, **replies}

    def call(self, *clients: str, seconds: float = LONG) -> dict[str, Any]:
        return dict(Call(self.send, clients, b"question", seconds, SILENCE).answers())


def test_quick_answers_need_one_message_each(monkeypatch: pytest.MonkeyPatch) -> None:
    there = Network(monkeypatch, north=bytes.upper, west=bytes.upper)
    assert there.call("north", "west") == {"north": b"QUESTION", "west": b"QUESTION"}
    assert there.sent == [("north", True), ("west", True)]


def test_a_client_that_works_is_waited_for_and_one_that_died_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The answer takes several times as long as silence may, and is computed once."""
    asked = []

    def slow(raw: bytes) -> bytes:
        asked.append(raw)
        time.sleep(5 * SILENCE)
        return b"done"

    there = Network(monkeypatch, north=slow, west=bytes.upper)
    there.lose = lambda name, message: name == "west"
    found = there.call("north", "west")
    assert found["north"] == b"done"
    assert found["west"].startswith("no sign of life for")
    assert asked == [b"question"]


def test_without_questions_about_the_answer_the_slow_client_would_be_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def slow(raw: bytes) -> bytes:
        time.sleep(5 * SILENCE)
        return b"done"

    there = Network(monkeypatch, north=slow)
    there.lose = lambda name, message: STATE in message
    assert there.call("north")["north"].startswith("no sign of life for")


def test_a_lost_request_is_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    there = Network(monkeypatch, north=bytes.upper)
    there.lose = lambda name, message: len(there.sent) == 1
    assert there.call("north") == {"north": b"QUESTION"}
    assert [sent for _, sent in there.sent] == [True, False, True]


def test_a_lost_answer_is_fetched_and_not_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def count(raw: bytes) -> bytes:
        asked.append(raw)
        return b"done"

    there = Network(monkeypatch, north=count)

    def lose(name: str, message: Shareable) -> bool:
        if len(there.sent) == 1:  # the client answers, and the answer is lost
            there.sites[name]._answer("", message, None)
            return True
        return False

    there.lose = lose
    assert there.call("north") == {"north": b"done"}
    assert asked == [b"question"]


def test_a_client_that_works_for_ever_ends_with_the_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stop = threading.Event()
    there = Network(monkeypatch, north=lambda raw: bytes(stop.wait(30)))
    assert there.call("north", seconds=3 * SILENCE) == {"north": "no answer in time"}
    stop.set()


def test_a_client_that_cannot_be_reached_is_given_up_at_once() -> None:
    sent = []

    def send(clients: Sequence[str], message: Shareable, seconds: float) -> Mapping[str, object]:
        sent.append(message[TICKET])
        return {"north": make_reply(ReturnCode.COMMUNICATION_ERROR)}

    assert dict(Call(send, ["north"], b"", LONG, SILENCE).answers()) == {
        "north": "cannot be reached"
    }
    assert len(sent) == 1


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
