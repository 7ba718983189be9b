"""The default start: close to the best known, whatever the split, in tiers that allow it."""

import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine

from fedclust.algorithms import make, make_seeding
from fedclust.algorithms.micro_clusters import MicroSeeding, RivalSteps, Summary
from fedclust.channels import LocalChannel
from fedclust.clustering import starts
from fedclust.clustering.rows import cluster, run_seeding
from fedclust.core import Data, EmptyRound, Plan, Schema, run
from fedclust.core.channel import Wrapper
from fedclust.datasets import dirichlet, iid
from fedclust.kernels import fuzzy_c_means, inertia, kmeans_plusplus, lloyd
from fedclust.kernels.search import fuzzy_objective
from fedclust.privacy import CheckedChannel
from fedclust.typing import FloatArray


def channel(X: FloatArray, owner: Any) -> LocalChannel:
    return LocalChannel({f"c{o:03d}": Data.of(X[owner == o]) for o in np.unique(owner)})


def tiny_clients(n: int, seed: int = 0) -> Any:
    """Owners of 3 to 10 rows."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(3, 11, n)
    return rng.permutation(np.repeat(np.arange(n), sizes)[:n])


def heavy_tails(seed: int = 0) -> tuple[FloatArray, Any]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 6, 1500)
    X = np.exp(rng.normal(0, 1.2, (6, 4))[y] + rng.normal(0, 0.8, (1500, 4)))
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def blobs(seed: int = 0) -> tuple[FloatArray, Any]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 12, 900)
    return rng.normal(rng.uniform(-20, 20, (12, 2))[y], 1.0), y


def wine() -> tuple[FloatArray, Any]:
    found = load_wine()
    return (found.data - found.data.mean(axis=0)) / found.data.std(axis=0), found.target


def one_skewed_column() -> tuple[FloatArray, Any]:
    """The best solution has clusters of single rows, which no group of rows shows."""
    rng = np.random.default_rng(0)
    return np.exp(1.2 * rng.normal(size=(1200, 1))), rng.integers(0, 4, 1200)


def few_distinct_rows() -> tuple[FloatArray, Any]:
    """Groups of three distinct rows mix different values, so no summary shows the clusters."""
    rng = np.random.default_rng(2)
    drawn = rng.integers(0, 40, 2000)
    return rng.exponential(size=(40, 1))[drawn], drawn


CASES = {
    "one skewed column": (*one_skewed_column(), 6, "dirichlet"),
    "one skewed column, many clients": (*one_skewed_column(), 10, "tiny"),
    "few distinct rows, twenty clients": (*few_distinct_rows(), 30, "iid"),
    "few distinct rows, tiny clients": (*few_distinct_rows(), 30, "tiny"),
    "heavy tails, five uneven clients": (*heavy_tails(), 8, "dirichlet"),
    "heavy tails, one client": (*heavy_tails(1), 6, "one"),
    "blobs, tiny clients": (*blobs(), 12, "tiny"),
    "blobs, twenty clients": (*blobs(1), 12, "iid"),
    "wine": (*wine(), 3, "iid"),
}


def split(how: str, X: FloatArray, y: Any) -> Any:
    if how == "dirichlet":
        return dirichlet(y, 5, 0.3, 1)
    return {
        "one": np.zeros(len(X), dtype=int),
        "iid": iid(len(X), 20, 0),
        "tiny": tiny_clients(len(X)),
    }[how]


@pytest.mark.parametrize("seeds", [3, pytest.param(5, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", list(CASES))
def test_one_start_is_as_good_as_the_best_of_many(name: str, seeds: int) -> None:
    """The bars of benchmarks/starts.py, on sets small enough for every run of the tests."""
    X, y, k, how = CASES[name]
    peers = [KMeans(k, n_init=1, random_state=s, tol=1e-6).fit(X).inertia_ for s in range(40)]
    clients = channel(X, split(how, X, y))
    found = [
        cluster(make("llf-cm", k), clients, Schema(X.shape[1]), seed=s).inertia
        for s in range(seeds)
    ]
    best = min(*peers, *found)
    assert np.mean(found) <= 1.01 * best
    assert max(found) <= 1.05 * best
    assert np.mean(found) <= np.mean(peers) * (1 + 1e-4)


# Fuzzy c-means has no race, so nothing repairs the sums that clients of many rows hide.
FUZZY_CASES = [name for name in CASES if name != "few distinct rows, twenty clients"]


@pytest.mark.parametrize("m", [1.5, 2.0])
@pytest.mark.parametrize("name", FUZZY_CASES)
def test_one_fuzzy_start_is_as_good_as_the_best_of_many(name: str, m: float) -> None:
    X, y, k, how = CASES[name]
    one, rng = np.ones(len(X)), np.random.default_rng(0)
    starts = [X[rng.choice(len(X), k, replace=False)] for _ in range(5)]
    starts += [kmeans_plusplus(X, k, rng) for _ in range(5)]
    peers = [fuzzy_c_means(X, start, m, steps=300, tol=1e-6)[0] for start in starts]
    clients = channel(X, split(how, X, y))
    found = [
        cluster(make("llf-fcm", k, fuzzifier=m), clients, Schema(X.shape[1]), seed=s).centers
        for s in range(2)
    ]
    best = min(fuzzy_objective(X, centers, m, one) for centers in (*peers, *found))
    assert np.mean([fuzzy_objective(X, c, m, one) for c in found]) <= 1.01 * best


@given(seed=st.integers(0, 1000), n_clients=st.integers(1, 40))
@settings(max_examples=10)
def test_the_start_needs_few_further_rounds_for_any_split(seed: int, n_clients: int) -> None:
    X, _ = blobs(2)
    owner = np.random.default_rng(seed).integers(0, n_clients, len(X))
    done = cluster(make("llf-cm", 12), channel(X, owner), Schema(2))
    assert done.converged
    assert done.run.n_rounds <= 15
    assert done.inertia == pytest.approx(inertia(X, lloyd(X, done.centers, steps=1).centers))


def test_rivals_step_as_k_means_does() -> None:
    X, _ = blobs()
    rng = np.random.default_rng(0)
    starts = [X[rng.choice(len(X), 3)] for _ in range(4)]
    clients = channel(X, np.arange(len(X)) % 3)
    done = run(Plan(RivalSteps(3, np.concatenate(starts))), clients, Schema(2)).model
    for start, moved, value, weight in zip(starts, *done, strict=True):
        nearest_of = np.square(X[:, None] - start).sum(axis=2).argmin(axis=1)
        assert weight.tolist() == np.bincount(nearest_of, minlength=3).tolist()
        assert value == pytest.approx(inertia(X, start))
        np.testing.assert_allclose(moved, lloyd(X, start, steps=1).centers)


def test_no_client_is_left_out_for_the_sums_of_rivals() -> None:
    """Every start assigns all rows, so the weights of all starts exceed a client's rows."""
    X, _ = blobs()
    clients, notes = channel(X, np.arange(len(X)) % 3), list[str]()
    checked = CheckedChannel(
        clients,
        Schema(2),
        records=dict.fromkeys(clients.clients(), len(X) // 3),
        note=lambda *what: notes.append(what[-1]),
    )
    plain, seen = (cluster(make("llf-cm", 5), c, Schema(2)).centers for c in (clients, checked))
    assert notes == []
    assert plain.tobytes() == seen.tobytes()


def test_a_client_that_invents_rows_in_a_race_is_left_out() -> None:
    X, _ = blobs()
    query = RivalSteps(3, X[:12])
    honest = channel(X, np.arange(len(X)) % 3)

    class Lying(Wrapper):
        def ask(self, plan: Any, request: Any) -> Any:
            more = np.where(np.arange(12) < 3, 9.0, 1.0)  # in the first start only
            replies: Any = self.channel.ask(plan, request)
            for client, sums in replies:
                lie = client == "c001"
                yield client, replace(sums, weight=sums.weight * more) if lie else sums

    records = dict.fromkeys(honest.clients(), len(X) // 3)
    checked = CheckedChannel(Lying(honest), Schema(2), records=records)
    run(Plan(query), checked, Schema(2))
    assert list(checked.left_out) == ["c001"]


def test_no_centre_is_asked_outside_the_public_bounds() -> None:
    """Clients refuse such centres, and splits of outlying clusters could lie there."""
    X, _ = one_skewed_column()
    low, high = X.min(axis=0), X.max(axis=0)
    asked = list[str]()

    class Bounded(Wrapper):
        def ask(self, plan: Any, request: Any) -> Any:
            if hasattr(request.down, "centers"):
                asked.append(plan.algorithm.key)
                assert (request.down.centers >= low).all()
                assert (request.down.centers <= high).all()
            yield from self.channel.ask(plan, request)

    clients = Bounded(channel(X, np.arange(len(X)) % 4))
    cluster(make("llf-cm", 20), clients, Schema(1, low, high))
    assert asked.count("rival-steps") > 5


def test_a_client_gives_the_same_groups_whatever_the_seed() -> None:
    """Asking again, with another seed or for another start, shows nothing new."""
    X, _ = heavy_tails()
    replies = []
    for seed in range(3):
        done = run(Plan(MicroSeeding(4), seed=seed), channel(X, np.arange(1500) % 3), Schema(4))
        replies.append(done.state.points.tobytes())
    assert len(set(replies)) == 1


@pytest.mark.parametrize(
    ("privacy", "keys"),
    [
        ("none", {"micro-clusters", "micro-c-means", "rival-steps"}),
        ("paper", {"micro-clusters"}),
        ("guarded", {"micro-clusters"}),
        ("secure", {"cells"}),
    ],
)
def test_only_open_tiers_spend_further_rounds(privacy: str, keys: set[str]) -> None:
    X, _ = blobs()
    low, high = np.full(2, -30.0), np.full(2, 30.0)
    clients = channel(X, np.arange(len(X)) % 4)
    ready, runs = run_seeding(make("llf-cm", 5), clients, Schema(2, low, high), privacy=privacy)
    assert {done.algorithm.key for done in runs} == keys
    assert ready.parameter("init").shape == (5, 2)


def test_the_default_by_name_is_the_default() -> None:
    X, _ = blobs()
    clients = channel(X, np.arange(len(X)) % 4)
    a, b = (
        run_seeding(make("llf-cm", 5), clients, Schema(2), init=init)[0].parameter("init")
        for init in ("auto", "micro-clusters")
    )
    assert a.tobytes() == b.tobytes()
    alone = run_seeding(
        make("llf-cm", 5), clients, Schema(2), init=make_seeding("micro-clusters", 5)
    )
    assert [done.n_rounds for done in alone[1]] == [1]  # as configured, and nothing else


def test_more_clusters_than_groups_of_rows_still_separate() -> None:
    """Five clients of three rows send five means; eight centres must not coincide."""
    X = np.random.default_rng(0).normal(size=(15, 2))
    done = cluster(make("llf-cm", 8), channel(X, np.arange(15) % 5), Schema(2))
    assert len(np.unique(done.centers, axis=0)) == 8
    best = KMeans(8, n_init=20, random_state=0).fit(X).inertia_
    assert done.inertia <= 1.5 * best


@pytest.mark.parametrize("key", ["llf-cm", "robust-cm"])
def test_clients_without_three_different_rows_send_no_start(key: str) -> None:
    X = np.random.default_rng(0).normal(size=(8, 2))
    with pytest.raises(EmptyRound, match="no client has enough rows"):
        cluster(make(key, 2), channel(X, np.arange(8) % 4), Schema(2))


def test_an_algorithm_without_races_takes_the_best_of_the_search() -> None:
    """Its rounds do not ask as much as a race would, so one round has to be enough."""
    X, _ = blobs()
    clients = channel(X, np.arange(len(X)) % 4)
    ready, runs = run_seeding(make("dwf", 5), clients, Schema(2), init="micro-clusters")
    assert [(done.algorithm.key, done.n_rounds) for done in runs] == [("micro-clusters", 1)]
    best = KMeans(5, n_init=20, random_state=0).fit(X).inertia_
    assert inertia(X, lloyd(X, ready.parameter("init"), steps=50).centers) <= 1.05 * best


def test_groups_of_very_many_clients_are_not_compared_in_pairs() -> None:
    """100,000 clients send 600,000 groups: all pairs would take terabytes."""
    rng = np.random.default_rng(0)
    points, weight = rng.normal(size=(50_000, 2)), np.full(50_000, 3.0)
    points[40_000] = 60.0, 0.0
    tracemalloc.start()
    places = starts._reach_beyond(Summary.of(points, weight))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**30
    assert places[:, 0].max() > 80.0  # beyond the outlying point


def test_fewer_groups_are_compared_as_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    summary = Summary.of(rng.normal(size=(300, 3)), rng.uniform(3, 9, 300))
    every = starts._reach_beyond(summary)
    monkeypatch.setattr(starts, "_HEAVIEST", 250)
    some = starts._reach_beyond(summary)
    assert every.shape == some.shape
    monkeypatch.setattr(starts, "_HEAVIEST", 299)
    assert np.isclose(starts._reach_beyond(summary), every).mean() > 0.9
