"""What Flower's grid may do to messages, and what becomes of them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("flwr", reason="studies over Flower need fedclust[flower]")
from flwr.app import Array, ArrayRecord, ConfigRecord, Error, Message, RecordDict

from fedclust.channels import RemoteChannel
from fedclust.channels.flower.messages import bytes_content
from fedclust.channels.flower.server import GridTransport
from fedclust.core import ConfigError, TooFewClients

from ..support.flower_clients import PREFLIGHT, asked, grid_of, met
from ..support.flower_grid import FakeGrid, by_the_superlink
from ..support.in_process import NAMES, write_kits

SOON = 0.2  # seconds: for answers that never come


def only(client: str, what: Callable[[Message], Message | None]) -> Any:
    return lambda name, reply: what(reply) if name == client else reply


def with_content(content: RecordDict) -> Callable[[Message], Message]:
    def changed(reply: Message) -> Message:
        reply.content = content
        return reply

    return changed


def foreign(stype: str) -> RecordDict:
    array = Array(dtype="uint8", shape=(3,), stype=stype, data=b"abc")
    return RecordDict({"fedclust": ArrayRecord({"body": array})})


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (RecordDict(), "contains no bytes"),
        (RecordDict({"fedclust": ConfigRecord({"body": b"abc"})}), "contains no bytes"),
        (RecordDict({"fedclust": ArrayRecord()}), "contains no bytes"),
        (RecordDict({"fedclust": ArrayRecord([np.zeros(3)])}), "contains no bytes"),
        (foreign("numpy.ndarray"), "contains no bytes"),
        (foreign("fedclust.wire"), "too short"),
        (bytes_content(bytes(100)), "not a fedclust message"),
        (bytes_content(b""), "too short"),
    ],
)
def test_a_client_that_returns_garbage_is_left_out(
    content: RecordDict, says: str, tmp_path: Path
) -> None:
    grid = grid_of(tmp_path)
    answers, record = asked(grid, spoil=only("south", with_content(content)))
    assert set(answers) == {"north", "west"}
    assert set(record) == {"south"}
    assert says in record["south"]


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (0, "own words"),
        (1, "install the same version there"),
        (2, "see the log of the client"),
        (3, "no answer in time"),
        (5, "no longer connected"),
        (8, "its process died"),
        (99, "error 99"),
    ],
)
def test_an_error_is_that_of_the_message_it_answers(code: int, says: str, tmp_path: Path) -> None:
    """The SuperLink's own errors do not come from the node they are about."""
    grid = grid_of(tmp_path)

    def failed(reply: Message) -> Message:
        message = next(m for m in grid.sent if m.metadata.message_id == reply_to(reply))
        return by_the_superlink(Error(code, "own words of 5.31 kg"), message)

    answers, record = asked(grid, spoil=only("north", failed))
    assert set(answers) == {"south", "west"}
    assert says in record["north"]
    assert ("5.31" in record["north"]) == (code == 0)  # Flower's words may tell of values


def reply_to(reply: Message) -> str:
    return str(reply.metadata.reply_to_message_id)


def test_a_slow_client_misses_the_deadline_and_is_heard_in_the_next_round(tmp_path: Path) -> None:
    grid = grid_of(tmp_path)
    transport = met(grid)
    late: list[Message] = []
    grid.spoil = only("west", lambda reply: late.append(reply))
    remote = RemoteChannel(transport, about={"study": "s"}, deadline=SOON)
    assert set(remote.send(*PREFLIGHT)) == {"north", "south"}
    grid.replies[reply_to(late[0])] = late[0]  # it comes, when nobody waits for it
    grid.spoil = lambda name, reply: reply
    assert set(remote.send(*PREFLIGHT)) == set(NAMES)
    assert late[0] in grid.replies.values()


