"""Whole numbers instead of floats: any split gives the bits that pooling gives."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedclust import ConfigError, DataError, MessageError
from fedclust.algorithms import ALGORITHMS, make
from fedclust.algorithms.centers import Centers, Sums
from fedclust.channels import LocalChannel
from fedclust.core import Data, Plan, Request, RoundContext, Run, Schema, Summed, respond, run
from fedclust.metrics import Evaluation
from fedclust.privacy import FixedPoint
from fedclust.typing import FloatArray


def split(X: FloatArray, owner: Any, weight: Any = None) -> dict[str, Data]:
    owner = np.asarray(owner)
    return {
        f"c{o:03d}": Data.of(X[owner == o], None if weight is None else weight[owner == o])
        for o in range(int(owner.max()) + 1)
    }


SUMMED = [key for key, kind in ALGORITHMS.items() if issubclass(kind.up, Summed)]


def clustered(X: FloatArray, owner: Any, key: str, **settings: Any) -> Run:
    F = X.shape[1]
    schema = Schema(F, low=X.min(axis=0) - 1, high=X.max(axis=0) + 1)
    plan = Plan(make(key, 4, init=X[:4] + 0.01, **settings), (FixedPoint.over(schema),))
    return run(plan, LocalChannel(split(X, owner), strict=True), schema)


def rows(seed: int, n: int, F: int, middle: float = 0.0) -> FloatArray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, F)) + 5 * rng.integers(0, 3, (n, 1)) + middle


@pytest.mark.parametrize("key", ["llf-cm", "llf-fcm"])
@given(
    seed=st.integers(0, 10_000),
    n_clients=st.sampled_from([2, 5, 20, 100]),
    F=st.sampled_from([1, 2, 5, 20]),
    way=st.sampled_from(["even", "few", "cluster"]),
)
def test_federated_is_centralised_bit_for_bit(
    key: str, seed: int, n_clients: int, F: int, way: str
) -> None:
    X, rng = rows(seed, 300, F), np.random.default_rng(seed)
    owner = {
        "even": rng.integers(0, n_clients, 300),
        "few": np.minimum(rng.geometric(0.3, 300) - 1, n_clients - 1),
        "cluster": (X[:, 0] // 5).astype(int) % n_clients,
    }[way]
    pooled = clustered(X, np.zeros(300), key, max_rounds=30)
    parts = clustered(X, owner, key, max_rounds=30)
    assert parts.n_rounds == pooled.n_rounds
    assert parts.model.tobytes() == pooled.model.tobytes()


@pytest.mark.parametrize("middle", [0.0, 1e6])
@pytest.mark.parametrize(
    ("key", "settings"),
    [("llf-cm", {}), ("llf-fcm", {}), ("llf-fcm", {"fuzzifier": 1.3}), ("ffcm-avg1", {})],
)
def test_it_is_the_float_result_within_a_billionth_of_the_range(
    key: str, settings: dict[str, Any], middle: float
) -> None:
    X = rows(1, 2000, 3, middle)
    plan = Plan(make(key, 4, init=X[:4] + 0.01, max_rounds=30, tol=0.0, **settings))
    float64 = run(plan, LocalChannel({"all": X}), Schema(3)).model
    exact = clustered(X, np.arange(2000) % 20, key, max_rounds=30, tol=0.0, **settings).model
    assert np.abs(exact - float64).max() < 1e-9 * np.ptp(X)


@pytest.mark.parametrize("key", SUMMED)
def test_every_algorithm_whose_messages_sum_runs_on_a_grid(key: str) -> None:
    X = rows(2, 400, 2)
    schema = Schema(2, low=X.min(axis=0), high=X.max(axis=0))
    plain = Plan(make(key, 3, init=X[:3] + 0.1, max_rounds=4))
    exact = Plan(plain.algorithm, (FixedPoint.over(schema),))
    data = split(X, np.arange(400) % 4)
    ours, theirs = (run(plan, LocalChannel(data), schema).model for plan in (exact, plain))
    np.testing.assert_allclose(ours, theirs, atol=1e-7)


def test_scores_run_on_a_grid() -> None:
    X = rows(3, 400, 2)
    schema = Schema(2, low=X.min(axis=0), high=X.max(axis=0))
    score = Evaluation(3, X[:3])
    found = [
        run(Plan(score, t), LocalChannel(split(X, np.arange(400) % 4)), schema).model
        for t in ((), (FixedPoint.over(schema),))
    ]
    assert found[0] == pytest.approx(found[1], rel=1e-9)


def test_weights_are_on_the_grid_too() -> None:
    X, w = rows(4, 300, 2), np.random.default_rng(0).exponential(size=300)
    schema = Schema(2, low=X.min(axis=0), high=X.max(axis=0))
    plan = Plan(make("llf-cm", 3, init=X[:3]), (FixedPoint.over(schema, max_weight=w.max()),))
    one = run(plan, LocalChannel({"all": Data.of(X, w)}), schema).model
    many = run(plan, LocalChannel(split(X, np.arange(300) % 7, w)), schema).model
    assert one.tobytes() == many.tobytes()
    light = Plan(plan.algorithm, (FixedPoint.over(schema),))
    with pytest.raises(DataError, match="client 'all': a sample_weight exceeds max_weight=1"):
        run(light, LocalChannel({"all": Data.of(X, w)}), schema)


def test_values_outside_the_bounds_are_refused_by_column_and_not_told() -> None:
    X = rows(0, 50, 2)
    X[7, 1] = 123456.0
    plan = Plan(make("llf-cm", 3, init=X[:3]), (FixedPoint((-99.0,) * 2, (99.0,) * 2),))
    with pytest.raises(DataError, match=r"client 'a': column 1 .* bounds \[-99, 99\]") as problem:
        run(plan, LocalChannel({"a": X}), Schema(2))
    assert "123456" not in str(problem.value)


def test_a_client_without_rows_adds_nothing() -> None:
    X = rows(0, 60, 2)
    plan = Plan(make("llf-cm", 3, init=X[:3]), (FixedPoint((-99.0,) * 2, (99.0,) * 2),))
    alone = run(plan, LocalChannel({"a": X}), Schema(2)).model
    beside = run(plan, LocalChannel({"a": X, "b": X[:0]}), Schema(2)).model
    assert alone.tobytes() == beside.tobytes()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"max_records": 2**32}, "max_records=4294967296 leaves 29 bits"),
        ({"max_records": 0}, "max_records must be an integer"),
        ({"max_weight": 0.0}, "max_weight must be a number above 0"),
        ({"low": (0.0, 1.0)}, "low must be below high"),
        ({"low": (0.0,)}, "low must be below high"),
        ({"high": (1.0, np.inf)}, "low must be below high"),
    ],
)
def test_what_could_overflow_is_refused_when_planning(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        FixedPoint(**{"low": (0.0, 0.0), "high": (1.0, 1.0), **settings})


def test_messages_that_stack_are_refused() -> None:
    with pytest.raises(ConfigError, match="messages of fkm stack"):
        Plan(make("fkm", 3), (FixedPoint((0.0,), (1.0,)),))


def test_a_fuzzifier_whose_weights_would_vanish_is_refused() -> None:
    with pytest.raises(ConfigError, match="fuzzifier=20 and 10 clusters .* too small"):
        Plan(make("llf-fcm", 10, fuzzifier=20.0), (FixedPoint((0.0,), (1.0,)),))


def test_a_client_larger_than_the_plan_allows_says_so() -> None:
    plan = Plan(make("llf-cm", 1, init=np.zeros((1, 1))), (FixedPoint((0.0,), (1.0,), 5),))
    with pytest.raises(DataError, match="client 'a': more than 5 rows, .* max_records=5; raise it"):
        run(plan, LocalChannel({"a": np.ones((6, 1))}), Schema(1))
    with pytest.raises(MessageError, match="more than max_records=5 allows"):
        run(plan, LocalChannel({"a": np.ones((3, 1)), "b": np.ones((3, 1))}), Schema(1))
    many = {f"c{i:02d}": np.ones((3, 1)) for i in range(20)}  # 60 rows: their sum could wrap
    with pytest.raises(DataError, match="more than 2 rows, the most that a client may have"):
        run(plan, LocalChannel(many), Schema(1))


def test_negative_weights_are_no_weights() -> None:
    exact = FixedPoint((0.0,), (1.0,))
    bad = Sums(np.array([-1]), np.zeros((1, 1), np.int64))
    with pytest.raises(MessageError, match="round 3: .* sum to less than nothing"):
        exact.at_server(bad, RoundContext(3, "server", ("a",), 0))


def test_sums_beyond_the_grid_are_refused() -> None:
    schema = Schema(1, low=np.zeros(1), high=np.ones(1))
    far = make("gdf-fcm", 2, init=np.array([[0.0], [1e12]]))
    plan = Plan(far, (FixedPoint.over(schema),))
    state = far.start(schema, plan.rng("server", -1))
    request = Request(0, ("a",), far.broadcast(state))
    data = Data.of(np.linspace(0, 1, 50)[:, None])
    with pytest.raises(MessageError, match="overflows the plan's grid"):
        respond(plan, request, "a", data)
    near = replace(request, cohort=tuple("abcdefghij"), down=Centers(np.array([[0.0], [2e5]])))
    with pytest.raises(MessageError, match="client 'a': 10 sums of this size could overflow"):
        respond(plan, near, "a", data)
