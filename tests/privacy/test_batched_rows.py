"""Rows that are read in batches are protected as those in memory are."""

from typing import Any

import numpy as np
import pytest

from fedclust import DataError
from fedclust.algorithms import make
from fedclust.channels import LocalChannel
from fedclust.clustering.rows import cluster
from fedclust.core import Batches, Data, Plan, Refusal, run
from fedclust.privacy import ClientPolicy, FixedPoint, GroupedRows, Ledger, Limits, QueryLimit
from fedclust.typing import FloatArray

from .noisy import BOX


def rows() -> dict[str, FloatArray]:
    rng = np.random.default_rng(0)
    centers = np.array([[0.2, 0.2], [0.8, 0.2], [0.5, 0.8]])
    return {
        name: np.clip(rng.normal(centers[rng.integers(0, 3, 300)], 0.06), 0, 1) for name in "abc"
    }


def streamed(X: FloatArray, policy: Any = None) -> Batches:
    parts = [X[:7], X[7:130], X[130:]]
    return Batches(lambda: [Data.of(part) for part in parts], len(X), X.shape[1], policy)


@pytest.mark.parametrize("key", ["llf-cm", "llf-fcm"])
def test_sums_on_a_grid_are_the_same_bits_in_batches(key: str) -> None:
    data = rows()
    start = np.array([[0.3, 0.3], [0.7, 0.3], [0.5, 0.7]])
    plan = Plan(make(key, 3, init=start), (FixedPoint.over(BOX),))
    whole = run(plan, LocalChannel(data), BOX).model
    parts = run(plan, LocalChannel({c: streamed(X) for c, X in data.items()}), BOX).model
    assert whole.tobytes() == parts.tobytes()


@pytest.mark.parametrize("tier", ["guarded", "secure", "dp", "secure+dp"])
def test_every_tier_takes_batches(tier: str) -> None:
    data = {c: streamed(X) for c, X in rows().items()}
    found = cluster(make("llf-cm", 3), LocalChannel(data), BOX, privacy=tier, seed=2)
    assert found.centers.shape == (3, 2)
    if tier == "secure":
        memory = cluster(make("llf-cm", 3), LocalChannel(rows()), BOX, privacy=tier, seed=2)
        assert memory.centers.tobytes() == found.centers.tobytes()


def test_rows_are_averaged_within_their_batch() -> None:
    """Groups differ from those of all rows together, and clusters hardly do."""
    data, start = rows(), np.array([[0.3, 0.3], [0.7, 0.3], [0.5, 0.7]])
    plan = Plan(make("llf-cm", 3, init=start), (GroupedRows(5),))
    whole = run(plan, LocalChannel(data), BOX).model
    parts = run(plan, LocalChannel({c: streamed(X) for c, X in data.items()}), BOX).model
    np.testing.assert_allclose(whole, parts, atol=0.02)


def test_a_round_over_batches_is_one_release(tmp_path: Any) -> None:
    policy = ClientPolicy(limits=Limits(max_queries=2), ledger=Ledger(tmp_path / "a.jsonl"))
    data = {"a": streamed(rows()["a"], policy)}
    plan = Plan(make("llf-cm", 3, max_rounds=3, tol=0.0), (QueryLimit(9),))
    with pytest.raises(Refusal, match="llf-cm, round 2: .* answered 2 queries"):
        run(plan, LocalChannel(data), BOX)


def test_bounds_and_sizes_hold_for_all_batches() -> None:
    X = rows()["a"]
    X[-1] = 7.0
    plan = Plan(make("llf-cm", 3, max_rounds=3), (FixedPoint.over(BOX),))
    with pytest.raises(DataError, match="column 0 has values outside"):
        run(plan, LocalChannel({"a": streamed(X)}), BOX)
    few = Plan(make("llf-cm", 3, max_rounds=3), (FixedPoint.over(BOX, max_records=250),))
    with pytest.raises(DataError, match="more than 250 rows, .* max_records=250"):
        run(few, LocalChannel({"a": streamed(rows()["a"])}), BOX)