def test_messages_die_at_the_deadline(tmp_path: Path) -> None:
    grid = grid_of(tmp_path)
    asked(grid, 33.0)
    requests = [m.metadata for m in grid.sent if m.metadata.message_type == "query.request"]
    assert [m.ttl for m in requests] == [33.0] * len(NAMES)


def test_who_is_not_connected_is_not_waited_for(tmp_path: Path) -> None:
    grid = grid_of(tmp_path)
    transport = met(grid)
    gone = next(
        id for id, node in grid.nodes.items() if node.node_config["fedclust-name"] == "west"
    )
    grid.online -= {gone}
    answers = dict(transport.exchange([*NAMES, "nobody"], b"x", 60.0))
    assert answers["west"] == answers["nobody"] == "is not connected"
    assert isinstance(answers["north"], bytes)


def test_what_the_superlink_does_not_take_is_not_waited_for(tmp_path: Path) -> None:
    grid = grid_of(tmp_path)
    transport = met(grid)
    grid.refuses = lambda message: message.metadata.dst_node_id == min(grid.nodes)
    answers = dict(transport.exchange(NAMES, b"x", 60.0))
    refused = [name for name, answer in answers.items() if isinstance(answer, str)]
    assert [answers[name] for name in refused] == ["the SuperLink did not accept the message"]
    grid.push_messages = lambda messages: []  # type: ignore[method-assign]
    assert set(dict(transport.exchange(NAMES, b"x", 60.0)).values()) == {answers[refused[0]]}


def test_an_oversized_answer_is_refused(tmp_path: Path) -> None:
    grid = grid_of(tmp_path)
    huge = with_content(bytes_content(bytes(2000)))
    answers, record = asked(grid, spoil=only("south", huge), limit=1000)
    assert set(answers) == {"north", "west"}
    assert "more than the" in record["south"]


def test_two_supernodes_of_one_name_are_refused(tmp_path: Path) -> None:
    write_kits(tmp_path)
    config = {"fedclust-name": "north", "fedclust-kit": str(tmp_path / "north")}
    with pytest.raises(ConfigError, match="two SuperNodes are called 'north'"):
        GridTransport(FakeGrid({5: config, 6: config}), poll=0.0).wait(2, 1.0, 0.0)


@pytest.mark.parametrize("name", ["", "a b", "../x", "x" * 61, None, 5.5])
def test_who_has_no_usable_name_takes_no_part(name: Any, tmp_path: Path) -> None:
    write_kits(tmp_path)
    north = {"fedclust-name": "north", "fedclust-kit": str(tmp_path / "north")}
    other = {"fedclust-kit": str(tmp_path / "south")}
    grid = FakeGrid({5: north, 6: other if name is None else {**other, "fedclust-name": name}})
    assert GridTransport(grid, poll=0.0).wait(1, 5.0, 0.0) == ["north"]
    with pytest.raises(TooFewClients, match="1 of at least 2 clients connected .*: north"):
        GridTransport(grid, poll=0.0).wait(2, 0.05, 0.0)


def test_who_cannot_say_a_name_is_not_waited_for(tmp_path: Path) -> None:
    grid = grid_of(tmp_path)
    grid.spoil = only("west", lambda reply: Message(Error(1), reply_to=grid.sent[-1]))
    assert GridTransport(grid, poll=0.0).wait(2, 5.0, 60.0) == ["north", "south"]
    grid.spoil = only("west", lambda reply: None)
    assert GridTransport(grid, poll=0.0).wait(2, 5.0, SOON) == ["north", "south"]


def test_who_comes_later_is_met(tmp_path: Path) -> None:
    grid = grid_of(tmp_path)
    all_there = set(grid.online)
    grid.online = set()
    calls = []

    def more() -> list[int]:
        calls.append(1)
        return sorted(all_there)[: len(calls)]

    grid.get_node_ids = more  # type: ignore[method-assign]
    assert GridTransport(grid, poll=0.0).wait(3, 5.0, 0.0) == list(NAMES)
