"""Whatever a network does: the result of those who took part, bit for bit, or an error in words.

Every schedule is a function of its number, so a failure can be run again by itself.
"""

import json
import os
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedclust import make
from fedclust.channels import LocalChannel, RemoteChannel
from fedclust.client.endpoint import ClientEndpoint
from fedclust.core import (
    ClientSampling,
    FedclustError,
    Message,
    Plan,
    Request,
    Round,
    Schema,
    TooFewClients,
    rounds,
)
from fedclust.privacy import FixedPoint, SecureChannel
from fedclust.privacy.cohorts import find_conflict

from ..support.damage import mutated
from ..support.in_process import NAMES, PLAIN, as_data, as_they_are, rows, write_kits

SCHEDULES = int(os.environ.get("FEDCLUST_SCHEDULES", "500"))
SCHEMA = Schema(2)
START = np.array([[0.0, 9.0], [4.0, 18.0], [8.0, 3.0]])
PLANS = [
    Plan(make("llf-cm", 3, init=START, max_rounds=6, tol=0.0)),
    Plan(make("llf-fcm", 3, init=START, max_rounds=4, tol=0.0)),
    Plan(make("fkm", 3, init=START, max_rounds=3)),
]


FATES = ("fine", "drop", "delay", "double", "damage", "kill")


class Nemesis:
    """A transport that drops, delays, doubles, reorders and damages answers, and kills clients."""

    def __init__(
        self,
        sites: dict[str, ClientEndpoint],
        rng: np.random.Generator,
        odds: Sequence[float] = (0.7, 0.08, 0.06, 0.06, 0.08, 0.02),
    ) -> None:
        self.sites, self.rng, self.odds = sites, rng, odds
        self.late: list[tuple[str, bytes]] = []
        self.dead: set[str] = set()

    def clients(self) -> list[str]:
        return [name for name in self.sites if name not in self.dead]

    def exchange(
        self, clients: Sequence[str], request: bytes, seconds: float
    ) -> Iterator[tuple[str, bytes | str]]:
        answers: list[tuple[str, bytes | str]] = [*self.late]
        self.late = []
        for client in clients:
            answers += self._suffered(client, self.sites[client].answer(request))
        for place in self.rng.permutation(len(answers)):
            yield answers[place]

    def _suffered(self, client: str, answer: bytes) -> list[tuple[str, bytes | str]]:
        fate = self.rng.choice(FATES, p=self.odds)
        if client in self.dead or fate == "drop":
            return []
        if fate == "kill":
            self.dead.add(client)
            return [(client, "the client is gone")]
        if fate == "delay":
            self.late.append((client, answer))
            return []
        if fate == "damage":
            return [(client, mutated(answer, self.rng))]
        return [(client, answer)] * (2 if fate == "double" else 1)


class Replayed:
    """The clients that took part in each round, and no others, in this process."""

    def __init__(self, cohorts: Sequence[tuple[str, ...]], data: Any = None) -> None:
        self._cohorts, self._local = list(cohorts), LocalChannel(data or as_data())
        self._round = -1

    def clients(self) -> tuple[str, ...]:
        self._round += 1
        return self._cohorts[self._round]

    def ask(self, plan: Plan, request: Request) -> Iterator[tuple[str, Message]]:
        return self._local.ask(plan, request)


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ClientEndpoint]:
    return write_kits(
        tmp_path_factory.mktemp("kits"), "max_queries = 1000000000\nmax_rounds = 1000000000"
    )


