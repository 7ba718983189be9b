"""Answers that are late, damaged, doubled, foreign or lies: left out, recorded, and no crash."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedclust.algorithms import make
from fedclust.channels import Incident, LocalChannel, RemoteChannel
from fedclust.core import FedclustError, Plan, Request, Schema, TooFewClients, rounds, run
from fedclust.core.envelope import (
    decode_request,
    encode_reply,
    encode_request,
    message_of,
)
from fedclust.core.wire import pack, unpack
from fedclust.metrics import Evaluation
from fedclust.plans import build_plan

from .damage import mutated, resealed
from .example import NAMES, PLAIN, InProcess, Spoil, as_data, write_kits

SCHEMA = Schema(2)
START = np.array([[1.0, 9.0], [4.0, 18.0], [8.0, 4.0]])
PLAN = Plan(make("llf-fcm", 3, init=START, max_rounds=6, tol=0.0))


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


def with_arrays(raw: bytes, **arrays: Any) -> bytes:
    header, there = unpack(raw)
    return pack(header, {**there, **arrays})


OLD: dict[str, bytes] = {}


def stale(raw: bytes) -> bytes:
    return OLD.setdefault("first", raw)


HOSTILE: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "nothing": (lambda raw: b"", "too short"),
    "noise": (lambda raw: bytes(range(256)), "not a message"),
    "a pickle": (lambda raw: b"\x80\x04\x95" + bytes(100), "not a message"),
    "half": (lambda raw: raw[: len(raw) // 2], "ends before"),
    "oversized": (lambda raw: raw + bytes(2**20), "more than the"),
    "another name": (lambda raw: forged(raw, client="north"), "signed 'north'"),
    "another request": (lambda raw: forged(raw, answers="/99"), "another request"),
    "another kind": (lambda raw: forged(raw, kind="look"), "neither a reply"),
    "escape codes": (
        lambda raw: forged(raw, kind="refusal", why="\x1b[2Jno\n"),
        "refused:  .2Jno ",
    ),
    "too many rows": (lambda raw: with_arrays(raw, weight=np.ones(4)), "shape"),
    "more arrays": (lambda raw: with_arrays(raw, extra=np.ones(4)), "has the fields"),
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
    assert {incident.what for incident in noted} == {"answered twice"}


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
    assert noted == [Incident("llf-fcm", 0, "mallory", "was not asked")]


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
    with pytest.raises(TooFewClients, match="1 of 3 clients answered, 2 are needed; south: .*west"):
        run_with(lambda n, client, raw: raw if client == "north" else b"", tmp_path)


def test_where_no_quorum_is_awake_those_who_rest_are_asked(tmp_path: Path) -> None:
    done, _, transport = run_with(
        lambda n, client, raw: "late" if client == "west" and n == 1 else raw,
        tmp_path,
        quorum=1,
    )
    assert done.n_rounds == 6
    remote = RemoteChannel(transport, quorum=3, about={"study": "s"})
    remote._missed("west", "late", ("x", 0))
    assert remote.clients() == sorted(NAMES)


def test_ten_thousand_damaged_answers_never_raise_anything_else(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    sums = next(rounds(PLAN, LocalChannel(as_data()), SCHEMA)).state.centers
    reply = encode_reply(PLAN.algorithm.up(np.ones(3), sums), answers="/1", client="west")  # type: ignore[call-arg]
    sizes = PLAN.algorithm.sizes(SCHEMA)
    for _ in range(10_000):
        try:
            message = message_of(
                unpack(resealed(mutated(reply, rng)), 2**12), PLAN.algorithm.up, sizes
            )
        except FedclustError:
            continue
        assert message.is_finite()


def test_ten_thousand_damaged_requests_are_answered_all_the_same(tmp_path: Path) -> None:
    """Whatever a server sends: decoded, or a refusal; a client never goes down with it."""
    rng = np.random.default_rng(2)
    down = PLAN.algorithm.broadcast(PLAN.algorithm.start(SCHEMA, rng))
    raw = encode_request(PLAN, Request(0, NAMES, down), id="/1", about={"study": "s"}, data=PLAIN)
    for _ in range(10_000):
        try:
            decode_request(unpack(resealed(mutated(raw, rng))), build_plan)
        except FedclustError:
            continue
    site = write_kits(tmp_path)["west"]
    for _ in range(300):
        answer = unpack(site.answer(resealed(mutated(raw, rng))))
        assert answer.header["kind"] in ("reply", "refusal")


def refusal(tmp_path: Path, raw: bytes, consent: str = "", author: str = "") -> str:
    site = write_kits(tmp_path, consent)["west"]
    header = unpack(site.answer(raw, author)).header
    line = json.loads((tmp_path / "west" / "disclosures.jsonl").read_text().splitlines()[-1])
    assert (header["kind"] == "refusal") == ("refused" in line)
    return str(header.get("why", ""))


def request(plan: Plan, data: Any = PLAIN, study: str = "s", n: int = 0) -> bytes:
    algorithm = plan.algorithm
    down = algorithm.broadcast(algorithm.start(SCHEMA, np.random.default_rng(0)))
    return encode_request(plan, Request(n, NAMES, down), id="/1", about={"study": study}, data=data)


def changed(raw: bytes, **words: Any) -> bytes:
    header, arrays = unpack(raw)
    return pack({**header, **words}, arrays)


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (changed(request(PLAN), algorithm="FuzzyMeans"), "no algorithm 'FuzzyMeans'; did you"),
        (changed(request(PLAN), algorithm="os.system"), "no algorithm 'os.system'"),
        (changed(request(PLAN), settings={"n_clusters": 3, "x": 1}), "unexpected keyword"),
        (changed(request(PLAN), settings={"n_clusters": "3"}), "n_clusters must be"),
        (changed(request(PLAN), settings={}), "n_clusters"),
        (changed(request(PLAN), settings={"n_clusters": 10**400}), "llf-fcm"),
        (changed(request(PLAN), transforms=[["Exec", {}]]), "no transform 'Exec'"),
        (changed(request(PLAN), transforms=[["MinCount", {"count": -1}]]), "count must be"),
        (changed(request(PLAN), transforms="none"), "not a list"),
        (changed(request(PLAN), transforms=[["MinCount"]]), "its name and its settings"),
        (changed(request(PLAN), round="1"), "'round' is not a whole number"),
        (changed(request(PLAN), cohort="all"), "cohort is not a list"),
        (changed(request(PLAN), kind="shell"), "no request of kind 'shell'"),
        (changed(request(PLAN), algorithm=3), "'algorithm' is not text"),
        (changed(request(PLAN), about=None), "'about' is not a table"),
        (changed(request(PLAN), settings=None), "'settings' is not a table"),
        (changed(request(PLAN), data=None), "does not say of which rows"),
        (changed(request(PLAN), data={"columns": []}), "names no columns"),
        (changed(request(PLAN), data={"columns": [3]}), "columns are not readable"),
        (changed(request(PLAN), data={"preparation": {}}), "preparation is not readable"),
        (
            changed(request(PLAN), data={"columns": [{"name": "person", "categories": []}]}),
            "person",
        ),
        (with_arrays(request(PLAN), other=np.ones(1)), "neither the plan's"),
        (with_arrays(request(PLAN), **{"down.centers": np.ones((3, 3))}), "shape"),
        (b"GET / HTTP/1.1" + bytes(40), "not a message"),
    ],
)
def test_a_client_refuses_what_it_cannot_or_will_not_build(
    raw: bytes, says: str, tmp_path: Path
) -> None:
    assert says in refusal(tmp_path, raw)


@pytest.mark.parametrize(
    ("key", "value"), [("offset", [0.0]), ("scale", [0.0, 1.0]), ("fill", [1.0])]
)
def test_a_client_refuses_a_preparation_that_cannot_be(
    key: str, value: list[float], tmp_path: Path
) -> None:
    bad = {"preparation": {**PLAIN["preparation"], key: value}}
    assert "preparation" in refusal(tmp_path, request(PLAN, bad))


def test_rows_of_columns_are_not_given_away_by_plans_over_split_columns(tmp_path: Path) -> None:
    header, arrays = unpack(request(PLAN))
    settings = {"algorithm": "RecordAlignment", "settings": {}, "transforms": []}
    raw = pack({**header, **settings}, {})
    assert "not answered over a network" in refusal(tmp_path, raw)
    assert arrays


CENTERS = Evaluation(3, START)


@pytest.mark.parametrize(
    ("consent", "plan", "says"),
    [
        ('studies = ["other"]', PLAN, "study 's'"),
        ('authors = ["somebody"]', PLAN, "author ''"),
        ('algorithms = ["llf-cm"]', PLAN, "'llf-fcm' under algorithms"),
        ('algorithms = ["llf-fmc"]', PLAN, "did you mean 'llf-fcm'"),
        ('columns = ["height"]', PLAN, "the column 'width'"),
        ("max_clusters = 2", PLAN, "max_clusters = 2"),
        ('privacy = "paper"', PLAN, "MinSamples"),
        ("min_count = 5", Plan(make("c2f-fcm", 3, init=START)), "min_count = 5 or more"),
        ("", Plan(make("c2f-fcm", 3, init=START, min_count=1)), "min_count = 2 or more"),
    ],
)
def test_what_client_toml_does_not_allow_is_refused(
    consent: str, plan: Plan, says: str, tmp_path: Path
) -> None:
    assert says in refusal(tmp_path, request(plan), consent)


def test_what_client_toml_allows_is_answered(tmp_path: Path) -> None:
    consent = (
        'studies = ["s"]\nauthors = ["ana"]\nalgorithms = ["llf-cm"]\nmax_rounds = 1\n'
        'columns = ["height", "width"]\n'
    )
    site = write_kits(tmp_path, consent)["west"]
    first, second = (unpack(site.answer(request(Plan(CENTERS)), "ana")).header for _ in range(2))
    assert first["kind"] == "reply"
    assert "max_rounds = 1" in second["why"]


def test_messages_about_values_stay_at_the_client(tmp_path: Path) -> None:
    """A refusal may name columns, never what is in them."""
    site = write_kits(tmp_path)["west"]
    file = tmp_path / "west" / "people.csv"
    file.write_text(file.read_text() + "x,secret-word,1\n")
    header = unpack(site.answer(request(PLAN))).header
    assert header["why"] == "its data do not fit; its own log says how"
    wanted = {"name": "height", "categories": ["a"], "log": False, "unit": ""}
    look = pack({"kind": "look", "id": "/1", "about": {"study": "s"}, "columns": [wanted]}, {})
    told = unpack(site.answer(look)).header["told"]
    assert told["problems"] == [["height", "has categories that were not declared (61 rows)", True]]


def test_numbers_that_are_none_do_not_leave(tmp_path: Path) -> None:
    site = write_kits(tmp_path)["west"]
    file = tmp_path / "west" / "people.csv"
    file.write_text(file.read_text() + "x,NA,1\n")
    gaps = {"columns": PLAIN["preparation"]["columns"]}
    header = unpack(site.answer(request(PLAN, gaps))).header
    assert header["why"] == "what it computed are not finite numbers"


def test_an_unexpected_error_is_a_refusal_without_details(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise ZeroDivisionError("row 17 is Mr Smith")

    monkeypatch.setattr("fedclust.federation.site.respond", broken)
    header = unpack(write_kits(tmp_path)["west"].answer(request(PLAN))).header
    assert header["why"] == "an unexpected error; its own log says which"


def test_labels_need_centres_that_fit(tmp_path: Path) -> None:
    site = write_kits(tmp_path)["west"]
    words = {"kind": "label", "id": "/1", "about": {"study": "s"}, "algorithm": "llf-cm", **PLAIN}
    wide = pack({**words, "ids": [1, 2, 3]}, {"centers": np.ones((3, 5))})
    assert "as many columns" in unpack(site.answer(wide)).header["why"]
    nameless = pack({**words, "ids": [1, "2", 3]}, {"centers": np.ones((3, 2))})
    assert "a number for each centre" in unpack(site.answer(nameless)).header["why"]


def test_without_a_log_nothing_leaves(tmp_path: Path) -> None:
    site = write_kits(tmp_path)["west"]
    (tmp_path / "west" / "disclosures.jsonl").mkdir()
    assert "log cannot be written" in unpack(site.answer(request(PLAN))).header["why"]


def test_a_job_is_signed_for_one_study(tmp_path: Path) -> None:
    assert "signed for the study 's'" in refusal(tmp_path, request(PLAN, study="other"))


def test_a_missing_or_wrong_client_toml_is_a_refusal(tmp_path: Path) -> None:
    site = write_kits(tmp_path, "min_cuont = 3")["west"]
    assert "did you mean" in unpack(site.answer(request(PLAN))).header["why"]
