"""Over Flower's grid everything is what it is in one process, and what goes wrong is a sentence."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

pytest.importorskip("flwr", reason="studies over Flower need fedclust[flower]")
from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Error, Message, RecordDict
from flwr.cli.config_utils import load_and_validate

from fedclust.algorithms import make
from fedclust.channels import Incident, LocalChannel, RemoteChannel
from fedclust.channels.flower.client import client_app
from fedclust.channels.flower.messages import carried, carrying
from fedclust.channels.flower.server import GridTransport
from fedclust.cli import app as cli
from fedclust.core import AnyAlgorithm, ConfigError, FedclustError, Plan, TooFewClients, run
from fedclust.federation.flower.folder import settings_of, write_app
from fedclust.federation.flower.server import app as server
from fedclust.privacy import FixedPoint, SecureChannel
from fedclust.study.run import run_study

from .example import NAMES, PLAIN, as_data, told, write_kits
from .flower_grid import RUN, FakeGrid, by_the_superlink
from .test_parity import SCHEMA, START, plans, write_study

SOON = 0.2  # seconds: for answers that never come


def grid_of(folder: Path, consent: str = "") -> FakeGrid:
    write_kits(folder, consent)
    return FakeGrid.of([folder / name for name in NAMES])


def met(grid: FakeGrid) -> GridTransport:
    transport = GridTransport(grid, poll=0.001)
    assert transport.wait(len(NAMES), 5.0, 0.0) == list(NAMES)
    return transport


@pytest.mark.parametrize(
    "algorithm", plans(), ids=lambda a: f"{type(a).__name__} {getattr(a, 'index', '')}"
)
def test_every_plan_gives_the_same_bits(algorithm: AnyAlgorithm, tmp_path: Path) -> None:
    plan = Plan(algorithm, seed=5)
    here = run(plan, LocalChannel(as_data()), SCHEMA)
    remote = RemoteChannel(met(grid_of(tmp_path)), about={"study": "s"})
    there = run(plan, remote.over(PLAIN, SCHEMA), SCHEMA)
    assert [a.tobytes() for a in there.state.arrays().values()] == [
        a.tobytes() for a in here.state.arrays().values()
    ]
    assert str(there.history) == str(here.history)


def run_app(grid: FakeGrid, study: Path, **config: Any) -> None:
    """The ServerApp as Flower runs it."""
    whole = {"study": str(study), "grace": 0.0, "deadline": 5.0, **config}
    server(grid=grid, context=Context(RUN, 1, {}, RecordDict(), whole))


def test_a_study_is_run_and_left_in_its_folder(tmp_path: Path) -> None:
    grid = grid_of(tmp_path)
    study = write_study(tmp_path)
    run_study(study, tmp_path / "here")
    run_app(grid, study.path)
    there = tmp_path / "s-run"
    assert told(there) == told(tmp_path / "here")
    assert not (there / "incidents.jsonl").exists()
    assert not list(tmp_path.glob(".s-run*"))
    for name in NAMES:
        mine = (tmp_path / name / "labels" / "s.csv").read_text()
        assert mine == (tmp_path / "here" / "labels" / f"{name}.csv").read_text()
    with pytest.raises(ConfigError, match="is there already"):
        run_app(grid, study.path)
    run_app(grid, study.path, force=True)


def test_no_path_of_a_client_leaves_it(tmp_path: Path) -> None:
    grid = grid_of(tmp_path)
    left: list[str] = []

    def listen(name: str, reply: Message) -> Message:
        left.append(repr(reply))
        return reply

    grid.spoil = listen
    run_app(grid, write_study(tmp_path, "k-fed").path)
    assert len(left) > len(NAMES)
    assert not any(str(tmp_path) in words or "people.csv" in words for words in left)


def test_a_run_that_broke_off_goes_on_where_it_was(tmp_path: Path) -> None:
    grid = grid_of(tmp_path)
    study = write_study(tmp_path, more="[participation]\nmin_clients = 3\n")
    run_study(study, tmp_path / "here")
    grid.spoil = lambda name, reply: reply if len(grid.sent) < 20 or name != "west" else None
    with pytest.raises(FedclustError, match="west: no answer within 1 seconds.*resume=true"):
        run_app(grid, study.path, deadline=1.0)
    first = len(grid.sent)
    grid.spoil = lambda name, reply: reply
    with pytest.raises(ConfigError, match="unfinished run"):
        run_app(grid, study.path)
    run_app(grid, study.path, resume=True)
    assert told(tmp_path / "s-run") == told(tmp_path / "here")
    assert "west" in (tmp_path / "s-run" / "incidents.jsonl").read_text()
    again = write_study(tmp_path, more="[participation]\nmin_clients = 3\n")
    before = len(grid.sent)
    run_app(grid, again.path, out=str(tmp_path / "anew"))
    assert len(grid.sent) - before > before - first  # what was known was not asked again


BOUNDS = "[features]\nheight = { low = -9, high = 34 }\nwidth = { low = -9, high = 34 }\n"


def study_under(tier: str | None, folder: Path) -> Path:
    text = write_study(folder, "llf-cm", "min-max", more=BOUNDS).path.read_text()
    line = "" if tier is None else f'tier = "{tier}"'
    text = text.replace('tier = "none"', line).replace("n_init = 2", "n_init = 1")
    (folder / "s.toml").write_text(text)
    return folder / "s.toml"


@pytest.mark.parametrize("tier", [None, "secure", "guarded", "secure+dp"])
def test_a_tier_that_needs_memory_is_refused_before_anybody_is_asked(
    tier: str | None, tmp_path: Path
) -> None:
    """Flower ends a client's process after every message, and with it keys and last words."""
    grid = grid_of(tmp_path)
    with pytest.raises(ConfigError, match="needs clients that remember"):
        run_app(grid, study_under(tier, tmp_path))
    assert grid.sent == []


