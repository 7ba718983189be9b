"""Starts over split columns."""

import numpy as np
import pytest

from fedclust.algorithms import make, make_seeding
from fedclust.algorithms.records import PartialDistances
from fedclust.channels import LocalChannel
from fedclust.clustering.columns import cluster_columns
from fedclust.core import (
    ConfigError,
    Plan,
    run,
)

from .owners import owners, schema, table


def test_k_means_plus_plus_spreads_its_records_and_sees_only_sums() -> None:
    rng = np.random.default_rng(0)
    means = np.array([[0.0, 0.0], [100.0, 0.0], [0.0, 100.0]])
    X = np.repeat(means, 30, axis=0) + rng.normal(size=(90, 2))
    done = run(
        Plan(make_seeding("vertical-k-means++", 3)), LocalChannel(owners(X, [0, 1])), schema(X)
    )
    assert sorted(done.model // 30) == [0, 1, 2]
    assert done.n_rounds == 3


def test_k_means_plus_plus_on_equal_records_takes_different_ones() -> None:
    X = np.ones((4, 2))
    for k in (3, 4):
        done = run(
            Plan(make_seeding("vertical-k-means++", k)), LocalChannel(owners(X, [0, 1])), schema(X)
        )
        assert len(set(done.model.tolist())) == k


def test_partitions_are_even() -> None:
    X = table(10)
    done = run(Plan(make_seeding("partition", 3)), LocalChannel(owners(X, [0] * 6)), schema(X))
    assert np.bincount(done.model).tolist() == [4, 3, 3]
    assert done.n_rounds == 0
    state = make_seeding("records", 3).start(schema(X), np.random.default_rng(0))
    answer = PartialDistances(np.empty((10, 0)))
    assert make_seeding("records", 3).server_step(state, answer, None) is state  # type: ignore[arg-type]


def test_starts_are_counted_from_one() -> None:
    X = table(10)
    with pytest.raises(ConfigError, match="n_init must be at least 1, got 0"):
        cluster_columns(
            make("vertical-llf-cm", 2),  # type: ignore[arg-type]
            LocalChannel(owners(X, [0] * 6)),
            schema(X),
            n_init=0,
        )
