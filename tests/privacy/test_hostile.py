"""Clients that send what no honest one can are left out; stealthy ones are outvoted."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from fedclust.algorithms import make
from fedclust.algorithms.centers import Sums
from fedclust.algorithms.micro_clusters import Summary
from fedclust.algorithms.outvoting import (
    ClientPoints,
    exaggerated,
    outside_cells,
    outvoting_mean,
    score_by_most,
    weighted_median,
)
from fedclust.algorithms.robust_c_means import RivalMeans, RobustCMeans, RobustRivals
from fedclust.algorithms.robust_seeding import HeldState, Points, RobustSeeding
from fedclust.channels import LocalChannel
from fedclust.clustering.rows import cluster
from fedclust.core import EmptyRound, MessageError, Plan, Request, Schema, run
from fedclust.datasets import dirichlet
from fedclust.kernels import nearest
from fedclust.privacy import CheckedChannel, FixedPoint, MinCount, SecureChannel
from fedclust.typing import FloatArray

from .false_rows import FALSE_ROWS
from .hostile import Hostile, Lie
from .later_lies import LATER
from .lies import LIES, Colluding
from .robust import (
    BARS,
    DATA,
    FALSE_HEAD,
    FALSE_KINDS,
    KINDS,
    LATER_DATA,
    LATER_KINDS,
    SPLITS,
    Federation,
    Part,
    cell,
    head,
    measure,
    table,
)

BOX = Schema(2, low=np.zeros(2), high=np.ones(2))


def rows(n: int = 2000, seed: int = 0) -> tuple[FloatArray, Any]:
    rng = np.random.default_rng(seed)
    centers = np.array([[0.2, 0.2], [0.8, 0.2], [0.2, 0.8], [0.8, 0.8], [0.5, 0.5]])
    y = rng.integers(0, 5, n)
    return np.clip(rng.normal(centers[y], 0.05), 0, 1), y


START = np.array([[0.3, 0.3], [0.7, 0.3], [0.3, 0.7], [0.7, 0.7], [0.5, 0.4]])


def federation(n_clients: int = 20) -> dict[str, FloatArray]:
    X, _ = rows()
    return {f"c{i:02d}": X[i::n_clients] for i in range(n_clients)}


def extreme(request: Request, sums: Any) -> Any:
    return Sums(sums.weight, sums.total + type(sums.total[0, 0])(1e6))


def negative(request: Request, sums: Any) -> Any:
    return Sums(-sums.weight, -sums.total)


def inflated(request: Request, sums: Any) -> Any:
    return Sums(sums.weight * 1000, sums.total * 1000)


def no_number(request: Request, sums: Any) -> Any:
    return Sums(sums.weight, sums.total * np.nan)


def turning(request: Request, sums: Any) -> Any:
    """Honest at first; then within all bounds, but not the same records."""
    return (
        sums
        if request.round == 0
        else Sums(sums.weight, sums.total[::-1] * 0 + 0.5 * sums.weight[:, None])
    )


@pytest.mark.parametrize(
    ("lie", "why"),
    [
        (extreme, "means outside the public bounds"),
        (negative, "weights that are negative"),
        (inflated, "more records than it can have"),
        (no_number, "values that are no numbers"),
    ],
)
@pytest.mark.parametrize("key", ["llf-cm", "llf-fcm"])
def test_who_sends_the_impossible_is_left_out_and_nothing_else_changes(
    lie: Lie, why: str, key: str
) -> None:
    data = federation()
    channel = CheckedChannel(Hostile(data, ("c03",), lie), BOX)
    plan = Plan(make(key, 5, init=START))
    found = run(plan, channel, BOX)
    assert why in channel.left_out["c03"]
    assert channel.left_out.keys() == {"c03"}
    without = run(plan, LocalChannel({c: X for c, X in data.items() if c != "c03"}), BOX)
    assert found.model.tobytes() == without.model.tobytes()


@pytest.mark.parametrize("exact", [False, True])
def test_records_that_change_are_noticed(exact: bool) -> None:
    data = federation()
    plan = Plan(make("llf-cm", 5, init=START, tol=0.0), (FixedPoint.over(BOX),) if exact else ())
    channel = CheckedChannel(Hostile(data, ("c07",), _on_grid(turning) if exact else turning), BOX)
    run(plan, channel, BOX)
    assert channel.left_out == {
        "c07": "round 1: sums over all clusters that changed since its first round"
    }


def _on_grid(lie: Lie) -> Lie:
    grid = FixedPoint.over(BOX).grid
    return lambda request, sums: lie(request, sums.off_grid(grid)).on_grid(grid)


@pytest.mark.parametrize(
    ("key", "transforms"),
    [
        *((key, ()) for key in ("llf-cm", "llf-fcm", "ewf", "fkm")),
        *((key, (FixedPoint.over(BOX),)) for key in ("llf-cm", "llf-fcm", "ewf")),
        *((key, (MinCount(2),)) for key in ("llf-cm", "fkm")),
    ],
)
def test_honest_clients_are_never_left_out(key: str, transforms: Any) -> None:
    data = federation() | {"tiny": np.array([[0.5, 0.5]]), "empty": np.empty((0, 2))}
    channel = CheckedChannel(LocalChannel(data), BOX, records={c: len(X) for c, X in data.items()})
    plain = run(Plan(make(key, 5, init=START, max_rounds=15), transforms), LocalChannel(data), BOX)
    found = run(Plan(make(key, 5, init=START, max_rounds=15), transforms), channel, BOX)
    assert channel.left_out == {}
    assert found.model.tobytes() == plain.model.tobytes()


def test_enrolled_sizes_bound_fuzzy_weights_from_both_sides() -> None:
    data = federation()
    sizes = {c: len(X) for c, X in data.items()}
    for factor, why in ((0.05, "less than memberships sum to"), (3.0, "more records than")):
        lie = lambda request, s, f=factor: Sums(s.weight * f, s.total * f)  # noqa: E731
        channel = CheckedChannel(Hostile(data, ("c01",), lie), BOX, records=sizes)
        run(Plan(make("llf-fcm", 5, init=START, max_rounds=3)), channel, BOX)
        assert why in channel.left_out["c01"]


def test_a_client_that_leaves_out_records_from_the_first_round_on_is_left_out() -> None:
    data = federation()
    lie = lambda request, s: Sums(s.weight * 0.5, s.total * 0.5)  # noqa: E731
    sizes = {c: len(X) for c, X in data.items()}
    channel = CheckedChannel(Hostile(data, ("c01",), lie), BOX, records=sizes)
    run(Plan(make("llf-cm", 5, init=START, max_rounds=3)), channel, BOX)
    assert channel.left_out == {"c01": "round 0: other records than it enrolled"}


def test_without_bounds_there_are_fewer_laws() -> None:
    channel = CheckedChannel(Hostile(federation(), ("c01",), extreme), Schema(2))
    run(Plan(make("llf-cm", 5, init=START, max_rounds=2)), channel, Schema(2))
    assert "c01" not in channel.left_out  # the same lie in every round


def test_masked_messages_cannot_be_read_and_are_not_judged() -> None:
    data = federation(5)
    checked = CheckedChannel(LocalChannel(data), BOX)
    plan = Plan(make("llf-cm", 5, init=START), (FixedPoint.over(BOX),))
    found = run(plan, SecureChannel(checked), BOX)
    assert checked.left_out == {}
    assert found.model.tobytes() == run(plan, LocalChannel(data), BOX).model.tobytes()


def test_totals_outside_the_bounds_are_refused_under_masks() -> None:
    """A client that lies adds to a masked message what no rows can sum to."""
    plan = Plan(make("llf-cm", 5, init=START), (FixedPoint.over(BOX),))
    for by in (10**15, -(10**15), 2**62):
        lie = lambda request, sums, by=by: (  # noqa: E731
            Sums(sums.weight, sums.total + np.int64(by)) if isinstance(sums, Sums) else sums
        )
        channel = SecureChannel(Hostile(federation(5), ("c01",), lie))
        with pytest.raises(MessageError, match="at least one client sent false sums"):
            run(plan, channel, BOX)


def stealth(request: Request, message: Any) -> Any:
    """Means within the bounds, honest sizes, all towards one corner."""
    corner = np.array([0.98, 0.02])
    if isinstance(message, ClientPoints):
        return ClientPoints(message.centers * 0 + corner, message.weight)
    return Sums(message.weight, message.weight[:, None] * corner)


def test_stealthy_clients_pull_means_and_not_medians() -> None:
    X, y = rows()
    liars = ("c02", "c06", "c11", "c17")
    channel = Hostile(federation(), liars, stealth)
    mean = run(Plan(make("llf-cm", 5, init=START, max_rounds=15)), channel, BOX).model
    median = run(Plan(RobustCMeans(5, init=START, max_rounds=15)), channel, BOX).model
    assert adjusted_rand_score(y, nearest(X, mean)[0]) < 0.8
    assert adjusted_rand_score(y, nearest(X, median)[0]) > 0.95


# One for each part of the algorithm. `python -m privacy.robust` measures all of them.
HARMFUL = (
    "all in one corner",
    "clusters moved onto neighbours",
    "race only: random",
    "all phases: worst first",
)


@pytest.mark.parametrize(
    ("name", "split", "bar"),
    [
        ("15 round clusters", "iid", 0.90),
        ("15 round clusters", "dirichlet", 0.80),
        pytest.param("digits", "iid", 0.90, marks=pytest.mark.slow),
        ("digits", "dirichlet", 0.80),  # the hardest of the four
    ],
)
def test_a_fifth_of_the_clients_cannot_move_the_result_from_the_default_start(
    name: str, split: str, bar: float
) -> None:
    lies = {lie: LIES[lie] for lie in HARMFUL}
    federations = [Federation.of(name, split, seed) for seed in range(2)]
    robust = np.mean([f.agreement(lies, ("robust-cm",)) for f in federations], axis=0)
    assert (robust >= bar).all()


def read_cells(names: tuple[str, ...], kinds: Iterable[str]) -> dict[str, list[str]]:
    """The cells of a table by lie; it has all of them."""
    text = (Path(__file__).parents[2] / "docs" / "privacy.md").read_text(encoding="utf-8")
    rows = text.split(head(names))[1].split("\n\n")[0].strip().splitlines()[1:]
    cells = {row.split(" | ")[0].strip("| "): row.split(" | ")[1:] for row in rows}
    assert list(cells) == list(kinds)
    return cells


def read_means(names: tuple[str, ...], kinds: Iterable[str]) -> FloatArray:
    """Means by lie."""
    cells = read_cells(names, kinds)
    return np.array([[float(cell.split()[0]) for cell in cells[lie]] for lie in kinds])


def test_the_table_of_lies_is_complete_and_meets_the_bars() -> None:
    assert (read_means(DATA, KINDS) >= np.tile(BARS, len(DATA))).all()


@pytest.mark.slow
def test_a_documented_cell_is_what_is_measured() -> None:
    lie, keys = "all in one corner", ("robust-cm", "llf-cm")
    found = [measure(Part(DATA[0], SPLITS[1], seed, (lie,), keys))[0] for seed in range(10)]
    assert read_cells(DATA, KINDS)[lie][1] == cell(np.array(found))


def test_lies_that_nothing_was_tuned_for_cost_a_tenth_at_most() -> None:
    means = read_means(LATER_DATA, LATER_KINDS)
    assert (means[0] - means <= 0.10).all()


@pytest.mark.parametrize("lie", [*LIES, *LATER])
def test_no_kind_of_lie_is_believed(lie: str) -> None:
    data, (X, y) = federation(), rows()
    channel = Colluding(data, ("c02", "c06", "c11", "c17"), {**LIES, **LATER}[lie])
    found = cluster(make("robust-cm", 5, max_rounds=20), channel, Schema(2))
    assert adjusted_rand_score(y, nearest(X, found.centers)[0]) > 0.95


@pytest.mark.parametrize("kind", FALSE_ROWS)
def test_false_rows_of_a_fifth_do_not_change_the_clusters(kind: str) -> None:
    X, y = rows()
    liars = ("c02", "c06", "c11", "c17")
    honest = Federation(X, 5, federation(), liars, seed=0)
    found = honest.invent(kind).labels("robust-cm", None)
    assert adjusted_rand_score(y, found) > 0.95


def test_the_documented_false_rows_are_all_that_are_measured() -> None:
    text = (Path(__file__).parents[2] / "docs" / "privacy.md").read_text(encoding="utf-8")
    lines = text.split(FALSE_HEAD)[1].split("\n\n")[0].splitlines()[2:]
    assert tuple(line.split(" | ")[0].strip("| ") for line in lines) == FALSE_KINDS


@given(seed=st.integers(0, 10_000), k=st.integers(1, 8), n_features=st.integers(1, 5))
def test_means_of_honest_clients_are_within_the_cells_of_their_clusters(
    seed: int, k: int, n_features: int
) -> None:
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(k, n_features))
    centers[-1] = centers[0]  # coinciding centres are allowed
    X = rng.normal(size=(50, n_features)) * 10.0 ** rng.integers(-3, 4)
    cluster_of = nearest(X, centers)[0]
    weight = np.bincount(cluster_of, minlength=k).astype(float)
    means = np.stack([X[cluster_of == c].mean(axis=0) if weight[c] else X[0] for c in range(k)])
    assert not outside_cells(centers, means[None], weight[None]).any()


def test_a_mean_that_is_nearer_to_another_centre_is_a_lie_at_any_weight() -> None:
    means = np.tile(START, (4, 1, 1))
    means[1, 0] = START[1]
    means[2, 3] = np.nan
    means[3, 2] = 1e200
    weight = np.full((4, 5), 1e-6)
    assert outside_cells(START, means, weight).tolist() == [False, True, True, True]
    weight[1, 0] = 0.0  # withheld
    assert not outside_cells(START, means, weight)[1]


def test_ten_starts_are_ranked_by_the_honest_clients() -> None:
    rng = np.random.default_rng(0)
    errors = 100 + np.arange(10) + rng.normal(0, 0.1, (20, 10))
    errors[:4] = 1e6 * (errors[:4].max() - errors[:4])  # the worst first
    false = exaggerated(errors)
    assert np.flatnonzero(false).tolist() == [0, 1, 2, 3]
    assert np.argsort(errors.sum(axis=0)).tolist() == list(range(10))[::-1]
    assert np.argsort(score_by_most(errors[~false], 1)).tolist() == list(range(10))
    assert np.argsort(score_by_most(errors, 5)).tolist() == list(range(10))


def test_few_clients_that_lose_much_outweigh_many_that_lose_little() -> None:
    """On uneven splits few clients have most rows of a cluster, and only they see what it needs."""
    errors = np.full((20, 2), 100.0)
    errors[:5, 1] += 10.0
    errors[5, 0] += 1.0
    errors[6:, 0] += 0.8
    good, bad = score_by_most(errors, 5)
    assert good < bad


@pytest.mark.parametrize("seed", [1, 3])
@pytest.mark.parametrize("searches_all", [True, False])
def test_clusters_in_which_few_clients_have_candidates_are_found(
    seed: int, searches_all: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def search_held(self: RobustSeeding, state: HeldState) -> tuple[Summary, ...]:
        return (Summary(state.points[state.held], state.weight[state.held]),)

    if not searches_all:
        monkeypatch.setattr(RobustSeeding, "summaries", search_held)
    X, y, k = table("15 round clusters")
    X, owner = X[:1000], dirichlet(y[:1000], 20, 0.3, seed)
    clients = LocalChannel({f"c{m:02d}": X[owner == m] for m in np.unique(owner)})
    plain, robust = (
        cluster(make(key, k), clients, Schema(2), seed=seed).centers
        for key in ("llf-cm", "robust-cm")
    )
    ratio = nearest(X, robust)[1].sum() / nearest(X, plain)[1].sum()
    assert (ratio < 1.05) if searches_all else (ratio > 2)


def test_a_race_in_which_all_clients_lie_prefers_no_start() -> None:
    centers = np.array([[0.2, 0.2], [0.8, 0.8]])
    race = RobustRivals(2, np.concatenate([centers, centers[:, ::-1]]))
    swapped = np.tile(race.split(race.init)[:, ::-1].reshape(4, 2), (4, 1))  # of four clients
    found = race.model(RivalMeans(np.ones(8), swapped, np.ones(16)))
    assert found.score.tolist() == [0.0, 0.0]
    assert found.starts.reshape(4, 2).tolist() == race.init.tolist()


def test_a_filter_that_would_drop_every_point_drops_none() -> None:
    points = Points(np.zeros((3, 2)), np.ones(3), np.arange(3))
    assert points.keep(np.zeros(3, dtype=bool)) is points
    assert points.keep(np.array([True, False, True])).owner.tolist() == [0, 2]


@given(seed=st.integers(0, 10_000), n_clients=st.integers(4, 30), scale=st.floats(-300, 200))
def test_liars_cannot_move_a_centre_out_of_reach_of_the_honest(
    seed: int, n_clients: int, scale: float
) -> None:
    rng = np.random.default_rng(seed)
    n_liars = n_clients // 4
    rows = rng.normal(size=(n_clients, 3))
    weight = rng.pareto(1.0, n_clients) * (rng.random(n_clients) < 0.7)
    honest, stay = rows[n_liars:][weight[n_liars:] > 0], rng.normal(size=3)
    rows[:n_liars] *= 10.0 ** rng.uniform(-3, scale) if scale > -3 else 0.0
    weight[:n_liars] = 10.0 ** rng.uniform(-9, 9, n_liars)
    moved = outvoting_mean(rows, weight, stay, n_liars)
    anchors = np.vstack([honest, stay])
    # The median is within the box of the anchors, and the mean within twice as far of the median.
    reach = 3 * np.linalg.norm(np.ptp(anchors, axis=0)) + 1e-9
    assert np.linalg.norm(moved - anchors, axis=1).min() <= reach


def test_without_hostility_medians_find_the_same_clusters() -> None:
    X, y = rows()
    done = run(Plan(RobustCMeans(5, init=START)), LocalChannel(federation(), strict=True), BOX)
    assert adjusted_rand_score(y, nearest(X, done.model)[0]) > 0.97


def test_a_cluster_nobody_holds_keeps_its_centre() -> None:
    start = np.vstack([START[:4], [[9.0, 9.0]]])
    done = run(Plan(RobustCMeans(5, init=start, max_rounds=3)), LocalChannel(federation()), BOX)
    assert done.model[4].tolist() == [9.0, 9.0]


@pytest.mark.parametrize(
    ("values", "weight", "median"),
    [
        ([1.0, 2.0, 3.0], [1, 1, 1], 2.0),
        ([1.0, 2.0, 3.0, 10.0], [1, 1, 1, 1], 2.5),
        ([1.0, 2.0, 3.0], [1, 1, 9], 3.0),
        ([3.0, 1.0], [1, 1], 2.0),
        ([7.0], [0.5], 7.0),
    ],
)
def test_weighted_medians(values: list[float], weight: list[float], median: float) -> None:
    found = weighted_median(np.array(values)[:, None], np.array(weight, dtype=float))
    assert found.tolist() == [median]


def test_a_start_of_nothing_but_negative_weights_is_refused() -> None:
    seeding = RobustSeeding(2)
    groups = 4
    lies = ClientPoints(np.ones((groups, 2)), np.full(groups, -5.0), np.full(groups, 5.0))
    state = seeding.start(Schema(2), np.random.default_rng(0))
    with pytest.raises(EmptyRound, match="no client has enough rows for a candidate"):
        seeding.server_step(state, lies, np.random.default_rng(0))
