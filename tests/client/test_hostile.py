"""Answers that are late, damaged, doubled, foreign or lies: left out, recorded, and no crash."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedclust.channels import Incident, LocalChannel, RemoteChannel
from fedclust.core import FedclustError, TooFewClients, rounds, run
from fedclust.core.codec import (
    decode_message,
    encode_reply,
)
from fedclust.core.wire import pack, unpack

from ..support.damage import mutated, resealed
from ..support.hostile_server import PLAN, SCHEMA, with_arrays
from ..support.in_process import NAMES, PLAIN, InProcess, Spoil, as_data, write_kits


def run_with(
    spoil: Spoil, tmp_path: Path, **settings: Any
) -> tuple[Any, list[Incident], InProcess]:
    noted: list[Incident] = []
    transport = InProcess(write_kits(tmp_path), spoil)
    settings = {"quorum": 2, "record": noted.append, "about": {"study": "s"}, **settings}
    remote = RemoteChannel(transport, **settings)
    return run(PLAN, remote.over(PLAIN, SCHEMA), SCHEMA), noted, transport


def without_west() -> Any:
    data = {name: rows for name, rows in as_data().items() if name != "west"}
    return run(PLAN, LocalChannel(data), SCHEMA)


def forged(raw: bytes, **changes: Any) -> bytes:
    header, arrays = unpack(raw)
    return pack({**header, **changes}, arrays)


OLD: dict[str, bytes] = {}


def stale(raw: bytes) -> bytes:
    return OLD.setdefault("first", raw)


HOSTILE: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "nothing": (lambda raw: b"", "too short"),
    "noise": (lambda raw: bytes(range(256)), "not a fedclust message"),
    "a pickle": (lambda raw: b"\x80\x04\x95" + bytes(100), "not a fedclust message"),
    "half": (lambda raw: raw[: len(raw) // 2], "cut off"),
    "oversized": (lambda raw: raw + bytes(2**20), "more than the"),
    "another name": (lambda raw: forged(raw, client="north"), "names another client: 'north'"),
    "another request": (lambda raw: forged(raw, answers="/99"), "another request"),
    "another kind": (lambda raw: forged(raw, kind="look"), "neither a reply"),
    "escape codes": (
        lambda raw: forged(raw, kind="refusal", why="\x1b[2Jno\n"),
        "refused:  .2Jno ",
    ),
    "too many rows": (lambda raw: with_arrays(raw, weight=np.ones(4)), "shape"),
    "more arrays": (lambda raw: with_arrays(raw, extra=np.ones(4)), "expected the fields"),
    "NaN": (lambda raw: with_arrays(raw, weight=np.full(3, np.nan)), "not finite"),
    "beyond sums": (lambda raw: with_arrays(raw, weight=np.full(3, 1e305)), "not finite, or too"),
    "wrong axes": (lambda raw: with_arrays(raw, weight=np.ones((3, 1))), "shape"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_answer_is_left_out_with_a_sentence(case: str, tmp_path: Path) -> None:
    spoil, says = HOSTILE[case]
    done, noted, _ = run_with(
        lambda n, client, raw: spoil(raw) if client == "west" else raw, tmp_path, limit=2**19
    )
    assert done.model.tobytes() == without_west().model.tobytes()
    assert [incident.client for incident in noted] == ["west"]  # once, not every round
    assert re.search(says, noted[0].what)
    assert noted[0].what.isprintable()


def test_a_stale_answer_is_left_out(tmp_path: Path) -> None:
    OLD.clear()
    done, noted, _ = run_with(
        lambda n, client, raw: stale(raw) if client == "west" else raw, tmp_path
    )
    assert "another request" in noted[0].what
    assert noted[0].round == 1  # the first one was its own
    assert done.history[0].n_clients == 3
    assert done.history[1].n_clients == 2


def test_the_second_of_two_answers_is_left_out(tmp_path: Path) -> None:
    done, noted, _ = run_with(
        lambda n, client, raw: [raw, with_arrays(raw, weight=np.ones(3))], tmp_path
    )
    assert done.model.tobytes() == run(PLAN, LocalChannel(as_data()), SCHEMA).model.tobytes()
    assert {incident.what for incident in noted} == {"replied twice to the same request"}


def test_an_answer_of_nobody_asked_is_left_out(tmp_path: Path) -> None:
    class Intruder(InProcess):
        def exchange(self, clients: Any, request: bytes, seconds: float) -> Any:
            yield "mallory", b"hello"
            yield from super().exchange(clients, request, seconds)

    noted: list[Incident] = []
    transport = Intruder(write_kits(tmp_path))
    remote = RemoteChannel(transport, about={"study": "s"}, record=noted.append)
    done = run(PLAN, remote.over(PLAIN, SCHEMA), SCHEMA)
    assert done.history[0].n_clients == 3
    assert noted == [Incident("llf-fcm", 0, "mallory", "replied to a request that it was not sent")]


def test_a_silent_client_rests_longer_each_time(tmp_path: Path) -> None:
    _, noted, transport = run_with(
        lambda n, client, raw: "no answer in time" if client == "west" else raw, tmp_path
    )
    assert [("west" in asked) for asked in transport.asked] == [
        True,
        False,
        True,
        False,
        False,
        False,
    ]
    assert [incident.what for incident in noted] == ["no answer in time"]


def test_a_slow_client_is_back_when_it_answers_again(tmp_path: Path) -> None:
    done, _, _ = run_with(
        lambda n, client, raw: [] if client == "west" and n == 1 else raw, tmp_path
    )
    assert [line.n_clients for line in done.history] == [2, 2, 3, 3, 3, 3]


def test_too_few_answers_end_the_run_with_the_reasons(tmp_path: Path) -> None:
    with pytest.raises(
        TooFewClients, match="1 of 3 clients answered, 2 are needed; south, west: not a"
    ):
        run_with(lambda n, client, raw: raw if client == "north" else b"", tmp_path)


def test_where_no_quorum_is_awake_those_who_rest_are_asked(tmp_path: Path) -> None:
    done, _, transport = run_with(
        lambda n, client, raw: "late" if client == "west" and n == 1 else raw,
        tmp_path,
        quorum=1,
    )
    assert done.n_rounds == 6
    remote = RemoteChannel(transport, quorum=3, about={"study": "s"})
    remote._note_silence("west", "late", ("x", 0))
    assert remote.clients() == sorted(NAMES)


def test_ten_thousand_damaged_answers_never_raise_anything_else(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    sums = next(rounds(PLAN, LocalChannel(as_data()), SCHEMA)).state.centers
    reply = encode_reply(PLAN.algorithm.up(np.ones(3), sums), answers="/1", client="west")  # type: ignore[call-arg]
    sizes = PLAN.algorithm.sizes(SCHEMA)
    for _ in range(10_000):
        try:
            message = decode_message(
                unpack(resealed(mutated(reply, rng)), 2**12), PLAN.algorithm.up, sizes
            )
        except FedclustError:
            continue
        assert message.is_finite()
