"""Whatever a network does: the result of those who took part, bit for bit, or an error in words.

Every schedule is a function of its number, so a failure can be run again by itself.
"""

import os
from collections.abc import Iterator, Sequence
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
    rounds,
)

from ..support.damage import mutated
from ..support.in_process import NAMES, PLAIN, as_data, write_kits

SCHEDULES = int(os.environ.get("FEDCLUST_SCHEDULES", "500"))
SCHEMA = Schema(2)
START = np.array([[0.0, 9.0], [4.0, 18.0], [8.0, 3.0]])
PLANS = [
    Plan(make("llf-cm", 3, init=START, max_rounds=6, tol=0.0)),
    Plan(make("llf-fcm", 3, init=START, max_rounds=4, tol=0.0)),
    Plan(make("fkm", 3, init=START, max_rounds=3)),
]


class Nemesis:
    """A transport that drops, delays, doubles, reorders and damages answers, and kills clients."""

    def __init__(self, sites: dict[str, ClientEndpoint], rng: np.random.Generator) -> None:
        self.sites, self.rng = sites, rng
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
        fate = self.rng.choice(
            ["fine", "drop", "delay", "double", "damage", "kill"],
            p=[0.7, 0.08, 0.06, 0.06, 0.08, 0.02],
        )
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

    def __init__(self, cohorts: Sequence[tuple[str, ...]]) -> None:
        self._cohorts, self._local = list(cohorts), LocalChannel(as_data())
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
