"""Deadlines that follow the measured rounds."""

import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from fedclust.channels import RemoteChannel
from fedclust.channels.pace import Pace


def test_a_deadline_follows_the_rounds_of_its_kind() -> None:
    pace = Pace(120.0)
    for seconds in (0.02, 0.02):
        pace.note("fcm", seconds)
    assert pace.deadline("fcm") == 120.0, "two rounds say too little"
    pace.note("fcm", 2.0)
    assert pace.deadline("fcm") == 40.0
    assert pace.deadline("preflight") == 120.0
    for _ in range(10):
        pace.note("fcm", 0.02)
    assert pace.deadline("fcm") == 10.0
    pace.note("fcm", 100.0)
    assert pace.deadline("fcm") == 120.0


def test_a_deadline_is_never_longer_than_the_chosen_one() -> None:
    pace = Pace(3.0)
    for _ in range(5):
        pace.note("fcm", 1.0)
    assert pace.deadline("fcm") == 3.0


def test_only_requests_that_all_clients_answered_are_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A round in which one client was silent lasted as long as the silence."""
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    deadlines = []

    class Transport:
        silent = False

        def clients(self) -> list[str]:
            return ["north", "west"]

        def exchange(self, clients: Sequence[str], request: bytes, seconds: float) -> Iterator[Any]:
            deadlines.append(seconds)
            clock[0] += 60.0 if self.silent else 0.1
            yield "north", b"answer"
            if not self.silent:
                yield "west", b"answer"

    transport = Transport()
    channel = RemoteChannel(transport, deadline=120.0)

    def ask() -> None:
        list(channel.collect(["north", "west"], b"", "1", lambda frame: None, ("fcm", 0)))

    for _ in range(3):
        ask()
    transport.silent = True
    ask()
    ask()
    assert deadlines == [120.0, 120.0, 120.0, 10.0, 10.0]