def test_masks_are_not_made_with_keys_that_are_gone(tmp_path: Path) -> None:
    """A server that asks for masks all the same is refused by the clients."""
    remote = RemoteChannel(met(grid_of(tmp_path)), about={"study": "s"}, quorum=3)
    secure = SecureChannel(remote.over(PLAIN, SCHEMA), attempts=1)
    fixed = FixedPoint((-9.0, -9.0), (34.0, 34.0))
    with pytest.raises(FedclustError, match="key"):
        run(Plan(make("llf-cm", 3, init=START), (fixed,), seed=5), secure, SCHEMA)


def test_noise_is_paid_for_in_a_ledger_that_outlives_processes(tmp_path: Path) -> None:
    pytest.importorskip("opendp")
    run_app(grid_of(tmp_path), study_under("dp", tmp_path))
    rounds = (tmp_path / "s-run" / "history.jsonl").read_text().count("\n")
    paid = (tmp_path / "west" / "ledger.jsonl").read_text().count('"noise"')
    assert paid >= rounds


def test_questions_are_counted_for_good(tmp_path: Path) -> None:
    grid = grid_of(tmp_path, "max_releases = 3")
    with pytest.raises(FedclustError, match="has answered 3 questions, and 3 are allowed"):
        run_app(grid, write_study(tmp_path, scaling="none").path)


def test_a_mistake_in_the_study_is_no_reason_to_resume(tmp_path: Path) -> None:
    study = write_study(tmp_path, more="[features]\nage = {}\n")
    with pytest.raises(FedclustError, match="the column is not there[^;]*$"):
        run_app(grid_of(tmp_path), study.path)


# What goes wrong on the way


def asked(
    grid: FakeGrid, seconds: float = 60.0, **how: Any
) -> tuple[dict[str, Any], dict[str, str]]:
    """Who answers a look, and what is on record for the others."""
    incidents: list[Incident] = []
    transport = met(grid)
    grid.spoil, spoil = how.pop("spoil", grid.spoil), grid.spoil
    remote = RemoteChannel(
        transport, about={"study": "s"}, deadline=seconds, record=incidents.append, **how
    )
    answers = remote.tell("look", {"columns": None})
    grid.spoil = spoil
    return answers, {incident.client: incident.what for incident in incidents}


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
        (RecordDict(), "holds no bytes"),
        (RecordDict({"fedclust": ConfigRecord({"body": b"abc"})}), "holds no bytes"),
        (RecordDict({"fedclust": ArrayRecord()}), "holds no bytes"),
        (RecordDict({"fedclust": ArrayRecord([np.zeros(3)])}), "holds no bytes"),
        (foreign("numpy.ndarray"), "holds no bytes"),
        (foreign("fedclust.wire"), "too short"),
        (carrying(bytes(100)), "not a message"),
        (carrying(b""), "too short"),
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
        (1, "is it installed there"),
        (2, "its own log says which"),
        (3, "no answer in time"),
        (5, "not connected any more"),
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
    assert set(remote.tell("look", {"columns": None})) == {"north", "south"}
    grid.replies[reply_to(late[0])] = late[0]  # it comes, when nobody waits for it
    grid.spoil = lambda name, reply: reply
    assert set(remote.tell("look", {"columns": None})) == set(NAMES)
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
    assert [answers[name] for name in refused] == ["the SuperLink does not take the message"]
    grid.push_messages = lambda messages: []  # type: ignore[method-assign]
    assert set(dict(transport.exchange(NAMES, b"x", 60.0)).values()) == {answers[refused[0]]}


def test_an_oversized_answer_is_refused(tmp_path: Path) -> None:
    grid = grid_of(tmp_path)
    huge = with_content(carrying(bytes(2000)))
    answers, record = asked(grid, spoil=only("south", huge), limit=1000)
    assert set(answers) == {"north", "west"}
    assert "more than the" in record["south"]


