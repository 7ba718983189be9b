"""Halves of rows: disjoint, dealt in the same way every time, clustered side by side."""

from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedclust.algorithms import make
from fedclust.channels import LocalChannel
from fedclust.clustering.choose_k import choose
from fedclust.clustering.choose_k.halves import HalfSeeding, HalvesCMeans, HalvesFuzzyCMeans, halves
from fedclust.core import ConfigError, Data, EmptyRound, Plan, Request, Schema, respond, run
from fedclust.tiers import transforms_for

from .cases import SCHEMA, Recorder, split, table
from .test_no_row_leaves import leaked, small_clients


@given(n=st.integers(0, 60), seed=st.integers(0, 1000))
def test_halves_are_disjoint_equal_and_the_same_every_time(n: int, seed: int) -> None:
    X = np.random.default_rng(seed).normal(size=(n, 2))
    data = Data.of(X, np.arange(n) + 1.0)
    first, second = halves(data, seed)
    assert abs(len(first) - len(second)) <= 1
    both = np.concatenate([first.weight, second.weight])
    assert sorted(both) == list(np.arange(n) + 1.0)
    np.testing.assert_array_equal(first.X, X[first.weight.astype(int) - 1])
    again = halves(Data.of(X), seed)
    np.testing.assert_array_equal(again[0].X, first.X)
    assert len(again[0].weight) == 0


def test_halves_depend_on_the_split_and_lone_rows_go_to_either() -> None:
    data = Data.of(table())
    assert halves(data, 1)[0].X.tobytes() != halves(data, 2)[0].X.tobytes()
    alone = [len(halves(Data.of(row[None]), 1)[0]) for row in table()]
    assert 20 < sum(alone) < 70


@pytest.mark.parametrize("kind", ["llf-cm", "llf-fcm"])
def test_both_halves_are_clustered_as_if_each_was_alone(kind: str) -> None:
    data, start = split(table(), np.arange(90) % 3), table()[:6] + 0.01
    both_kind: Any = HalvesCMeans if kind == "llf-cm" else HalvesFuzzyCMeans
    plan = Plan(both_kind(6, init=start, split=5, max_rounds=4, tol=0.0))
    both = run(plan, LocalChannel(data, strict=True), SCHEMA).model
    for half in (0, 1):
        rows = {name: halves(one, 5)[half] for name, one in data.items()}
        own = make(kind, 3, init=start[3 * half : 3 * half + 3], max_rounds=4, tol=0.0)
        alone = run(Plan(own), LocalChannel(rows), SCHEMA).model
        np.testing.assert_allclose(both[3 * half : 3 * half + 3], alone, rtol=1e-12)


def test_a_half_is_seeded_from_its_own_rows() -> None:
    """Rows of the other half may be anywhere: the seeds do not move."""
    X = table()
    in_first = {row.tobytes() for row in halves(Data.of(X), 5)[0].X}
    moved = np.array([row if row.tobytes() in in_first else row + 50 for row in X])
    moved[0] = X[0]  # the coins are a function of the first row
    seeds = [
        run(Plan(HalfSeeding(3, split=5)), LocalChannel({"a": rows}), SCHEMA).model
        for rows in (X, moved)
    ]
    np.testing.assert_array_equal(*seeds)
    other = run(Plan(HalfSeeding(3, split=5, second=True)), LocalChannel({"a": X}), SCHEMA).model
    assert not np.allclose(other, seeds[0])


def test_settings_of_a_half_are_checked() -> None:
    with pytest.raises(ConfigError, match="second must be True or False"):
        HalfSeeding(3, second=1)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="split must be an integer"):
        HalfSeeding(3, split=-1)


def test_a_step_over_halves_can_be_repeated() -> None:
    plan = Plan(HalvesCMeans(4, init=table()[:4], split=1), seed=4)
    down = plan.algorithm.broadcast(plan.algorithm.start(SCHEMA, plan.rng("server", -1)))
    data = Data.of(table())
    replies = [respond(plan, Request(0, ("a",), down), "a", data) for _ in range(2)]
    first, second = ([a.tobytes() for a in reply.arrays().values()] for reply in replies)
    assert first == second


@pytest.mark.parametrize("kind", [HalvesCMeans, HalvesFuzzyCMeans])
@given(seed=st.integers(0, 10_000))
def test_under_the_papers_rules_no_row_leaves_through_a_half(kind: Any, seed: int) -> None:
    data = small_clients(seed)
    start = np.random.default_rng([seed, 1]).uniform(-8, 8, (6, 2))
    chosen = kind(6, init=start, max_rounds=5, split=seed)
    channel = Recorder(data)
    plan = Plan(chosen, transforms_for(chosen, 2, "paper"), seed)
    with suppress(EmptyRound):  # the rules may withhold everything
        run(plan, channel, SCHEMA)
    assert leaked(channel, data) == 0


@pytest.mark.parametrize("key", ["llf-cm", "llf-fcm", "fkm"])
def test_a_whole_choice_sends_no_row_under_the_papers_rules(key: str) -> None:
    rng = np.random.default_rng(0)
    data = split(rng.normal(size=(200, 2)) + 5 * rng.integers(0, 3, (200, 1)), np.arange(200) % 4)
    channel = Recorder(data)
    choose(make(key, 3), channel, Schema(2), range(2, 7), privacy="paper")
    vectors = [sent for sent in channel.up if not hasattr(sent[2], "table")]  # counts of rows
    assert len(vectors) < len(channel.up)
    channel.up = vectors
    assert leaked(channel, data) == 0
