"""Estimated bounds: ranges from counts in bins, which no single value moves."""

from itertools import combinations

import numpy as np
import pytest

from fedclust.algorithms.bounded import STEPS, IntegerSums
from fedclust.algorithms.range_counts import RangeCounts, RangeEdges
from fedclust.algorithms.range_grid import (
    WIDEST,
    find_coarse_range,
    find_end,
    linear_edges,
    log_edges,
)
from fedclust.channels import LocalChannel
from fedclust.clustering.preparation import (
    Column,
    ColumnRange,
    clip_rows,
    declared,
    estimate_bounds,
    limit_bounds,
    widen,
)
from fedclust.core import ConfigError, Data, DataError, MessageError, Schema
from fedclust.core.random import NO_RANDOMNESS
from fedclust.typing import FloatArray

RNG = np.random.default_rng(0)
KINDS = {
    "uniform": RNG.random(1_000),
    "normal": RNG.normal(size=1_000),
    "years": RNG.integers(1990, 2021, 1_000).astype(float),
    "binary": RNG.integers(0, 2, 1_000).astype(float),
    "degrees": 35 + 7 * RNG.random(1_000),
    "far from zero": RNG.normal(1e5, 1, 1_000),
    "nanoseconds": 1.7e18 + 3e16 * RNG.random(1_000),
    "negative": -7 * RNG.random(1_000),
    "tiny": 1e-9 * RNG.random(1_000),
}


def estimate(
    X: FloatArray, *, deal: int = 3, privacy: str = "none", **settings: bool | int
) -> tuple[ColumnRange, ...]:
    columns = [Column(f"c{f}") for f in range(X.shape[1])]
    rows = clip_rows(widen(columns), X)
    owner = np.arange(len(X)) // deal % 3
    data = {f"o{i}": Data(rows[owner == i], np.empty(0)) for i in range(3)}
    return estimate_bounds(columns, LocalChannel(data), privacy=privacy, **settings)  # type: ignore[arg-type]


def ends(one: ColumnRange) -> tuple[float, float]:
    assert one.column.low is not None
    assert one.column.high is not None
    return one.column.low, one.column.high


@pytest.mark.parametrize("kind", KINDS)
def test_a_range_holds_almost_all_values_and_is_not_much_wider(kind: str) -> None:
    x = KINDS[kind]
    (found,) = estimate(x[:, None])
    low, high = ends(found)
    beyond = int(((x < low) | (x > high)).sum())
    assert beyond == found.beyond <= 0.02 * len(x)
    spread = np.ptp(x) if np.ptp(x) > 1e-5 * abs(x).max() else 1e-3 * abs(x).max()
    assert high - low <= 3 * spread + 0.1


@pytest.mark.parametrize("n", [30, 60, 150])
def test_few_values_are_not_clipped_much(n: int) -> None:
    for seed in range(20):
        x = np.random.default_rng(seed).random(n)
        (found,) = estimate(x[:, None])
        assert found.beyond <= 12
        assert ends(found)[0] > -0.1
        assert ends(found)[1] < 2.1


def test_a_single_extreme_value_is_not_in_the_range() -> None:
    x = np.r_[KINDS["uniform"], 0.0]
    found = []
    for extreme in (123.4, 98_765.4, 1e12):
        x[-1] = extreme
        found.append(estimate(x[:, None]))
    assert found[1] == found[2]  # both are far away, and how far does not show
    assert all(ends(one[0])[1] <= 1.1 for one in found)
    assert all(one[0].beyond >= 5 for one in found)


@pytest.mark.parametrize("seed", range(10))
def test_two_estimates_never_differ_by_fewer_than_five_values(seed: int) -> None:
    """Sums of values that are clipped in two ways would show what lies between."""
    rng = np.random.default_rng(seed)
    x = np.r_[rng.normal(size=300), rng.normal(0, 30, size=int(rng.integers(1, 30)))]
    clipped = []
    for least in (1, 5, 6, 7, 9, 12, 15):
        (found,) = estimate(x[:, None], min_count=least)
        clipped.append(np.clip(x, *ends(found)))
        below, above = (x < ends(found)[0]).sum(), (x > ends(found)[1]).sum()
        assert all(n == 0 or n >= max(5, least) for n in (below, above))
    for one, other in combinations(clipped, 2):
        assert (one != other).sum() == 0 or (one != other).sum() >= 5


def test_any_split_and_masks_give_the_same_bits() -> None:
    pytest.importorskip("cryptography")
    X = np.column_stack(list(KINDS.values()))
    assert estimate(X) == estimate(X, deal=41) == estimate(X, privacy="secure")


def test_missing_values_do_not_count_and_neither_do_rows_that_are_left_out() -> None:
    X = np.column_stack([KINDS["uniform"], KINDS["normal"]])
    X[::2, 0] = np.nan
    X[1::2, 1] *= 10.0
    all_values, whole = estimate(X), estimate(X, whole_rows=True)
    assert all_values[0].count == 500
    assert all_values[1].count == 1_000
    assert [one.count for one in whole] == [500, 500]
    assert whole[1] != all_values[1]


def test_too_few_values_are_refused() -> None:
    X = np.column_stack([KINDS["uniform"], np.r_[1.0, 2.0, 3.0, np.full(997, np.nan)]])
    with pytest.raises(DataError, match=r"estimate the bounds of column 'c1'; give low and high"):
        estimate(X)


