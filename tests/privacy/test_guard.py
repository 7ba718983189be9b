"""The guard: sums are repeated while too few members of a cluster changed."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedclust import ConfigError
from fedclust.algorithms import make
from fedclust.algorithms.centers import Centers
from fedclust.channels import LocalChannel
from fedclust.core import (
    Data,
    Plan,
    Refusal,
    Request,
    Schema,
    respond,
    run,
)
from fedclust.privacy import ChangeGuard, ClientPolicy, Ledger, QueryLimit
from fedclust.typing import FloatArray

from .asked import answer


def centers_at(*places: float) -> list[list[float]]:
    return [[place, 0.5] for place in places]


def line(n: int = 40) -> FloatArray:
    """Rows on a line, a step of 1 / n apart."""
    return np.stack([(np.arange(n) + 0.5) / n, np.full(n, 0.5)], axis=1)


class Guarded:
    """A client on a line, cut in two at places of the server's choice."""

    def __init__(self, policy: ClientPolicy | None = None, X: FloatArray | None = None) -> None:
        self.policy, self.X = policy or ClientPolicy(), line() if X is None else X
        self.round = -1

    def cut(self, place: float, seed: int = 0) -> list[float]:
        self.round += 1
        sent: Any = answer(
            self.policy,
            centers_at(place - 0.5, place + 0.5),
            round=self.round,
            transforms=(ChangeGuard(5),),
            X=self.X,
            seed=seed,
        )
        return list(sent.weight.tolist())


def test_sums_are_repeated_until_enough_members_changed() -> None:
    client = Guarded()
    assert client.cut(0.5) == [20, 20]
    assert client.cut(0.475) == [20, 20]  # one record moved
    assert client.cut(0.4) == [20, 20]  # four
    assert client.cut(0.375) == [15, 25]  # five
    assert client.cut(0.5) == [20, 20]  # back where it was: nothing new
    assert client.cut(0.4) == [20, 20]  # one from the second last, four from the last


def test_small_clusters_and_their_complements_are_not_told_of() -> None:
    assert Guarded().cut(0.1) == [0, 0]  # four records on one side
    assert Guarded().cut(0.9) == [0, 0]
    assert Guarded().cut(-2.0) == [0, 40]


def test_other_runs_are_compared_too() -> None:
    client = Guarded()
    assert client.cut(0.5) == [20, 20]
    assert client.cut(0.45, seed=1) == [0, 0]  # two records from what another run told
    assert client.cut(0.375, seed=1) == [15, 25]


def test_the_guard_outlives_a_process(tmp_path: Path) -> None:
    def policy() -> ClientPolicy:
        return ClientPolicy(ledger=Ledger(tmp_path / "a.jsonl"))

    assert Guarded(policy()).cut(0.5) == [20, 20]
    assert Guarded(policy()).cut(0.475, seed=1) == [0, 0]
    with pytest.raises(Refusal, match="number of rows has changed"):
        Guarded(policy(), line(41)).cut(0.3)
    policy().ledger.reset("the data of another year")
    assert Guarded(policy(), line(41)).cut(0.3) == [12, 29]


def test_clusters_that_exchange_records_are_told_of_together() -> None:
    """Six records go from the first to the second cluster, one from the second to the third."""
    policy, X = ClientPolicy(), line(60)

    def sums(*places: float, round: int) -> Any:
        plan = Plan(make("llf-cm", 4), (ChangeGuard(5),))
        down = Centers(np.array(centers_at(*places)))
        return respond(plan, Request(round, ("a",), down), "a", Data(X, np.empty(0), policy=policy))

    first = sums(0.1, 0.3, 0.5, 0.9, round=0)
    assert first.weight.tolist() == [12, 12, 18, 18]
    second = sums(-0.1, 0.3, 0.47, 0.9, round=1)
    told, past = second.weight, first.weight
    assert told.sum() == past.sum()
    changed = np.abs(told - past)
    assert ((changed == 0) | (changed >= 5)).all()


def test_the_same_question_gets_the_same_answer() -> None:
    client = Guarded()
    first = client.cut(0.5)
    client.round -= 1
    assert client.cut(0.5) == first
    assert len(client.policy.released) == 1


def test_a_client_without_rows_has_nothing_to_guard() -> None:
    assert Guarded(X=np.empty((0, 2))).cut(0.5) == [0, 0]


def test_guards_are_for_sums_of_disjoint_clusters() -> None:
    with pytest.raises(ConfigError, match="llf-fcm has no sums of disjoint clusters"):
        Plan(make("llf-fcm", 2), (ChangeGuard(5),))
    with pytest.raises(ConfigError, match="change must be an integer of at least 2"):
        ChangeGuard(1)
    with pytest.raises(ConfigError, match="max_queries must be an integer"):
        QueryLimit(0)


def test_many_clusters_are_compared_one_by_one() -> None:
    """Unions of two grow with the square: beyond 40 clusters they are not looked at."""
    X = np.random.default_rng(0).random((600, 2))
    start = X[:45] + 0.001
    plan = Plan(make("llf-cm", 45, init=start, max_rounds=3), (ChangeGuard(2),))
    done = run(plan, LocalChannel({"a": X, "b": X[::-1] * 0.9}), Schema(2))
    assert np.isfinite(done.model).all()
