"""The choice of k: what it recommends, that it says so when it does not know, and its cost."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedclust.algorithms import make
from fedclust.chain import cluster
from fedclust.channels import LocalChannel
from fedclust.choice import Choice, choose
from fedclust.core import ConfigError, Data, NothingToSay, Participation, Schema
from fedclust.privacy import MinSamples
from fedclust.typing import FloatArray


def blobs(k: int, n: int = 600, wide: float = 12.0, seed: int = 0, F: int = 2) -> FloatArray:
    """k round clusters on a circle, far apart."""
    rng = np.random.default_rng(seed)
    angle = 2 * np.pi * np.arange(k) / k
    centers = np.zeros((k, F))
    centers[:, 0], centers[:, 1] = wide * np.cos(angle), wide * np.sin(angle)
    return rng.normal(centers[np.arange(n) % k], 1.0)


def clients(X: FloatArray, n: int = 4) -> LocalChannel:
    return LocalChannel({f"c{i:02d}": Data.of(X[i::n]) for i in range(n)}, strict=True)


def chosen(X: FloatArray, key: str = "llf-cm", **settings: Any) -> Choice:
    return choose(make(key, 2), clients(X), Schema(X.shape[1]), **{"ks": range(2, 9), **settings})


@pytest.mark.parametrize("k", [2, 3, 5, 6])
@pytest.mark.parametrize("key", ["llf-cm", "llf-fcm"])
def test_clear_clusters_are_counted(key: str, k: int) -> None:
    found = chosen(blobs(k), key)
    assert found.recommended == k
    assert not found.weak
    assert found.why.startswith(f"{k} clusters: the largest number whose clusters two halves")
    assert found.favourites["simplified-silhouette"] == k
    assert found.favourites["stability"] >= k


@pytest.mark.parametrize("key", ["dwf", "ffcm-avg1", "fkm", "gdf-fcm"])
def test_any_algorithm_with_a_start_can_be_asked(key: str) -> None:
    found = chosen(blobs(4), key)
    assert found.recommended == 4
    assert "takes no start" not in found.why


@pytest.mark.parametrize(("key", "instead"), [("k-fed", "llf-cm"), ("ffcf", "llf-fcm")])
def test_what_takes_no_start_is_tried_with_the_lossless_of_its_kind(key: str, instead: str) -> None:
    found = chosen(blobs(4), key)
    assert found.recommended == 4
    assert found.why.endswith(f"; tried with {instead}, since {key} takes no start")


def test_the_fuzzifier_is_kept() -> None:
    channel, schema = clients(blobs(4)), Schema(2)
    low, high = (
        choose(make("ffcf", 2, fuzzifier=m), channel, schema, range(2, 6)) for m in (1.5, 2.0)
    )
    assert low.scores[0].xie_beni != high.scores[0].xie_beni


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("F", [1, 2, 6])
def test_one_cloud_is_called_weak_evidence(F: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for X in (rng.normal(size=(500, F)), rng.normal(size=(500, F)) * ([5.0] + [1.0] * (F - 1))):
        found = chosen(X)
        assert found.weak
        assert "on weak evidence" in found.why
        assert "there may be no clusters at all" in found.why


def test_an_end_of_the_range_is_said() -> None:
    X = blobs(6)
    assert chosen(X, ks=range(2, 7)).why.endswith("largest number tried, so try larger ones")
    assert chosen(X, ks=range(6, 9)).why.endswith("smallest number tried, so try smaller ones")
    assert chosen(X, ks=[6]).why.endswith("no other number was tried")
    assert "tried" not in chosen(X).why


def test_ks_may_have_gaps_and_come_in_any_order() -> None:
    found = chosen(blobs(5), ks=[8, 3, 5, 5])
    assert [score.n_clusters for score in found.scores] == [3, 5, 8]
    assert found.recommended == 5


def test_scores_are_those_of_the_centres_beside_them() -> None:
    from fedclust import metrics

    X = blobs(4)
    for score in chosen(X).scores:
        assert score.centers.shape == (score.n_clusters, 2)
        assert score.inertia == pytest.approx(metrics.inertia(X, score.centers))
        silhouette = metrics.simplified_silhouette(X, score.centers)
        assert score.simplified_silhouette == pytest.approx(silhouette)
        soft = metrics.soft_davies_bouldin(X, score.centers)
        assert score.soft_davies_bouldin == pytest.approx(soft)
        assert score.xie_beni == pytest.approx(metrics.xie_beni(X, score.centers))


@pytest.mark.parametrize("key", ["llf-cm", "llf-fcm"])
@given(seed=st.integers(0, 10_000), n_clients=st.integers(1, 12))
@settings(max_examples=10)
def test_any_split_gives_the_scores_of_the_pooled_rows(key: str, seed: int, n_clients: int) -> None:
    """From the same start; but for stability, whose halves are dealt at each client."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 3)) + 4 * rng.integers(0, 3, (150, 1))
    owner, start = rng.integers(0, n_clients, 150), X[:6] + 0.01
    parts = {f"c{i}": Data.of(X[owner == i]) for i in range(n_clients)}
    one, many = (
        choose(make(key, 2), LocalChannel(data), Schema(3), range(2, 7), init=start)
        for data in ({"all": Data.of(X)}, parts)
    )
    for a, b in zip(one.scores, many.scores, strict=True):
        np.testing.assert_allclose(b.centers, a.centers, rtol=1e-9, atol=1e-9)
        for name in ("inertia", "simplified_silhouette", "soft_davies_bouldin", "xie_beni"):
            assert getattr(b, name) == pytest.approx(getattr(a, name), rel=1e-9), name
        assert b.elbow == pytest.approx(a.elbow, abs=1e-9)


