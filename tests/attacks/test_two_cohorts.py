"""A client's records from totals over several cohorts: with and without the rule for cohorts."""

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pytest

from fedclust.algorithms import make
from fedclust.channels import LocalChannel
from fedclust.core import Data, Message, Plan, Refusal, Request, Schema, run
from fedclust.privacy import FixedPoint, SecureChannel
from fedclust.typing import FloatArray

from .hostile import table_of
from .two_cohorts import ATTACKS, DATA, recovered, without_rule

pytest.importorskip("cryptography")


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("attack", ATTACKS)
def test_a_clients_records_are_hidden_by_the_rule_alone(attack: str, name: str) -> None:
    """Nearly all records without the rule, in sixty questions, and none with it."""
    with without_rule():
        found, refused = recovered(name, ATTACKS[attack])
    assert refused == []
    assert found >= 30
    found, refused = recovered(name, ATTACKS[attack])
    assert found == 0
    assert all("a total over these clients is refused" in why for why in refused)
    assert refused


class Pretending(LocalChannel):
    """A server that reads the answers of a client, and says there were none."""

    def __init__(self, data: dict[str, Data]) -> None:
        super().__init__(data, strict=True)
        self.silent = ""
        self.held: dict[tuple[tuple[str, ...], int], dict[str, Message]] = {}

    def ask(self, plan: Plan, request: Request) -> Iterator[tuple[str, Message]]:
        for client, message in super().ask(plan, request):
            if plan.algorithm.key == "llf-cm":
                self.held.setdefault((request.cohort, request.round), {})[client] = message
            if client != self.silent:
                yield client, message

    def totals(self) -> dict[tuple[str, ...], FloatArray]:
        """Sums by cluster in round 0, of every cohort whose answers are complete."""
        found = {}
        for (cohort, round), messages in self.held.items():
            if round == 0 and set(messages) == set(cohort):
                merged = type(next(iter(messages.values()))).merge(list(messages.values()))
                found[cohort] = merged.arrays()["total"]
        return found


def federation(name: str, n: int) -> tuple[Pretending, Plan, Schema]:
    X = table_of(name, 130)
    F = X.shape[1]
    schema = Schema(F, low=np.zeros(F), high=np.ones(F))
    server = Pretending({f"c{i}": Data.of(X[i::n]) for i in range(n)})
    plan = Plan(make("llf-cm", 2, init=X[:2], max_rounds=2, tol=0.0), (FixedPoint.over(schema),))
    return server, plan, schema


@pytest.mark.parametrize("name", DATA)
def test_a_server_that_calls_clients_silent_gets_totals_of_three(name: str) -> None:
    """In ten runs it names each of ten clients once. Two cohorts are all that answer."""
    server, plan, schema = federation(name, 10)
    refused = 0
    for i in range(10):
        channel = SecureChannel(server, attempts=1)
        server.silent = f"c{i}"
        try:
            run(plan, channel, schema)
        except Refusal as refusal:
            assert "a total over these clients is refused" in str(refusal)
            refused += 1
        server.silent = ""
    whole, fewer = sorted(server.totals(), key=len, reverse=True)
    assert (len(whole), len(fewer)) == (10, 7)
    assert refused >= 7  # a run can name another of the three that have left
    assert _computed(server, plan, schema) == {frozenset(whole) - frozenset(fewer)}


def _computed(server: Pretending, plan: Plan, schema: Schema) -> set[frozenset[str]]:
    """The groups of up to three clients whose own sums are a difference of two totals."""
    totals = list(server.totals().values())
    differences = {(a - b).tobytes() for a in totals for b in totals}
    own: dict[str, FloatArray] = {}
    open_channel = LocalChannel(dict(server._data))
    state = plan.algorithm.start(schema, plan.rng("server", -1))
    request = Request(0, tuple(server._data), plan.algorithm.broadcast(state))
    for client, message in open_channel.ask(plan, request):
        own[client] = message.arrays()["total"]
    groups = [g for size in (1, 2, 3) for g in combinations(own, size)]
    return {
        frozenset(g) for g in groups if np.sum([own[c] for c in g], axis=0).tobytes() in differences
    }
