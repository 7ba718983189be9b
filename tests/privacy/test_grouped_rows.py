"""Rows are replaced by means of groups, and the groups never change."""

import multiprocessing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedclust import ConfigError
from fedclust.algorithms import make
from fedclust.algorithms.centers import Centers
from fedclust.core import Batches, Data, Plan, Refusal, Request, RoundContext, Transform, respond
from fedclust.kernels.microaggregation import microaggregate
from fedclust.privacy import ClientPolicy, GroupedRows, Ledger
from fedclust.privacy.grouped_rows import ColumnBatch, GroupMemory
from fedclust.typing import FloatArray


def rows(n: int = 60, F: int = 3, seed: int = 0) -> FloatArray:
    return np.random.default_rng(seed).standard_t(1.5, (n, F))


def grouped(X: FloatArray, policy: ClientPolicy, size: int = 5) -> FloatArray:
    data = Data(X, np.empty(0), policy=policy)
    context = RoundContext(0, "a", ("a",), len(X), data=data)
    found = GroupedRows(size).at_source(data, context)
    assert isinstance(found, Data)
    return found.X


def batch(X: FloatArray) -> ColumnBatch:
    return ColumnBatch(X, [column.tobytes() for column in X.T])


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(0, 130), F=st.integers(1, 5), size=st.integers(3, 9), seed=st.integers(0, 10**6)
)
def test_every_row_is_in_a_group_of_enough_rows(n: int, F: int, size: int, seed: int) -> None:
    """Heavy tails, and values that many rows share."""
    X = rows(n, F, seed)
    X[: n // 3] = np.round(X[: n // 3])
    labels = microaggregate(X, size)
    counts = np.bincount(labels) if n else np.empty(0)
    assert len(labels) == n
    assert (counts >= min(size, n)).all()


def test_large_tables_are_grouped_in_parts() -> None:
    X = rows(5_000, 4)
    labels = microaggregate(X, 5)
    assert np.bincount(labels).min() >= 5
    assert labels.max() > 500


def test_groups_are_of_near_rows() -> None:
    """Three clusters of seven rows, far apart: no group has rows of two."""
    rng = np.random.default_rng(0)
    where = np.repeat([0.0, 100.0, 1000.0], 7)
    labels = microaggregate(where[:, None] + rng.normal(size=(21, 2)), 5)
    assert [len(set(labels[where == place].tolist())) for place in (0, 100, 1000)] == [1, 1, 1]


@settings(max_examples=25, deadline=None)
@given(n=st.integers(10, 80), seed=st.integers(0, 10**6), size=st.integers(3, 6))
def test_rows_are_means_of_their_groups(n: int, seed: int, size: int) -> None:
    if n < 2 * size:
        return
    X = rows(n, 2, seed)
    means = grouped(X, ClientPolicy(), size)
    assert means.shape == X.shape
    np.testing.assert_allclose(means.sum(axis=0), X.sum(axis=0), rtol=1e-9, atol=1e-9)
    for mean in np.unique(means, axis=0):
        own = (means == mean).all(axis=1)
        assert own.sum() >= size
        np.testing.assert_allclose(X[own].mean(axis=0), mean, rtol=1e-9, atol=1e-9)


def test_a_client_of_fewer_than_two_groups_has_no_rows() -> None:
    assert len(grouped(rows(9), ClientPolicy())) == 0
    assert len(grouped(rows(10), ClientPolicy())) == 10
    plan = Plan(make("llf-cm", 2), (GroupedRows(5),))
    data = Data(rows(9), np.empty(0), policy=ClientPolicy())
    assert respond(plan, Request(0, ("a",), Centers(rows(2))), "a", data).is_empty()


def test_weights_count() -> None:
    X, weight = rows(40), np.random.default_rng(1).random(40) + 0.1
    data = Data(X, weight, policy=ClientPolicy())
    found: Any = data.policy.groups.group(data, 5)
    np.testing.assert_allclose(found.weight, weight)
    np.testing.assert_allclose(found.weight @ found.X, weight @ X)


def test_groups_outlive_a_process_and_end_with_a_reset(tmp_path: Path) -> None:
    def policy() -> ClientPolicy:
        return ClientPolicy(ledger=Ledger(tmp_path / "a.jsonl"))

    X = rows()
    first = grouped(X, policy())
    assert grouped(X, policy()).tobytes() == first.tobytes()
    for changed in (rows(61), np.vstack([X[:-1], X[-1:] + 1e-9]), X[::-1].copy()):
        with pytest.raises(Refusal, match="the data have changed"):
            grouped(changed, policy())
    with pytest.raises(Refusal, match="averaged in groups of 5, and the study asks for .* of 6"):
        grouped(X, policy(), 6)
    assert grouped(X, policy(), 4).tobytes() == first.tobytes()
    policy().ledger.reset("the data of another year")
    assert len(grouped(rows(61), policy())) == 61


def test_a_reset_in_memory_forgets_groups_too() -> None:
    policy = ClientPolicy()
    grouped(rows(), policy)
    policy.ledger.reset("other rows")
    assert len(grouped(rows(61), policy)) == 61


def test_removed_groups_are_noticed(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "a.jsonl")
    grouped(rows(), ClientPolicy(ledger=ledger))
    assert ledger.memory is not None
    ledger.memory.unlink()
    with pytest.raises(Refusal, match="groups of its rows was removed or replaced"):
        grouped(rows(), ClientPolicy(ledger=Ledger(ledger.path)))


def test_a_column_keeps_its_groups_beside_other_columns() -> None:
    X = rows(50, 3)
    memory = GroupMemory(Ledger())
    alone = memory.fix(["a"], [1], lambda: [batch(X[:, :1])], 5).averaged(X[:, :1], 0).X
    three = memory.fix(["c", "a", "b"], [1] * 3, lambda: [batch(X[:, [2, 0, 1]])], 5)
    together = three.averaged(X[:, [2, 0, 1]], 0).X
    assert together[:, [1]].tobytes() == alone.tobytes()


def test_a_batch_without_rows_changes_no_group() -> None:
    X = rows(30)
    whole = GroupMemory(Ledger()).fix(list("abc"), [1] * 3, lambda: [batch(X)], 5)
    parts = [batch(X[:0]), batch(X), batch(X[:0])]
    read = GroupMemory(Ledger()).fix(list("abc"), [1] * 3, lambda: parts, 5)
    assert read.averaged(X, 0).X.tobytes() == whole.averaged(X, 0).X.tobytes()


def test_a_column_that_is_missing_in_one_row_is_missing_in_its_group() -> None:
    """Rows with the same missing values are in groups of their own, if there are enough."""
    X = rows(60)
    X[:6, 1] = np.nan
    X[30, 2] = np.nan
    groups = GroupMemory(Ledger()).fix(list("abc"), [1] * 3, lambda: [batch(X)], 5)
    found = groups.averaged(X, 0).X
    assert len(found) == 59  # a row with a pattern of its own is in no group
    assert np.isnan(found[:6, 1]).all()
    assert not np.isnan(found[6:]).any()
    assert not np.isnan(found[:, 0]).any()


def test_batches_that_are_cut_elsewhere_lose_groups_and_reveal_none() -> None:
    X, memory = rows(60), GroupMemory(Ledger())
    groups = memory.fix(list("abc"), [1] * 3, lambda: [batch(X[:40]), batch(X[40:])], 5)
    found = groups.averaged(X[:43], 0).X
    whole = np.vstack([groups.averaged(X[:40], 0).X, groups.averaged(X[40:], 40).X])
    known = ~np.isnan(found)
    np.testing.assert_allclose(found[known], whole[:43][known])
    assert np.isnan(found[40:]).any()


def test_batches_are_averaged_as_they_are_read() -> None:
    X, policy = rows(60), ClientPolicy()
    parts = [Data(X[:33], np.empty(0)), Data(X[33:57], np.empty(0)), Data(X[57:], np.empty(0))]
    found: Any = policy.groups.group(Batches(lambda: parts, 60, 3, policy), 5)
    means = np.vstack([part.X for part in found])
    assert len(means) == 57  # a last batch of three rows is no group
    np.testing.assert_allclose(means.sum(axis=0), X[:57].sum(axis=0), atol=1e-9)


def _group_in_process(folder: Path, columns: tuple[int, ...], done: Any) -> None:
    X, names = rows(400, 6), [f"c{f}" for f in columns]
    memory = GroupMemory(Ledger(folder / "a.jsonl"))
    groups = memory.fix(names, [1] * len(names), lambda: [batch(X[:, columns])], 5)
    done.put((columns, groups.averaged(X[:, columns], 0).X))


def test_two_jobs_at_once_use_the_same_groups(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    done, asked = context.Queue(), [(0, 1, 2), (2, 1, 3), (3, 4, 5, 0)]
    jobs = [
        context.Process(target=_group_in_process, args=(tmp_path, columns, done))
        for columns in asked
    ]
    for job in jobs:
        job.start()
    answers = [done.get(timeout=300) for _ in jobs]
    for job in jobs:
        job.join()
    seen: dict[int, bytes] = {}
    for columns, means in answers:
        for f, mean in zip(columns, means.T, strict=True):
            assert seen.setdefault(f, mean.tobytes()) == mean.tobytes()
    assert len(seen) == 6


def test_settings_are_checked() -> None:
    with pytest.raises(ConfigError, match="size must be an integer of at least 3"):
        GroupedRows(2)
    assert GroupedRows(6).covers(GroupedRows(5))
    assert not GroupedRows(4).covers(GroupedRows(5))
    assert isinstance(GroupedRows(5), Transform)
