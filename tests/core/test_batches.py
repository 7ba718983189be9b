"""Rows that do not fit into memory: sums are streamed, seeds come from a sample."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedclust import ConfigError, make
from fedclust.algorithms import ALGORITHMS
from fedclust.channels import LocalChannel
from fedclust.clustering.preparation import Histogram, Moments
from fedclust.clustering.rows import cluster
from fedclust.core import AnyAlgorithm, Batches, Data, Message, Plan, Request, Schema, respond
from fedclust.metrics import ClientCounts, ClusterShapes, Evaluation, MapCounts, Profile
from fedclust.typing import FloatArray

CENTERS = np.array([[0.0, 0.0], [4.0, 4.0]])
AXES = np.eye(2)
ADDITIVE: list[AnyAlgorithm] = [
    make("llf-cm", 2, init=CENTERS),
    make("llf-fcm", 2, init=CENTERS),
    Evaluation(2, CENTERS, "davies-bouldin"),
    Moments(),
    Histogram(np.full(2, -9.0), np.full(2, 9.0)),
    Profile(2, CENTERS),
    Profile(2, CENTERS, fuzzifier=2.0),
    ClusterShapes(2, CENTERS, AXES),
    ClientCounts(2, CENTERS),
    MapCounts(AXES, np.full(2, -9.0), np.full(2, 9.0)),
]


def table(n: int) -> FloatArray:
    rng = np.random.default_rng(n)
    return CENTERS[rng.integers(0, 2, n)] + rng.normal(size=(n, 2))


def cut(X: FloatArray, size: int) -> Batches:
    def read() -> Iterator[Data]:
        for first in range(0, len(X), size):
            yield Data.of(X[first : first + size])

    return Batches(read, *X.shape)


def answer(algorithm: AnyAlgorithm, data: Data | Batches) -> Message:
    plan = Plan(algorithm)
    state = algorithm.start(Schema(2), plan.rng("server", -1))
    return respond(plan, Request(0, ("a",), algorithm.broadcast(state)), "a", data)


@pytest.mark.parametrize("algorithm", ADDITIVE, ids=lambda a: a.key)
@settings(max_examples=15, deadline=None)
@given(n=st.integers(0, 60), size=st.integers(1, 30))
def test_messages_of_batches_add_up_to_the_message_of_all_rows(
    algorithm: AnyAlgorithm, n: int, size: int
) -> None:
    X = table(n)
    whole, streamed = answer(algorithm, Data.of(X)), answer(algorithm, cut(X, size))
    for name, array in whole.arrays().items():
        assert np.allclose(array, streamed.arrays()[name], rtol=1e-12, atol=1e-9), name


@pytest.mark.parametrize("key", ["llf-cm", "llf-fcm"])
def test_a_run_over_batches_is_the_run_over_rows(key: str) -> None:
    tables = {"a": table(300), "b": table(201)}
    streams = {name: cut(X, 64) for name, X in tables.items()}
    found = [cluster(make(key, 2), LocalChannel(d), Schema(2)) for d in (tables, streams)]
    assert np.allclose(found[0].centers, found[1].centers, atol=1e-9)
    assert found[0].sent == found[1].sent


def test_records_that_stay_at_home_are_counted_over_all_batches() -> None:
    """One row in each of ten batches is ten records: the paper's rule does not withhold them."""
    streams = {"a": cut(table(40), 1), "b": cut(table(40), 40)}
    schema, tables = Schema(2), {"a": table(40), "b": table(40)}
    found = [
        cluster(make("llf-cm", 2), LocalChannel(d), schema, init=CENTERS, privacy="paper")
        for d in (tables, streams)
    ]
    assert np.allclose(found[0].centers, found[1].centers, atol=1e-9)


@pytest.mark.parametrize("key", [k for k in ALGORITHMS if not ALGORITHMS[k].traits.additive])
def test_algorithms_that_need_all_rows_say_so(key: str) -> None:
    starts = ALGORITHMS[key].has_parameter("init")
    algorithm = make(key, 2, init=CENTERS) if starts else make(key, 2)
    with pytest.raises(ConfigError, match=f"{key} needs all rows of a client in memory at once"):
        answer(algorithm, cut(table(9), 4))


def test_a_sample_is_of_all_rows_and_none_twice() -> None:
    X = np.arange(2000.0).reshape(1000, 2)
    rng = np.random.default_rng(0)
    drawn = cut(X, 64).sample(rng, most=500).X
    assert len(np.unique(drawn[:, 0])) == 500
    assert (np.diff(drawn[:, 0]) > 0).all()
    assert drawn[:, 0].min() < 100
    assert drawn[:, 0].max() > 1900
    assert np.array_equal(cut(X, 64).sample(rng).X, X)


def test_a_client_without_rows_has_one_empty_batch() -> None:
    batches = cut(np.empty((0, 2)), 5)
    assert [len(batch) for batch in batches] == [0]
    assert len(batches) == 0
    assert batches.shape == (0, 2)
