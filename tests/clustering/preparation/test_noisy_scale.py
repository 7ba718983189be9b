"""Bounds and scales under differential privacy: what a record changes, and what it costs."""

import numpy as np
import pytest

from fedclust.algorithms.bounded import IntegerSums
from fedclust.algorithms.bounded_moments import BoundedMoments
from fedclust.algorithms.cell_seeding import CellSeeding
from fedclust.algorithms.range_counts import NOISY_ROUNDS, RangeCounts
from fedclust.channels import LocalChannel
from fedclust.clustering.preparation import Column, prepare_over
from fedclust.core import ConfigError, Data, Empty, MessageError, Plan, Schema, run
from fedclust.core.random import NO_RANDOMNESS
from fedclust.tiers import Private

LOW, HIGH = np.array([0.0, -5.0]), np.array([10.0, 5.0])
COLUMNS = (Column("a", low=0.0, high=10.0), Column("b", low=-5.0, high=5.0))


def rows(n: int = 500) -> np.ndarray:
    return np.random.default_rng(0).normal([4.0, 1.0], [1.0, 2.0], (n, 2)).clip(LOW, HIGH)


def test_without_noise_they_are_the_moments_of_the_rows() -> None:
    X = rows()
    X[::7, 0] = np.nan
    clients = LocalChannel({f"c{i}": Data(X[i::3], np.empty(0)) for i in range(3)})
    found = run(Plan(BoundedMoments(1, LOW, HIGH)), clients, Schema(2)).model
    assert found.mean == pytest.approx(np.nanmean(X, axis=0), abs=1e-5)
    assert found.variance == pytest.approx(np.nanvar(X, axis=0), abs=1e-4)
    whole = run(Plan(BoundedMoments(1, LOW, HIGH, True)), clients, Schema(2)).model
    complete = X[~np.isnan(X).any(axis=1)]
    assert whole.mean == pytest.approx(complete.mean(axis=0), abs=1e-5)


@pytest.mark.parametrize("row", [[10.0, 5.0], [0.0, -5.0], [np.nan, 1e9], [-1e300, 2.0]])
def test_a_record_changes_no_more_than_the_sensitivity(row: list[float]) -> None:
    query = BoundedMoments(1, LOW, HIGH)
    sums = query.client_step(Empty(), Data(np.array([row]), np.empty(0)), NO_RANDOMNESS)
    assert np.linalg.norm(sums.values) <= query.sensitivity(Empty())


def test_messages_of_another_shape_are_refused() -> None:
    query = BoundedMoments(1, LOW, HIGH)
    assert not query.lossless
    with pytest.raises(MessageError, match="bounds of 2 columns, other rows"):
        query.client_step(Empty(), Data(np.ones((3, 1)), np.empty(0)), NO_RANDOMNESS)
    state = query.start(Schema(2), NO_RANDOMNESS)
    with pytest.raises(MessageError, match="expected 6 sums"):
        query.server_step(state, IntegerSums(np.zeros(5, np.int64)), NO_RANDOMNESS)


def test_all_rounds_together_spend_the_budget() -> None:
    tier = Private(epsilon=1.0).for_preparation(ranges=True, scale=True)
    ranges = RangeCounts(1, LOW, HIGH, np.arange(2))
    cells, clustering = CellSeeding(3, LOW, HIGH), BoundedMoments(1, LOW, HIGH)
    spent = NOISY_ROUNDS * tier.mu(ranges) ** 2 + tier.mu(clustering) ** 2
    assert spent == pytest.approx(0.2 * tier.budget)
    spent += len(cells.stages) * tier.mu(cells) ** 2
    from fedclust.algorithms import make

    spent += tier.rounds * tier.mu(make("llf-cm", 3)) ** 2
    assert spent == pytest.approx(tier.budget) == pytest.approx(tier.cost())
    assert tier.cost(seeded=False) < tier.budget
    assert Private(epsilon=1.0).for_preparation(ranges=False, scale=False).range_share == 0.0


def test_a_scale_is_learned_or_refused() -> None:
    pytest.importorskip("opendp")
    X = rows(30_000)
    clients = LocalChannel({f"c{i}": Data(X[i::3], np.empty(0)) for i in range(3)})
    tier = Private(epsilon=2.0).for_preparation(ranges=False, scale=True)
    found = prepare_over(COLUMNS, clients, missing="mean", privacy=tier)
    assert found.offset == pytest.approx([4.0, 1.0], abs=0.3)
    assert found.scale == pytest.approx([1.0, 2.0], abs=0.5)
    few = LocalChannel({f"c{i}": Data(X[i:60:3], np.empty(0)) for i in range(3)})
    with pytest.raises(ConfigError, match="the noise hides the means of the columns"):
        prepare_over(COLUMNS, few, privacy=tier)