# Names


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
    with pytest.raises(TooFewClients, match="1 clients came within 0.05 s, not 2: north"):
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


# The client's side: a message comes out, whatever happens


class Odd:
    """A site that does what its maker says."""

    answered = 0

    def __init__(self, answer: Callable[[], Any]) -> None:
        self._answer = answer

    def answer(self, raw: bytes) -> Any:
        return self._answer()


def ends() -> None:
    raise SystemExit(3)


def raises() -> None:
    raise MemoryError("5.31 kg")


@pytest.mark.parametrize("answer", [ends, raises, lambda: None, lambda: "text", lambda: 5])
def test_a_client_that_fails_says_so_in_a_message(
    answer: Callable[[], Any], tmp_path: Path
) -> None:
    write_kits(tmp_path)
    kits = [tmp_path / name for name in NAMES]
    grid = FakeGrid.of(kits, client_app(lambda folder, name, answered: Odd(answer)))
    answers, record = asked(grid)
    assert answers == {}
    assert set(record.values()) == {"an unexpected error; its own log says which"}


def test_a_site_that_cannot_be_opened_says_so_in_a_message(tmp_path: Path) -> None:
    def broken(folder: Path, name: str, answered: int) -> Odd:
        raise OSError(folder)

    write_kits(tmp_path)
    grid = FakeGrid.of([tmp_path / name for name in NAMES], client_app(broken))
    _, record = asked(grid)
    assert set(record.values()) == {"an unexpected error; its own log says which"}


def test_a_supernode_without_a_kit_and_a_message_without_bytes_are_replied_to(
    tmp_path: Path,
) -> None:
    grid = FakeGrid({5: {"fedclust-name": "north"}})
    transport = GridTransport(grid, poll=0.0)
    transport.wait(1, 5.0, 0.0)
    assert dict(transport.exchange(["north"], b"x", 60.0)) == {
        "north": "an unexpected error; its own log says which"
    }
    grid = grid_of(tmp_path)
    empty = Message(RecordDict(), min(grid.nodes), "query.request", ttl=5.0)
    [id] = grid.push_messages([empty])
    assert carried(grid.pull_messages([id])[0]) == "an unexpected error; its own log says which"


def test_rounds_are_counted_from_process_to_process(tmp_path: Path) -> None:
    grid = grid_of(tmp_path, "max_rounds = 3")
    study = write_study(tmp_path, scaling="none")
    with pytest.raises(FedclustError, match="client.toml allows max_rounds = 3"):
        run_app(grid, study.path)
    lines = (tmp_path / "west" / "disclosures.jsonl").read_text().splitlines()
    said = [json.loads(line) for line in lines]
    assert sum(line["kind"] == "round" and "refused" not in line for line in said) == 3


def test_flower_does_not_say_who_asks_so_a_client_that_wants_to_know_refuses(
    tmp_path: Path,
) -> None:
    grid = grid_of(tmp_path, 'authors = ["ana@example.org"]')
    _, record = asked(grid)
    assert set(record) == set(NAMES)
    assert "does not list author ''" in record["west"]


# The app's folder and its settings


def test_the_written_folder_is_an_app_to_flower(tmp_path: Path) -> None:
    study = tmp_path / "a study.toml"
    write_app(tmp_path / "app", {"study": str(study), "min-clients": 3})
    config, warnings = load_and_validate(tmp_path / "app" / "pyproject.toml", check_module=True)
    assert warnings == []
    found = settings_of(config["tool"]["flwr"]["app"]["config"])
    assert (found["study"], found["min-clients"], found["out"]) == (str(study), 3, "")
    with pytest.raises(ConfigError, match="is there already"):
        write_app(tmp_path / "app", {"study": str(study)})


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({}, "must have study"),
        ({"study": "s.toml"}, "must be a whole path"),
        ({"study": "/s.toml", "out": "run"}, "must be a whole path"),
        ({"study": "/s.toml", "deadline": 0}, "deadline must be at least 1"),
        ({"study": "/s.toml", "min-clients": "3"}, "min-clients must be a whole number"),
        ({"study": "/s.toml", "dead-line": 3}, "did you mean 'deadline'"),
    ],
)
def test_wrong_settings_are_said(config: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        settings_of(config)


def test_the_command_writes_the_folder_and_says_what_to_set(tmp_path: Path) -> None:
    words = ["flower-app", str(tmp_path / "app"), "--study", str(tmp_path / "s.toml")]
    done = CliRunner().invoke(cli, [*words, "--out", str(tmp_path / "run")])
    assert done.exit_code == 0, done.output
    assert "export FLWR_TELEMETRY_ENABLED=0" in done.output
    assert f'out = "{tmp_path}/run"' in (tmp_path / "app" / "pyproject.toml").read_text()
