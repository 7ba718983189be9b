"""Differential privacy of crafted plans: no record changes a message by more than is claimed."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from fedclust import ConfigError, MessageError
from fedclust.algorithms.bounded_c_means import BoundedCMeans, CentersAndReach
from fedclust.algorithms.bounded_moments import BoundedMoments
from fedclust.algorithms.cell_seeding import CellSeeding
from fedclust.algorithms.cells import COUNTS, LIFT, MOMENTS, CellBroadcast
from fedclust.algorithms.range_counts import RangeCounts, RangeEdges
from fedclust.algorithms.registry import PLANS
from fedclust.core import Empty, Record, Schema
from fedclust.privacy import IntegerGaussian
from fedclust.typing import Rng

from .sensitivity import TrustingCells, TrustingCMeans, change, message, worst_ratio

ROOM = 1e-9


class Case:
    """A crafted plan: how it is built, what is broadcast, and the width of the rows."""

    def __init__(self, n_features: int, down: Record, trusting: Any, *bounded: Any) -> None:
        self.F, self.down, self.trusting = n_features, down, trusting
        self._kind, self._settings = bounded[0], bounded[1:]

    def ask(self) -> None:
        """Ask a client that checks."""
        message(self._kind(*self._settings), self.down, np.zeros((2, self.F)))


def crafted(kind: str, *settings: Any, F: int, down: Record) -> Case:
    classes = {"c-means": (TrustingCMeans, BoundedCMeans), "cells": (TrustingCells, CellSeeding)}
    trusting, bounded = classes[kind]
    return Case(F, down, trusting(*settings), bounded, *settings)


def stage(number: int, F: int, C: int = 2, P: int = 3, spread: float = 1.0) -> CellBroadcast:
    return CellBroadcast(number, np.zeros(F), np.eye(P, F), np.zeros((C, P)), spread)


def one_float_apart(F: int = 4) -> Case:
    """The middle of the bounds rounds onto one end, so the other is twice as far as assumed."""
    low = np.ones(F)
    high = np.nextafter(low, 2.0)
    return crafted("cells", 2, low, high, F=F, down=stage(MOMENTS, F))


def centres_of_one_column(F: int = 400) -> Case:
    """Centres of shape (C, 1) are one column in the account and F columns in the sums."""
    down = CentersAndReach(np.array([[0.0], [1.0]]), 1e-5)
    return crafted("c-means", 2, np.zeros(F), np.ones(F), F=F, down=down)


def bounds_of_one_column(F: int = 60) -> Case:
    """One pair of bounds stands for all columns, and the radius is that of one."""
    down = stage(MOMENTS, 1, P=1)
    return crafted("cells", 2, np.zeros(1), np.ones(1), F=F, down=down)


def widths_that_vanish(F: int = 4) -> Case:
    """Squares of the widths are zero, so the radius is zero, too."""
    wide = np.full(F, 1e-200)
    return crafted("cells", 2, -wide, wide, F=F, down=stage(MOMENTS, F))


def widths_that_overflow(F: int = 4) -> Case:
    """The width is infinite, and rows divided by it are not numbers."""
    wide = np.full(F, 1.7e308)
    return crafted("cells", 2, -wide, wide, F=F, down=stage(MOMENTS, F))


def more_centres_than_clusters(F: int = 2) -> Case:
    """A message is as long as the highest cluster that has a record, and no noise hides that."""
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    down = CentersAndReach(corners, 0.5)
    return crafted("c-means", 1, np.zeros(F), np.ones(F), F=F, down=down)


def more_seeds_than_clusters(F: int = 4) -> Case:
    down = CellBroadcast(LIFT, np.zeros(F), np.eye(3, F), np.eye(3), 1.0)
    return crafted("cells", 1, np.zeros(F), np.ones(F), F=F, down=down)


def centres_with_exchanged_coordinates(F: int = 20, seed: int = 0) -> Case:
    """Records on the mirror planes are ties, which a matrix product decides by their position."""
    rng = np.random.default_rng(seed)
    centers = np.tile(rng.random(F), (8, 1))
    for row in centers:
        a, b = rng.choice(F, 2, replace=False)
        row[[a, b]] = row[[b, a]]
    down = CentersAndReach(centers, 0.02 * math.sqrt(F))
    return crafted("c-means", 8, np.zeros(F), np.ones(F), F=F, down=down)


REFUSED: list[Callable[[], Case]] = [
    one_float_apart,
    centres_of_one_column,
    bounds_of_one_column,
    widths_that_vanish,
    more_centres_than_clusters,
    more_seeds_than_clusters,
    widths_that_overflow,
]


@pytest.mark.parametrize("build", REFUSED[:-1])  # an infinite width is only useless
def test_a_client_that_trusts_its_server_breaks_the_claim(build: Callable[[], Case]) -> None:
    """The search finds what is known to be wrong; else it would prove nothing below."""
    case = build()
    rng = np.random.default_rng(0)
    assert max(worst_ratio(case.trusting, case.down, rng, case.F) for _ in range(3)) > 1.5


@pytest.mark.parametrize("build", REFUSED)
def test_crafted_plans_are_refused(build: Callable[[], Case]) -> None:
    with pytest.raises((ConfigError, MessageError)):
        build().ask()


def ratios_on_ties(case: Case, algorithm: Any) -> float:
    """One more record, in front of records that are equally far from several centres."""
    worst, rng = 0.0, np.random.default_rng(0)
    for n in range(5, 60):
        rows = np.tile(rng.random((n, 1)), case.F)
        more = np.vstack([rng.random(case.F), rows])
        found = change(algorithm, case.down, rows, more) / algorithm.sensitivity(case.down)
        worst = max(worst, found)
    return worst


def test_ties_are_decided_by_the_record_alone() -> None:
    """A matrix product moves another record to another centre, on most machines."""
    found = []
    for seed in range(12):
        case = centres_with_exchanged_coordinates(seed=seed)
        found.append(ratios_on_ties(case, case.trusting))
        checked = BoundedCMeans(8, np.zeros(case.F), np.ones(case.F))
        assert ratios_on_ties(case, checked) <= 1 + ROOM
    if max(found) <= 1.5:
        pytest.skip("the matrix products of this machine do not depend on the position of a row")


BOUNDS: dict[str, Callable[[int, Rng], tuple[Any, Any]]] = {
    "ordinary": lambda F, rng: (rng.normal(size=F) * 10, rng.uniform(0.1, 10, F)),
    "uneven": lambda F, rng: (rng.normal(size=F), 10.0 ** rng.uniform(-8, 8, F)),
    "far": lambda F, rng: (np.full(F, 1e6), np.full(F, 2e-3)),
    "close": lambda F, rng: (np.full(F, 1.0), np.full(F, 10.0 ** -rng.uniform(7, 17))),
    "tiny": lambda F, rng: (np.zeros(F), np.full(F, 10.0 ** -rng.uniform(100, 323))),
    "huge": lambda F, rng: (np.zeros(F), np.full(F, 10.0 ** rng.uniform(100, 308))),
    "infinite": lambda F, rng: (np.full(F, -np.inf), np.full(F, np.inf)),
}


def bounds_of(kind: str, F: int, rng: Rng) -> tuple[Any, Any]:
    low, width = BOUNDS[kind](F, rng)
    with np.errstate(all="ignore"):
        return low, low + width


def centres(chosen: Any, rng: Rng, kind: str) -> Any:
    k, F = chosen.n_clusters, len(chosen.low)
    some = chosen.low + rng.random((k, F)) * (chosen.high - chosen.low)
    same = np.tile(some[:1], (k, 1))
    return {
        "inside": some,
        "outside": chosen.middle + rng.normal(size=(k, F)) * chosen.unit * 10.0 ** rng.integers(9),
        "equal": same,
        "nearly equal": np.nextafter(same, np.where(rng.random((k, F)) < 0.5, np.inf, -np.inf)),
        "one column": some[:, :1],
        "one more": np.vstack([some, some[:1]]),
        "not numbers": np.where(rng.random((k, F)) < 0.5, np.nan, some),
    }[kind]


CENTRES = ("inside", "outside", "equal", "nearly equal", "one column", "one more", "not numbers")


@given(
    seed=st.integers(0, 2**31),
    F=st.integers(1, 24),
    k=st.integers(1, 6),
    bounds=st.sampled_from(["ordinary", "uneven", "far"]) | st.sampled_from(list(BOUNDS)),
    kind=st.sampled_from(CENTRES[:4]) | st.sampled_from(CENTRES),
    reach=st.floats(-1.7, 0.4) | st.floats(-9, 3),
    m=st.sampled_from([1.0, 1.0, 1.0 + 1e-15, 1.05, 1.5, 2.0, 3.0, 80.0]),
)
@settings(max_examples=60)
def test_no_plan_of_c_means_breaks_the_claim(
    seed: int, F: int, k: int, bounds: str, kind: str, reach: float, m: float
) -> None:
    rng = np.random.default_rng(seed)
    low, high = bounds_of(bounds, F, rng)
    try:
        chosen = BoundedCMeans(k, low, high, fuzzifier=m)
        down = CentersAndReach(centres(chosen, rng, kind), chosen.radius * 10.0**reach)
        message(chosen, down, np.zeros((2, F)))
    except (ConfigError, MessageError):
        reject()  # too few answers would fail the test
    assert worst_ratio(chosen, down, rng, F, steps=12) <= 1 + ROOM


@given(
    seed=st.integers(0, 2**31),
    F=st.integers(1, 8),
    k=st.integers(1, 6),
    bounds=st.sampled_from(["ordinary", "uneven", "far"]) | st.sampled_from(list(BOUNDS)),
    number=st.integers(0, 2),
    odd=st.sampled_from(["", "", "", "stage", "directions", "seeds", "scale"]),
    reach=st.floats(-1.7, 0.4) | st.floats(-9, 3),
)
@settings(max_examples=60)
def test_no_plan_of_cells_breaks_the_claim(
    seed: int,
    F: int,
    k: int,
    bounds: str,
    number: int,
    odd: str,
    reach: float,
) -> None:
    rng = np.random.default_rng(seed)
    low, high = bounds_of(bounds, F, rng)
    P = 3 if odd == "directions" else min(F, 3)
    scale = 10.0 ** rng.uniform(-7, 7) if odd == "scale" else 1.0
    basis, seeds = rng.normal(size=(P, F)) * scale, rng.normal(size=(k + (odd == "seeds"), P))
    try:
        chosen = CellSeeding(k, low, high, cells=int(rng.choice([2, 7])))
        spread, stages = chosen.radius * 10.0**reach, chosen.stages
        number = int(rng.integers(-1, 5)) if odd == "stage" else stages[number % len(stages)]
        down = CellBroadcast(number, rng.uniform(-1, 1, F), basis, seeds, spread)
        message(chosen, down, np.zeros((2, F)))
    except (ConfigError, MessageError):
        reject()  # too few answers would fail the test
    assert worst_ratio(chosen, down, rng, F, steps=12) <= 1 + ROOM


@given(
    seed=st.integers(0, 2**31),
    F=st.integers(1, 24),
    bounds=st.sampled_from(["ordinary", "uneven", "far"]) | st.sampled_from(list(BOUNDS)),
    whole=st.booleans(),
)
@settings(max_examples=40)
def test_no_plan_of_moments_breaks_the_claim(seed: int, F: int, bounds: str, whole: bool) -> None:
    rng = np.random.default_rng(seed)
    try:
        chosen = BoundedMoments(1, *bounds_of(bounds, F, rng), whole_rows=whole)
        message(chosen, Empty(), np.zeros((2, F)))
    except (ConfigError, MessageError):
        reject()  # too few answers would fail the test
    assert worst_ratio(chosen, Empty(), rng, F, steps=12) <= 1 + ROOM


@given(
    seed=st.integers(0, 2**31),
    F=st.integers(1, 8),
    n_edges=st.integers(1, 40),
    scale=st.floats(-9, 9),
    odd=st.sampled_from(["", "", "", "", "twice", "equal", "not numbers", "more", "fewer"]),
)
@settings(max_examples=40)
def test_no_plan_of_ranges_breaks_the_claim(
    seed: int, F: int, n_edges: int, scale: float, odd: str
) -> None:
    """Columns may be named twice, and edges may be those of other columns, or none."""
    rng = np.random.default_rng(seed)
    places = np.zeros(F, np.int64) if odd == "twice" else np.arange(F)
    rows = {"more": F + 1, "fewer": F - 1}.get(odd, F)
    edges = np.sort(rng.normal(size=(rows, n_edges)), axis=1) * 10.0**scale
    if odd == "equal":
        edges[:, -1] = edges[:, 0]
    if odd == "not numbers":
        edges[0, 0] = np.nan
    try:
        chosen = RangeCounts(1, np.full(F, -10.0), np.full(F, 10.0), places)
        message(chosen, RangeEdges(edges), np.zeros((2, F)))
    except (ConfigError, MessageError):
        reject()  # too few answers would fail the test
    assert worst_ratio(chosen, RangeEdges(edges), rng, F, steps=12) <= 1 + ROOM


@pytest.mark.parametrize("F", [1, 2, 3, 5, 20])
@pytest.mark.parametrize("m", [1.0, 2.0])
def test_honest_plans_are_answered_and_keep_the_claim(F: int, m: float) -> None:
    """Columns may be a hundred thousand times as wide as others."""
    rng = np.random.default_rng(F)
    schema = Schema(F, low=np.zeros(F), high=10.0 ** rng.uniform(0, 5, F))
    rows = rng.random((200, F)) * schema.box()[1]
    for chosen in (CellSeeding(3, *schema.box()), BoundedCMeans(3, *schema.box(), fuzzifier=m)):
        algorithm: Any = chosen
        state = algorithm.start(schema, rng)
        while not algorithm.done(state):
            down = algorithm.broadcast(state)
            sent = message(algorithm, down, rows)
            assert worst_ratio(algorithm, down, rng, F, steps=20) <= 1 + ROOM
            state = algorithm.server_step(state, algorithm.up(sent.astype(np.int64)), rng)


def test_values_that_are_not_numbers_change_no_more_than_others() -> None:
    chosen = BoundedCMeans(1, np.zeros(2), np.ones(2))
    down = CentersAndReach(np.full((1, 2), 0.5), 0.5)
    odd = np.array([[np.nan, np.inf]])
    assert np.linalg.norm(message(chosen, down, odd)) <= chosen.sensitivity(down)


def test_every_bounded_algorithm_that_a_request_can_build_is_searched() -> None:
    bounded = {name for name in PLANS if PLANS[name].traits.bounded}
    assert bounded == {"BoundedCMeans", "CellSeeding", "BoundedMoments", "RangeCounts"}
    for name in set(PLANS) - bounded:  # of summaries, mixtures, categories and missing cells, too
        with pytest.raises(ConfigError, match="does not say how much one record can change"):
            IntegerGaussian(1.0).check(PLANS[name])  # type: ignore[arg-type]


@pytest.mark.parametrize("cells", [200, 512])
def test_cells_take_no_more_memory_than_their_columns_need(cells: int) -> None:
    """Three directions of one column would be 8 million cells, or 134 million."""
    chosen = CellSeeding(2, np.zeros(1), np.ones(1), cells=cells)
    with pytest.raises(MessageError, match="'basis' has shape"):
        message(chosen, stage(COUNTS, 1, P=3), np.zeros((2, 1)))
    with pytest.raises(ConfigError, match="at most 2,000"):
        CellSeeding(2, np.zeros(2_001), np.ones(2_001))