@pytest.mark.parametrize("part", range(10))
def test_a_result_is_that_of_those_who_took_part(
    sites: dict[str, ClientEndpoint], part: int
) -> None:
    finished = 0
    for number in range(part, SCHEDULES, 10):
        rng = np.random.default_rng(number)
        plan, quorum = PLANS[number % 3], 1 + number % 3
        remote = RemoteChannel(
            Nemesis(sites, rng), run=str(number), about={"study": "s"}, quorum=quorum, deadline=1.0
        )
        done: list[Round] = []
        try:
            who: Any = ClientSampling(min_clients=quorum)
            for last in rounds(plan, remote.over(PLAIN, SCHEMA), SCHEMA, sampling=who):
                done.append(last)
        except FedclustError as problem:
            assert str(problem)
            continue
        finished += 1
        expected = list(rounds(plan, Replayed([r.cohort for r in done]), SCHEMA))
        assert [r.cohort for r in expected] == [r.cohort for r in done]
        assert np.array_equal(expected[-1].state.centers, done[-1].state.centers), number
        assert set(done[-1].cohort) <= set(NAMES)
    assert finished > SCHEDULES / 10 / 5  # enough schedules end well: the test says something


BOX = Schema(2, low=np.full(2, -10.0), high=np.full(2, 40.0))
MASKED_PLANS = [
    (Plan(make(key, 3, init=START, max_rounds=most, tol=0.0), (FixedPoint.over(BOX),)), most)
    for key, most in (("llf-cm", 5), ("llf-fcm", 4))
]
MASKED_SCHEDULES = int(os.environ.get("FEDCLUST_MASKED_SCHEDULES", "12"))
ROUGH = (0.06, 0.05, 0.05, 0.05)  # drop, delay, double, damage


@pytest.mark.parametrize("n", [5, 10, 16])
def test_a_masked_result_is_that_of_cohorts_that_form_a_chain(
    n: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run ends with a sentence, or goes on without at least three clients."""
    pytest.importorskip("cryptography")
    table = np.vstack(list(rows(40).values()))
    tables = {f"c{i:02d}": table[i::n] for i in range(n)}
    ended: dict[str, int] = {"whole": 0, "fewer": 0, "sentence": 0}
    for number in range(MASKED_SCHEDULES):
        # The name of a run decides who leaves with a silent client.
        monkeypatch.setattr("secrets.token_hex", lambda size, name=f"run {number}": name)
        ended[_masked_schedule(number, tmp_path / str(number), tables)] += 1
    assert ended["whole"] >= 1
    assert ended["sentence"] >= 1
    assert (ended["fewer"] >= 1) == (n >= 8)


def _masked_schedule(number: int, folder: Path, tables: Any) -> str:
    """One schedule: how it ended, after checks of what came of it."""
    sites = write_kits(folder, tables=tables)
    rng, plan, most = np.random.default_rng(number), *MASKED_PLANS[number % 2]
    kills = (0.0, 0.003, 0.01)[number % 3]
    network = Nemesis(sites, rng, (1 - sum(ROUGH) - kills, *ROUGH, kills))
    remote = RemoteChannel(network, run=str(number), about={"study": "s"}, deadline=1.0)
    done: list[Round] = []
    try:
        channel = SecureChannel(remote.over(as_they_are(-10.0, 40.0), BOX), attempts=6)
        for last in rounds(plan, channel, BOX):
            done.append(last)
    except TooFewClients as problem:
        assert re.search(
            r"no usable answer from c\d\d.*, and the others cannot go on", str(problem)
        )
    cohorts = list(dict.fromkeys(r.cohort for r in done))
    for i, cohort in enumerate(cohorts):
        assert find_conflict(cohort, cohorts[:i], least=3) == ""
    for site in sites:  # what clients have joined, with rounds that came to nothing
        joined = _joined(folder / site)
        assert all(find_conflict(cohort, joined[:i], 3) == "" for i, cohort in enumerate(joined))
        assert {c for c in cohorts if site in c} <= set(joined)
    if done:
        replayed = Replayed([r.cohort for r in done], tables)
        again = list(islice(rounds(plan, replayed, BOX), len(done)))
        assert np.array_equal(again[-1].state.centers, done[-1].state.centers), number
    if len(done) < most:
        return "sentence"
    return "whole" if len(cohorts) == 1 else "fewer"


def _joined(kit: Path) -> list[tuple[str, ...]]:
    lines = map(json.loads, (kit / "ledger.jsonl").read_text().splitlines())
    return [tuple(line["members"]) for line in lines if line["event"] == "cohort"]
