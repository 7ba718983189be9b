"""Who must be there, who must answer, and who is asked again."""

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fedclust.algorithms import make
from fedclust.channels import LocalChannel, RemoteChannel
from fedclust.core import ClientSampling, Data, Plan, Schema, TooFewClients, rounds, run
from fedclust.deploy.conditions import Conditions, Watch
from fedclust.deploy.quorum import Quorum, RunOptions
from fedclust.privacy import CheckedChannel, FixedPoint, SecureChannel
from fedclust.study.read import read_study
from fedclust.study.settings import Study
from fedclust.tiers import Secure, SecurePrivate, Unprotected

from ..support.hostile_server import START, with_arrays
from ..support.in_process import NAMES, PLAIN, InProcess, Spoil, rows, write_kits

SCHEMA = Schema(2, low=np.full(2, -50.0), high=np.full(2, 50.0))
_COLUMNS = [{**column, "low": -50.0, "high": 50.0} for column in PLAIN["preparation"]["columns"]]
FORM = {"preparation": {**PLAIN["preparation"], "columns": _COLUMNS}}


class Arriving:
    """A server to which a client more comes with every question."""

    def __init__(self, *names: str) -> None:
        self.names, self.asked = names, 0

    def clients(self) -> list[str]:
        self.asked += 1
        return list(self.names[: self.asked])


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time passes by questions: a second each."""
    clock = iter(range(10_000))
    passing = SimpleNamespace(monotonic=lambda: float(next(clock)), sleep=lambda seconds: None)
    monkeypatch.setattr("fedclust.deploy.quorum.time", passing)
    monkeypatch.setattr("fedclust.deploy.conditions.time", passing)


def watch(kit: Path, said: list[str] | None = None) -> Watch:
    """What is said, without what takes long."""
    said = [] if said is None else said
    return Watch(Conditions(kit), (), math.inf, lambda line: said.append(line["message"]))


def study(folder: Path, clients: str = "", least: int = 1) -> Study:
    (folder / "s.toml").write_text(
        f"[sampling]\nmin_clients = {least}\n{clients}\n"
        '[clustering]\nalgorithm = "llf-cm"\nn_clusters = 2\n'
    )
    return read_study(folder / "s.toml", files=False)


def test_without_a_list_of_clients_the_others_get_their_grace(tmp_path: Path) -> None:
    quorum = Quorum.of(study(tmp_path), Unprotected())
    there = quorum.wait(Arriving(*NAMES), RunOptions(grace=6.0), watch(tmp_path))
    assert there == list(NAMES)


def test_where_everybody_listed_is_there_nobody_is_waited_for(tmp_path: Path) -> None:
    listed = '[clients]\nnorth = "a.csv"\nsouth = "b.csv"\n'
    quorum = Quorum.of(study(tmp_path, listed), Unprotected())
    arriving = Arriving(*NAMES)
    there = quorum.wait(arriving, RunOptions(grace=1e9), watch(tmp_path))
    assert there == ["north", "south"]
    assert arriving.asked == 2


def test_clients_that_never_came_are_named(tmp_path: Path) -> None:
    quorum = Quorum.of(study(tmp_path, least=3), Unprotected(), frozenset(NAMES))
    with pytest.raises(TooFewClients, match="connected: north, south\\); not connected: west; if"):
        quorum.wait(Arriving("north", "south"), RunOptions(wait=9.0), watch(tmp_path))


@pytest.mark.parametrize("tier", [Secure(), SecurePrivate(min_cohort=4)])
def test_masks_raise_the_quorum_and_say_so(tmp_path: Path, tier: Any) -> None:
    said: list[str] = []
    quorum = Quorum.of(study(tmp_path, least=2), tier)
    assert quorum.needed == tier.min_cohort
    with pytest.raises(TooFewClients, match=rf"2 clients connected .* \({tier.min_cohort} needed"):
        quorum.wait(Arriving("a", "b"), RunOptions(wait=9.0), watch(tmp_path, said))
    assert f"({tier.min_cohort} needed: the minimum for tier = {tier.name!r}" in said[-1]


def test_a_study_may_ask_for_more_than_masks_do(tmp_path: Path) -> None:
    quorum = Quorum.of(study(tmp_path, least=5), Secure())
    assert (quorum.needed, quorum.text) == (5, "5 needed")


def masked(folder: Path, spoil: Spoil) -> tuple[Plan, InProcess, RemoteChannel]:
    """A plan under masks, over three clients all of whom must answer."""
    pytest.importorskip("cryptography")
    plan = Plan(
        make("llf-cm", 3, init=START, max_rounds=2, tol=0.0),
        (FixedPoint.over(SCHEMA),),
    )
    transport = InProcess(write_kits(folder), spoil)
    return plan, transport, RemoteChannel(transport, about={"study": "s"}, quorum=3)


def test_a_lost_masked_answer_is_asked_for_again_of_the_silent_alone(tmp_path: Path) -> None:
    plan, transport, remote = masked(
        tmp_path, lambda n, client, raw: "lost" if client == "west" and n in (1, 3, 4) else raw
    )
    done = run(plan, SecureChannel(remote.over(FORM, SCHEMA)), SCHEMA)
    local = LocalChannel({name: Data.of(table) for name, table in rows().items()})
    assert done.model.tobytes() == run(plan, local, SCHEMA).model.tobytes()
    assert [line.n_clients for line in done.history] == [3, 3]
    alone = ("west",)
    assert transport.asked == [NAMES, alone, NAMES, alone, alone, NAMES]


@pytest.mark.parametrize("from_exchange", [1, 2])
def test_who_stays_silent_ends_a_masked_run_with_its_reason(
    tmp_path: Path, from_exchange: int
) -> None:
    plan, transport, remote = masked(
        tmp_path,
        lambda n, client, raw: "no power" if client == "west" and n >= from_exchange else raw,
    )
    with pytest.raises(TooFewClients, match="west: no power"):
        run(plan, SecureChannel(remote.over(FORM, SCHEMA), attempts=3), SCHEMA)
    assert transport.asked.count(("west",)) == 2


def test_the_channels_quorum_holds_for_plans_that_ask_for_less(tmp_path: Path) -> None:
    plan, _, remote = masked(tmp_path, lambda n, client, raw: "asleep" if client == "west" else raw)
    way = remote.over(FORM, SCHEMA)
    words = "llf-cm, round 0: 2 of 3 clients answered, 3 are needed; west: asleep"
    with pytest.raises(TooFewClients, match=words):
        next(rounds(plan, way, SCHEMA))


def test_a_plan_may_ask_for_more_than_the_channel_does(tmp_path: Path) -> None:
    transport = InProcess(
        write_kits(tmp_path), lambda n, client, raw: "asleep" if client == "west" else raw
    )
    way = RemoteChannel(transport, about={"study": "s"}).over(FORM, SCHEMA)
    plan = Plan(make("llf-cm", 3, init=START))
    with pytest.raises(TooFewClients, match="2 of 3 clients answered, 3 are needed; west: asleep"):
        next(rounds(plan, way, SCHEMA, sampling=ClientSampling(min_clients=3)))
    assert next(rounds(plan, way, SCHEMA)).cohort == ("north", "south")


def test_who_is_left_out_for_its_sums_is_missing_from_the_quorum(tmp_path: Path) -> None:
    transport = InProcess(
        write_kits(tmp_path),
        lambda n, client, raw: with_arrays(raw, weight=-np.ones(3)) if client == "west" else raw,
    )
    remote = RemoteChannel(transport, about={"study": "s"}, quorum=3)
    way = CheckedChannel(remote.over(FORM, SCHEMA), SCHEMA)
    words = "2 of 3 clients answered, 3 are needed; west: round 0: weights that are negative"
    with pytest.raises(TooFewClients, match=words):
        next(rounds(Plan(make("llf-cm", 3, init=START)), way, SCHEMA))


def test_a_long_wait_names_those_who_are_waited_for(tmp_path: Path) -> None:
    said: list[str] = []
    listed = '[clients]\nnorth = "a.csv"\nwest = "c.csv"\n'
    quorum = Quorum.of(study(tmp_path, listed, least=2), Unprotected())
    watching = Watch(Conditions(tmp_path), (), 5.0, lambda line: said.append(line["message"]))
    with pytest.raises(TooFewClients):
        quorum.wait(Arriving("north"), RunOptions(wait=60.0), watching)
    waits = [text for text in said if text.startswith("waiting for west, for ")]
    assert len(waits) > 1
    assert waits[0].endswith(" s at most (2 needed)")
    assert len(set(waits)) == len(waits), "the time that is left gets shorter"
