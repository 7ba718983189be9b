"""Sums of bounded influence, and starts from cells: with and without noise."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fedclust import ConfigError, MessageError
from fedclust.algorithms import make
from fedclust.algorithms.bounded_c_means import BoundedCMeans, CubeState
from fedclust.algorithms.cell_seeding import CellSeeding
from fedclust.algorithms.centers import CenterState
from fedclust.channels import LocalChannel
from fedclust.core import Data, Plan, Schema, run
from fedclust.privacy import SecureChannel
from fedclust.tiers import Private

pytest.importorskip("opendp")
from .noisy import BOX, s1


def test_bounded_rounds_without_noise_are_k_means() -> None:
    """Where nothing is clipped, a round is a Lloyd step."""
    X, _ = s1(2000, 0)
    start = X[:15]
    bounded = BoundedCMeans(15, np.zeros(2), np.ones(2), init=start, rounds=1)
    wide = replace(bounded)
    state = wide.start(BOX, None)  # type: ignore[arg-type]
    down = replace(wide.broadcast(state), reach=2 * wide.radius)
    sums = wide.client_step(down, Data.of(X), None).values.reshape(15, 3)  # type: ignore[arg-type]
    moved = down.centers + sums[:, 1:] / sums[:, :1] * down.reach / 2 * wide.unit
    lloyd: CenterState = make("llf-cm", 15, init=start).start(BOX, None)  # type: ignore[arg-type]
    plan = Plan(make("llf-cm", 15, init=lloyd.centers, max_rounds=1))
    np.testing.assert_allclose(moved, run(plan, LocalChannel({"a": X}), BOX).model, atol=1e-5)


def test_centres_with_too_little_weight_stay_and_all_stay_inside() -> None:
    chosen = BoundedCMeans(2, np.zeros(2), np.ones(2), init=np.array([[0.1, 0.1], [5.0, 0.9]]))
    state = chosen.start(BOX, None)  # type: ignore[arg-type]
    quiet = type(chosen.client_step(chosen.broadcast(state), Data.of(np.ones((1, 2))), None))  # type: ignore[arg-type]
    after = chosen.server_step(state, quiet(np.zeros(6, np.int64)), None)  # type: ignore[arg-type]
    assert np.array_equal(after.centers, state.centers)
    pushed = quiet(np.array([2**30, 2**40, 2**40, 2**30, 2**40, 2**40]))
    assert (chosen.model(chosen.server_step(state, pushed, None)) <= 1.0).all()  # type: ignore[arg-type]
    with pytest.raises(MessageError, match="expected 6 sums for 2 centres of 2 features, got 3"):
        chosen.server_step(state, quiet(np.zeros(3, np.int64)), None)  # type: ignore[arg-type]


def test_one_cluster_and_a_start_in_the_bounds() -> None:
    X, _ = s1(500, 0)
    alone = BoundedCMeans(1, np.zeros(2), np.ones(2), rounds=2)
    done = run(Plan(alone), LocalChannel({"a": X}), BOX)
    np.testing.assert_allclose(done.model[0], X.mean(axis=0), atol=1e-5)
    assert alone.assign(done.state, Data.of(X)).tolist() == [0] * 500
    soft = BoundedCMeans(2, np.zeros(2), np.ones(2), fuzzifier=2.0)
    done = run(Plan(soft), LocalChannel({"a": X}), BOX)
    assert soft.assign(done.state, Data.of(X[:5])).shape == (5, 2)


@pytest.mark.parametrize("F", [1, 2, 3, 5])
def test_cells_find_the_clusters_and_no_split_changes_a_bit(F: int) -> None:
    rng = np.random.default_rng(F)
    y = rng.integers(0, 3, 900)
    X = np.clip(rng.normal(np.array([0.2, 0.5, 0.8])[y][:, None], 0.03, (900, F)), 0, 1)
    schema = Schema(F, low=np.zeros(F), high=np.ones(F))
    plan = Plan(CellSeeding(3, schema.low, schema.high), seed=1)  # type: ignore[arg-type]
    found = [
        run(plan, LocalChannel(data), schema).model
        for data in ({"all": X}, {"a": X[::3], "b": X[1::3], "c": X[2::3]})
    ]
    assert found[0].tobytes() == found[1].tobytes()
    truth = np.array([X[y == c].mean(axis=0) for c in range(3)])
    order = np.argsort(found[0][:, 0])
    np.testing.assert_allclose(found[0][order], truth, atol=0.05)


def test_cells_run_under_masks() -> None:
    X, _ = s1(900, 0)
    plan = Plan(CellSeeding(15, np.zeros(2), np.ones(2), cells=30), seed=1)
    data = {"a": X[::3], "b": X[1::3], "c": X[2::3]}
    open_, masked = (
        run(plan, channel, BOX).model
        for channel in (LocalChannel(data), SecureChannel(LocalChannel(data)))
    )
    assert open_.tobytes() == masked.tobytes()


def test_cells_of_noise_alone_still_give_a_start() -> None:
    empty = Plan(CellSeeding(3, np.zeros(2), np.ones(2), noise=1e9))
    done = run(empty, LocalChannel({"a": np.full((20, 2), 0.5)}), BOX)
    assert done.model.shape == (3, 2)


def test_odd_sizes_are_refused_by_the_server() -> None:
    flat = CellSeeding(2, np.zeros(2), np.ones(2))
    state = flat.start(BOX, None)  # type: ignore[arg-type]
    some = type(
        flat.client_step(flat.broadcast(state), Data.of(np.ones((1, 2))), None)  # type: ignore[arg-type]
    )(np.zeros(5, np.int64))
    with pytest.raises(MessageError, match="expected counts of 576 cells, got 5"):
        flat.server_step(state, some, None)  # type: ignore[arg-type]
    deep = CellSeeding(2, np.zeros(4), np.ones(4))
    with pytest.raises(MessageError, match="expected .* moments for"):
        deep.server_step(deep.start(BOX, None), some, None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"low": np.ones(2)}, "low must be below high"),
        ({"cells": 1}, "cells must be an integer"),
        ({"cells": 2000}, "cells=2000 per direction make more than"),
        ({"restarts": 0}, "restarts must be an integer"),
    ],
)
def test_odd_settings_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        CellSeeding(**{"n_clusters": 2, "low": np.zeros(2), "high": np.ones(2), **settings})


def test_tiers_adapt_what_they_can_and_refuse_the_rest() -> None:
    tier = Private()
    ready: Any = tier.adapt(make("llf-fcm", 3, fuzzifier=1.5), BOX, 4)
    assert (ready.key, ready.fuzzifier, ready.rounds) == ("bounded-c-means", 1.5, 3)
    assert ready.noise == pytest.approx(2.0 / tier.mu(ready))  # of four clients
    assert tier.adapt(ready, BOX, 4) is ready
    seeding: Any = tier.seeding(ready, BOX, 4)
    assert seeding.noise == pytest.approx(2.0 / tier.mu(seeding))
    with pytest.raises(ConfigError, match="no bound is known on how much one record .* of 'ewf'"):
        tier.adapt(make("ewf", 3), BOX, 4)
    with pytest.raises(ConfigError, match="messages of 'fkm' stack"):
        tier.adapt(make("fkm", 3), BOX, 4)
    assert isinstance(CubeState(np.zeros((1, 1)), np.zeros(1), np.zeros(1), 0, 0.0), CubeState)


def test_rows_of_other_columns_are_refused() -> None:
    bounded = BoundedCMeans(2, np.zeros(2), np.ones(2))
    with pytest.raises(MessageError, match="bounds of 2 columns, but rows of 3"):
        bounded.to_cube(Data(np.zeros((4, 3)), np.empty(0)))