def test_the_same_seed_gives_the_same_choice_and_another_one_other_halves() -> None:
    X = np.random.default_rng(0).normal(size=(400, 2))
    first, again, other = chosen(X, seed=3), chosen(X, seed=3), chosen(X, seed=4)
    assert json.dumps(first.as_config()) == json.dumps(again.as_config())
    assert (first.rounds, first.work, first.sent) == (again.rounds, again.work, again.sent)
    assert [s.stability for s in first.scores] != [s.stability for s in other.scores]


def structures() -> dict[str, FloatArray]:
    rng = np.random.default_rng(1)
    return {
        "three clusters": blobs(3),
        "as many as the largest k, very far apart": blobs(15, 900, wide=1000.0),
        "as many as the largest k": blobs(15, 900, wide=20.0),
        "one cloud": rng.normal(size=(500, 2)),
        "many features": rng.normal(size=(300, 20)) + 6 * rng.integers(0, 4, (300, 1)),
        "few rows": rng.normal(size=(60, 3)),
    }


@pytest.mark.parametrize("name", list(structures()))
@pytest.mark.parametrize("key", ["llf-cm", "llf-fcm", "dwf"])
def test_a_sweep_to_fifteen_is_less_than_six_clusterings_with_fifteen(key: str, name: str) -> None:
    """Work: centres that a row is compared with, over all exchanges. A count, not a clock."""
    X = structures()[name]
    channel, schema = clients(X), Schema(X.shape[1])
    one = cluster(make(key, 15), channel, schema)
    one_work = 15 * (1 + one.run.n_rounds + 1)  # seeding, rounds, score
    assert choose(make(key, 2), channel, schema).work < 6 * one_work


def test_costs_are_counted() -> None:
    X = blobs(3)
    channel = clients(X)
    asked: list[str] = []
    original = channel.ask

    def ask(plan: Any, request: Any) -> Any:
        asked.append(plan.algorithm.key)
        return original(plan, request)

    channel.ask = ask  # type: ignore[method-assign]
    steps: list[tuple[int, int, int]] = []
    found = choose(
        make("llf-cm", 2), channel, Schema(2), [2, 3, 4], on_step=lambda *s: steps.append(s)
    )
    assert steps == [(4, 1, 3), (3, 2, 3), (2, 3, 3)]
    assert found.rounds == len(asked)
    assert asked.count("evaluation") == 4  # one for each k, and one for a single cluster
    assert set(found.sent) == {"c00", "c01", "c02", "c03"}
    assert all(size > 0 for size in found.sent.values())
    assert set(asked) == {
        "careful",
        "llf-cm",
        "evaluation",
        "half-careful",
        "halves-llf-cm",
        "contingency",
    }


def test_a_choice_is_plain_values_for_a_file() -> None:
    found = chosen(blobs(3), ks=[2, 3, 4])
    plain = json.loads(json.dumps(found.as_config(), allow_nan=False))
    assert plain["recommended"] == 3
    assert plain["why"] == found.why
    assert plain["weak"] is False
    assert set(plain["favourites"]) == set(found.favourites)
    assert set(plain["scores"][0]) == {
        "n_clusters",
        "inertia",
        "simplified-silhouette",
        "soft-davies-bouldin",
        "xie-beni",
        "elbow",
        "stability",
        "weakest-cluster",
    }
    lost = replace(found.scores[0], xie_beni=np.inf, stability=np.nan)
    assert lost.as_config()["xie-beni"] is None
    assert lost.as_config()["stability"] is None


