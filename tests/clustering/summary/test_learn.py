"""The summary run: exact sums of all rows, by a fixed sequence of queries."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans

from fedclust.channels import LocalChannel
from fedclust.clustering.summary import (
    MICRO,
    DataSummary,
    SummaryRun,
    count_micro,
    count_queries,
    find_centers,
)
from fedclust.clustering.summary.growth import grow
from fedclust.clustering.summary.queries import MicroQuery, MicroSums
from fedclust.core import Data, EmptyRound, Plan, Schema, run
from fedclust.kernels import inertia, nearest
from fedclust.privacy import ClientPolicy, FixedPoint, Ledger
from fedclust.tiers import tier_of

from .cases import HIGH, LOW, blobs, summarise

FIELDS = ("centers", "weight", "square", "borders")


def parts(summary: DataSummary) -> list[Any]:
    return [getattr(summary, name) for name in FIELDS]


@settings(deadline=None, max_examples=10)
@given(st.integers(0, 2**31), st.integers(3, 9))
def test_any_split_under_masks_gives_the_same_bits(seed: int, n_clients: int) -> None:
    pytest.importorskip("cryptography")
    X = blobs(4, 200, F=3, seed=seed)
    X[:20] = np.round(X[:20])  # ties
    X[20:40] = X[:20]
    owner = np.random.default_rng(seed).integers(0, n_clients, len(X))
    owner[:n_clients] = np.arange(n_clients)
    one = summarise(X, tier="secure")
    other = summarise(X, owner, tier="secure")
    assert all(np.array_equal(a, b) for a, b in zip(parts(one), parts(other), strict=True))


def test_masks_change_the_summary_by_rounding_only() -> None:
    pytest.importorskip("cryptography")
    X = blobs(5, 800)
    masked, plain = summarise(X, tier="secure"), summarise(X)
    for ours, theirs in zip(parts(masked), parts(plain), strict=True):
        assert np.allclose(ours, theirs, rtol=1e-7, atol=1e-6)


def test_its_sums_are_those_of_the_rows() -> None:
    X = np.random.default_rng(0).standard_t(2, size=(500, 3)) * [1, 10, 0.1]  # heavy tails
    summary = summarise(X)
    assert summary.rows == len(X)
    assert summary.mean == pytest.approx(X.mean(axis=0))
    assert summary.total_inertia == pytest.approx(((X - X.mean(axis=0)) ** 2).sum())
    assert summary.borders.sum() == len(X)
    assert summary.borders.sum(axis=1) == pytest.approx(summary.weight)
    assert not summary.borders.diagonal().any()  # the second nearest is another one


def test_rows_count_by_their_weights() -> None:
    X = blobs(3, 300)
    twice = summarise(X, weight=np.full(300, 2.0))
    once = summarise(np.repeat(X, 2, axis=0), np.repeat(np.arange(300) % 3, 2))
    assert twice.centers == pytest.approx(once.centers)
    assert twice.weight == pytest.approx(once.weight)


def test_queries_and_micro_clusters_are_limited() -> None:
    many = summarise(blobs(5, 2_000))
    assert (len(many), many.queries) == (MICRO, count_queries())
    assert count_queries() == 11
    few = summarise(blobs(3, 90))
    assert len(few) <= 9
    assert few.queries < many.queries
    assert count_micro(15) == MICRO < count_micro(30)
    single = summarise(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0, 0]))
    assert len(single) == 1
    assert summarise(np.ones((50, 2))).weight.tolist() == [50.0]  # nothing to divide


def test_the_same_study_again_costs_no_query() -> None:
    pytest.importorskip("cryptography")
    X, ledgers = blobs(4), [Ledger() for _ in range(3)]
    secure = tier_of("secure")
    schema = Schema(2, low=np.full(2, LOW), high=np.full(2, HIGH))

    def learn() -> DataSummary:
        clients = {
            f"c{i}": Data(X[i::3], np.empty(0), policy=ClientPolicy(ledger=ledger))
            for i, ledger in enumerate(ledgers)
        }
        channel = secure.channel(LocalChannel(clients))
        return SummaryRun(channel, schema, secure).learn()

    first = learn()
    assert [ledger.n_queries for ledger in ledgers] == [first.queries] * 3
    again = learn()
    assert [ledger.n_queries for ledger in ledgers] == [first.queries] * 3
    assert np.array_equal(first.centers, again.centers)


def test_centres_stay_within_public_bounds() -> None:
    pytest.importorskip("cryptography")
    X = np.random.default_rng(0).choice([LOW, HIGH], (400, 2))  # all rows on the bounds
    summary = summarise(X, tier="secure")
    assert (np.abs(summary.centers) <= HIGH).all()
    assert sorted(summary.weight.astype(int).tolist()) == sorted(
        np.unique(X, axis=0, return_counts=True)[1].tolist()
    )


def test_empty_clients_are_refused() -> None:
    tier = tier_of("none")
    empty = LocalChannel({"a": Data.of(np.empty((0, 2)))})
    with pytest.raises(EmptyRound, match="the clients have no rows"):
        SummaryRun(empty, Schema(2), tier).learn()


def test_growth_divides_the_widest_and_drops_the_empty() -> None:
    mean = np.array([[0.0, 0.0], [10.0, 0.0], [5.0, 5.0]])
    square = np.array([[100.0, 400.0], [9.0, 1.0], [0.0, 0.0]])
    grown = grow(mean, np.array([100.0, 4.0, 0.0]), square, target=4, least=5)
    assert len(grown) == 3  # the second has too few rows, the third none
    assert grown[[0, 2], 1].tolist() == pytest.approx([-1.6, 1.6])  # along the longer column
    assert len(grow(mean, np.array([100.0, 4.0, 1.0]), square, target=3, least=5)) == 3


def test_growth_divides_a_few_rows_that_are_far_apart() -> None:
    """They would be most of the inertia; where there is no room, the nearest two others merge."""
    others = np.column_stack([np.zeros(10), 9.0 * np.arange(10)])
    others[1] = [0.0, 1.0]
    mean = np.concatenate([others, [[900.0, 0.0]]])
    square = np.concatenate([np.full((10, 2), 9.0), [[1e6, 1.0]]])
    weight = np.array([50.0] * 10 + [4.0])
    for target, near in ((12, 10), (11, 9)):
        grown = grow(mean, weight, square, target, least=5)
        assert len(grown) == target
        far = np.sort(grown[grown[:, 0] > 100, 0])
        assert far.tolist() == pytest.approx([500.0, 1300.0])
        assert (grown[:, 0] == 0).sum() == near
    assert [0.0, 0.5] in grown.tolist()


@pytest.mark.parametrize("seed", range(3))
def test_outlying_rows_do_not_spoil_the_starts(seed: int) -> None:
    """The inertia of heavy tails is that of a few rows, which have to be distinguished."""
    X = np.random.default_rng(seed).lognormal(0.0, 2.0, (1_500, 3))
    summary = summarise(X)
    for k in (3, 8, 15):
        best = KMeans(k, n_init=5, random_state=seed).fit(X).inertia_
        assert inertia(X, find_centers(summary, k)) <= 1.05 * best


def query(X: Any, *, borders: bool = False) -> MicroSums:
    centers = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 9.0]])
    channel = LocalChannel({"a": Data.of(X)})
    sums: MicroSums = run(Plan(MicroQuery(3, centers, borders)), channel, Schema(2)).model
    return sums


def test_the_query_counts_rows_by_nearest_and_second_nearest() -> None:
    sums = query([[1.0, 0.0], [3.0, 0.0], [0.0, 8.0]], borders=True)
    assert sums.weight.tolist() == [1, 1, 1]
    assert sums.square.tolist() == [[1, 0], [1, 0], [0, 1]]
    assert sums.borders.tolist() == [[0, 1, 0], [1, 0, 0], [1, 0, 0]]
    assert query([[1.0, 0.0]]).borders.shape == (3, 0)


def test_a_withheld_micro_cluster_leaves_no_border() -> None:
    sums = query([[1.0, 0.0], [3.0, 0.0], [0.0, 8.0]], borders=True)
    kept = sums.keep(np.array([True, False, True]))
    assert kept.borders.tolist() == [[0, 0, 0], [0, 0, 0], [1, 0, 0]]
    assert kept.weight.tolist() == [1, 0, 1]
    assert query([[1.0, 0.0]]).keep(np.array([True] * 3)).borders.shape == (3, 0)


def test_sums_that_were_made_without_a_grid_are_rounded_to_it() -> None:
    X = blobs(3, 60)
    bounds = Schema(2, low=np.full(2, LOW), high=np.full(2, HIGH))
    grid = FixedPoint.over(bounds).grid
    sums = query(X, borders=True)
    back = sums.on_grid(grid).off_grid(grid)
    for name in ("weight", "total", "square", "borders"):
        assert getattr(back, name) == pytest.approx(getattr(sums, name), abs=1e-6)
    assert sums.on_grid(grid).on_grid(grid).weight.dtype == np.int64


def test_the_nearest_of_the_query_is_that_of_the_kernels() -> None:
    X = np.random.default_rng(1).normal(size=(200, 2)) * 4
    sums = query(X)
    centers = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 9.0]])
    assert sums.weight.tolist() == np.bincount(nearest(X, centers)[0], minlength=3).tolist()


def test_small_clusters_are_withheld_in_the_tier_paper() -> None:
    assert MicroQuery(1, np.zeros((1, 2))).rule(2).min_count == 3