def test_noise_widens_what_is_clipped_but_finds_the_range() -> None:
    pytest.importorskip("opendp")
    from fedclust.tiers import Private

    X = np.random.default_rng(0).random((30_000, 2)) * [1.0, 50.0]
    columns = [Column("a"), Column("b")]
    data = {f"o{i}": Data(X[i::3], np.empty(0)) for i in range(3)}
    tier = Private(epsilon=1.0).for_preparation(ranges=True, scale=False)
    found = estimate_bounds(columns, LocalChannel(data), privacy=tier)
    for one, width in zip(found, (1.0, 50.0), strict=True):
        low, high = ends(one)
        assert -0.1 * width <= low <= 0.2 * width
        assert 0.8 * width <= high <= 1.2 * width


def test_a_record_changes_the_counts_by_no_more_than_the_sensitivity() -> None:
    query = RangeCounts(1, np.full(3, -WIDEST), np.full(3, WIDEST), np.array([0, 2]))
    down = RangeEdges(np.tile(log_edges(), (2, 1)))
    row = np.array([[3.0, 4.0, -5e9]])
    added = query.client_step(down, Data(row, np.empty(0)), NO_RANDOMNESS).values
    assert np.linalg.norm(added) <= query.sensitivity(down)
    assert added.sum() == 2 * STEPS


def test_rows_that_are_averaged_count_once() -> None:
    pytest.importorskip("cryptography")
    x = np.r_[KINDS["uniform"], np.full(7, 1e6)]  # one group of rows around an extreme value
    (found,) = estimate(x[:, None])
    assert ends(found)[1] > 1e5
    from fedclust.tiers import Guarded

    data = {"o": Data(x[:, None], np.empty(0), grouped=5)}
    (found,) = estimate_bounds([Column("c")], LocalChannel(data), privacy=Guarded())
    assert ends(found)[1] <= 1.1


def test_logarithms_have_bounds_in_units() -> None:
    columns = [Column("dose", log=True)]
    x = np.exp(KINDS["normal"])
    data = {"o": Data(np.log(x)[:, None], np.empty(0))}
    (found,) = estimate_bounds(columns, LocalChannel(data))
    low, high = ends(found)
    assert 0 < low < np.quantile(x, 0.05)
    assert np.quantile(x, 0.95) < high < 10 * x.max()


def test_edges_are_public_numbers() -> None:
    for low, high in ((0.0, 1.0), (-3.0, 128.0), (1024.0, 2048.0), (99_999.9, 100_000.0)):
        edges = linear_edges(low, high, 64)
        step = edges[1] - edges[0]
        assert np.log2(step) == round(np.log2(step))
        assert edges[0] <= low
        assert edges[-1] >= high
        assert (edges / step == np.round(edges / step)).all()
    assert find_coarse_range(np.zeros(len(log_edges()) + 1)) is None
    assert find_end(np.array([0.0, 3.0, 1.0])) is None


def test_a_client_refuses_edges_that_no_server_sends() -> None:
    query = RangeCounts(1, np.array([0.0]), np.array([1.0]), np.array([0]))
    data = Data(np.ones((3, 1)), np.empty(0))
    for edges in (np.array([[1.0, 1.0]]), np.arange(300.0)[None]):
        with pytest.raises(MessageError, match="edges must ascend"):
            query.client_step(RangeEdges(edges), data, NO_RANDOMNESS)
    other = Data(np.ones((3, 2)), np.empty(0))
    with pytest.raises(MessageError, match="bounds of 1 columns, other rows"):
        query.client_step(RangeEdges(np.array([[0.0, 1.0]])), other, NO_RANDOMNESS)
    with pytest.raises(ConfigError, match="positions of columns"):
        RangeCounts(1, np.array([0.0]), np.array([1.0]), np.array([1]))


def test_a_server_refuses_counts_of_other_bins() -> None:
    query = RangeCounts(1, np.array([0.0]), np.array([1.0]), np.array([0]))
    assert query.lossless
    state = query.start(Schema(1), NO_RANDOMNESS)
    with pytest.raises(MessageError, match="expected counts of"):
        query.server_step(state, IntegerSums(np.zeros(3, np.int64)), NO_RANDOMNESS)


def test_bounds_of_the_owner_win() -> None:
    column = Column("age", low=0.0, high=500.0, clip=True)
    assert limit_bounds(column, (18.0, 90.0)) == Column("age", low=18.0, high=90.0, clip=True)
    assert limit_bounds(Column("age", low=0.0, high=500.0), (18.0, 90.0)).high == 500.0
    assert limit_bounds(column, None) == column
    assert declared(column) == Column("age")
    with pytest.raises(ConfigError, match="clip needs low and high"):
        Column("age", clip=True)


def test_values_that_noise_hides_in_the_second_round_give_no_range() -> None:
    """Equal bins hold fewer values each than the first ones: all may stay under the noise."""
    query = RangeCounts(1, np.full(1, -WIDEST), np.full(1, WIDEST), np.array([0]), noise=10.0)
    data = Data(RNG.random((1_000, 1)) + 5.0, np.empty(0))
    state = query.start(Schema(1), NO_RANDOMNESS)
    answer = query.client_step(query.broadcast(state), data, NO_RANDOMNESS)
    state = query.server_step(state, answer, NO_RANDOMNESS)
    assert not state.over
    assert state.low[0] < 5.0 < state.high[0]
    thin = IntegerSums(np.full(state.edges.shape[1] + 1, 9 * STEPS, np.int64))
    state = query.server_step(state, thin, NO_RANDOMNESS)
    assert state.over
    assert np.isnan([state.low[0], state.high[0]]).all()