def test_clients_too_small_to_halve_leave_stability_out_and_it_is_said() -> None:
    """Four rows give a blend of three, but their halves do not."""
    X = blobs(3, 60)
    channel = LocalChannel({f"c{i:02d}": Data.of(X[4 * i : 4 * i + 4]) for i in range(15)})
    found = choose(make("llf-cm", 2), channel, Schema(2), range(2, 6))
    assert np.isnan(found.scores[0].stability)
    assert found.weak
    assert "stability could not be measured" in found.why
    assert "stability" not in found.favourites
    assert found.recommended == found.favourites["simplified-silhouette"]


def test_clients_of_one_row_are_told_in_one_sentence() -> None:
    X = blobs(3, 30)
    channel = LocalChannel({f"c{i:02d}": Data.of(X[i : i + 1]) for i in range(30)})
    with pytest.raises(NothingToSay, match="5 clusters, the largest of ks: .*; try fewer") as told:
        choose(make("llf-cm", 2), channel, Schema(2), range(2, 6))
    assert "\n" not in str(told.value)
    found = choose(make("llf-cm", 2), channel, Schema(2), range(2, 6), init=X[:5])
    assert found.recommended == 3


def test_rules_of_the_papers_are_kept_and_may_leave_nobody() -> None:
    X = blobs(3, 240)
    assert chosen(X, privacy="paper").recommended == 3
    # At 8 clusters LLF-FCM wants more than 12 records of a client, and of its halves twice that.
    small = LocalChannel({f"c{i:02d}": Data.of(X[15 * i : 15 * i + 15]) for i in range(16)})
    found = choose(make("llf-fcm", 2), small, Schema(2), range(2, 9), privacy="paper")
    assert "stability could not be measured" in found.why
    with pytest.raises(NothingToSay, match="12 clusters, the largest of ks"):
        choose(make("llf-fcm", 2), small, Schema(2), range(2, 13), privacy="paper")
    assert chosen(X, privacy=(MinSamples(5),)).recommended == 3


def test_scores_ask_everybody_and_rounds_their_share() -> None:
    found = chosen(blobs(3), participation=Participation(fraction=0.5), ks=[2, 3, 4])
    assert found.recommended == 3
    everybody = chosen(blobs(3), ks=[2, 3, 4])
    assert sum(found.sent.values()) != sum(everybody.sent.values())


@pytest.mark.parametrize(
    ("ks", "message"),
    [
        ([1, 2], "ks must be whole numbers of at least 2, got 1"),
        ([2.5], "ks must be whole numbers of at least 2, got 2.5"),
        ([True], "ks must be whole numbers of at least 2, got True"),
        (["3"], "ks must be whole numbers of at least 2, got '3'"),
        ([], "ks is empty"),
        (range(2, 600), "ks goes up to 599, but there are 40 rows in all"),
        ([40], "ks goes up to 40, but there are 40 rows in all; try fewer"),
    ],
)
def test_ks_that_cannot_be_are_refused(ks: Any, message: str) -> None:
    X = blobs(3, 40)
    with pytest.raises(ConfigError, match=message):
        choose(make("llf-cm", 2), clients(X), Schema(2, n_records=40), ks)


def test_more_clusters_than_rows_are_refused_once_rows_are_counted() -> None:
    X = blobs(3, 40)
    with pytest.raises(ConfigError, match="ks goes up to 40, but there are 40 rows in all"):
        choose(make("llf-cm", 2), clients(X), Schema(2), [2, 40])


def test_split_columns_are_refused() -> None:
    with pytest.raises(ConfigError, match="vertical-llf-cm: k is chosen over split rows only"):
        choose(make("vertical-llf-cm", 2), clients(blobs(3)), Schema(2))


def test_a_start_must_have_as_many_centres_as_the_largest_k() -> None:
    with pytest.raises(ConfigError, match="init must be an array of 8 centres"):
        chosen(blobs(3), init=np.zeros((3, 2)))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("key", ["llf-cm", "llf-fcm"])
@pytest.mark.parametrize(
    "X",
    [
        np.full((60, 2), 3.0),
        np.tile([[0.0, 0.0], [1.0, 1.0]], (30, 1)),
        blobs(3, 60) * 1e120,
        blobs(3, 60) * 1e-120,
        np.round(blobs(3, 60)),
    ],
    ids=["all equal", "two values", "huge", "tiny", "whole numbers"],
)
def test_odd_tables_give_a_choice_and_plain_values(key: str, X: FloatArray) -> None:
    found = chosen(X, key, ks=range(2, 6))
    json.dumps(found.as_config(), allow_nan=False)
    assert found.recommended in range(2, 6)
    if len(np.unique(X)) == 1:
        assert found.weak
