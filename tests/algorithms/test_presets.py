"""Presets: what papers do with an algorithm, beside what its authors' code does."""

import numpy as np
import pytest

from fedclust import ConfigError, make, make_seeding
from fedclust.algorithms.momentum import MomentumState
from fedclust.channels import LocalChannel
from fedclust.core import Data, Plan, Request, Schema, respond, run


def reply(chosen: object, rows: list[float]) -> np.ndarray:
    """The centres that a client with these rows sends in the first round, sorted."""
    plan = Plan(chosen)  # type: ignore[arg-type]
    down = plan.algorithm.broadcast(plan.algorithm.start(Schema(1), plan.rng("server", -1)))
    data = Data.of(np.array(rows)[:, None])
    sent = respond(plan, Request(0, ("a",), down), "a", data)
    return np.sort(np.asarray(sent.arrays()["centers"]).ravel())


def test_the_baseline_of_the_dwf_paper_leaves_small_clients_out() -> None:
    """It calls one k-means per client k-FED; there, a client of fewer than k rows sends nothing."""
    baseline = make("one-shot", 3, preset="baseline")
    assert (baseline.parameter("local_restarts"), baseline.parameter("restarts")) == (1, 1)
    assert len(reply(baseline, [1.0, 5.0])) == 0
    assert len(reply(baseline, [1.0, 5.0, 9.0])) == 3


def test_the_baseline_of_the_llf_paper_draws_plain_starts() -> None:
    baseline = make("c2f-fcm", 3, preset="baseline")
    assert baseline.parameter("restarts") == 1
    assert not baseline.parameter("greedy")
    assert make("c2f-fcm", 3, preset="baseline", restarts=4).parameter("restarts") == 4


def test_an_unknown_preset_is_refused_with_those_that_exist() -> None:
    with pytest.raises(ConfigError, match="'default' or 'reference' or 'baseline', got 'best'"):
        make("one-shot", 3, preset="best")
    with pytest.raises(ConfigError, match="'default' or 'reference', got 'baseline'"):
        make("fkm", 3, preset="baseline")


def test_fkm_seeds_with_few_nearest_rows_are_dropped_as_in_the_authors_code() -> None:
    rows = [0.0, 0.1, 0.2, 50.0]  # the seed at 50 has one row
    for preset, n_sent in (("reference", 1), ("default", 2)):
        chosen = make_seeding("fkm", 2, preset=preset, neighbours=1)
        assert len(reply(chosen, rows)) == n_sent


def test_fkm_suppresses_by_the_counts_after_the_update_as_the_authors_do() -> None:
    """Two means of two rows each. After the update, the first has one row and the second three."""
    start = np.array([[1.0], [9.5]])
    rows = [0.0, 5.0, 6.0, 6.5]
    for preset, sent in (("default", [2.5, 6.25]), ("reference", [6.25])):
        assert reply(make("fkm", 2, init=start, preset=preset), rows).tolist() == sent


@pytest.mark.parametrize("min_rounds", [1, 6])
def test_patience_counts_from_the_first_round_that_may_end_the_run(min_rounds: int) -> None:
    """Without momentum the first moves are the smallest, and must not count."""
    chosen = make("dwf", 1, init=np.zeros((1, 1)), min_rounds=min_rounds, patience=3, tol=0.0)
    state = chosen.start(Schema(1), np.random.default_rng(0))
    assert isinstance(state, MomentumState)
    moves = [0.001, *[1.0 + n for n in range(20)]]  # never smaller than in the round before
    for move in moves:
        if chosen.done(state):
            break
        state = chosen.step(state, state.centers + move)  # type: ignore[attr-defined]
    assert state.round == min_rounds + 2


def test_the_dwf_reference_may_end_after_seventeen_rounds() -> None:
    """The authors count from 0 and need 16 full rounds before the one that may be the last."""
    rows = np.zeros((6, 1))
    chosen = make("dwf", 1, preset="reference", init=np.zeros((1, 1)))
    assert run(Plan(chosen), LocalChannel({"a": Data.of(rows)}), Schema(1)).n_rounds == 17


@pytest.mark.parametrize("name", ["kmeans", "KMeans", "c-means"])
def test_common_names_lead_to_the_keys(name: str) -> None:
    with pytest.raises(ConfigError, match="k-means is 'llf-cm', fuzzy c-means is 'llf-fcm'"):
        make(name, 3)
