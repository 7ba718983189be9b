"""The choice of k: its recommendation, its warnings about weak evidence, and its costs."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedclust.algorithms import make
from fedclust.channels import LocalChannel
from fedclust.clustering.choose_k import choose
from fedclust.clustering.choose_k.sweep import compared_centers
from fedclust.clustering.rows import run_seeding
from fedclust.core import ClientSampling, Data, Plan, Schema, derive_seed, run
from fedclust.results import to_json
from fedclust.typing import FloatArray

from .clients import blobs, choose_over, split_clients


@pytest.mark.parametrize("k", [2, 3, 5, 6])
@pytest.mark.parametrize("key", ["llf-cm", "llf-fcm"])
def test_clear_clusters_are_counted(key: str, k: int) -> None:
    choice = choose_over(blobs(k), key)
    assert choice.recommended == k
    assert not choice.weak
    assert choice.why.startswith(f"Chose k = {k}. It is the largest k whose clusters reappear")
    assert choice.favourites["simplified-silhouette"] == k
    assert choice.favourites["stability"] >= k


@pytest.mark.parametrize("key", ["dwf", "ffcm-avg1", "fkm", "gdf-fcm"])
def test_any_algorithm_with_initial_centres_can_be_used(key: str) -> None:
    choice = choose_over(blobs(4), key)
    assert choice.recommended == 4
    assert "takes no initial centres" not in choice.why


@pytest.mark.parametrize(("key", "instead"), [("k-fed", "llf-cm"), ("ffcf", "llf-fcm")])
def test_an_algorithm_without_initial_centres_is_replaced_by_the_lossless_one(
    key: str, instead: str
) -> None:
    choice = choose_over(blobs(4), key)
    assert choice.recommended == 4
    assert choice.why.endswith(f" Tried with {instead}, because {key} takes no initial centres.")


def test_the_fuzzifier_is_kept() -> None:
    channel, schema = split_clients(blobs(4)), Schema(2)
    low, high = (
        choose(make("ffcf", 2, fuzzifier=m), channel, schema, range(2, 6)) for m in (1.5, 2.0)
    )
    assert low.scores[0].indices["xie-beni"] != high.scores[0].indices["xie-beni"]


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 4))]
)
@pytest.mark.parametrize("F", [1, 2, 6])
def test_one_cloud_is_weak_evidence(F: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for X in (rng.normal(size=(500, F)), rng.normal(size=(500, F)) * ([5.0] + [1.0] * (F - 1))):
        choice = choose_over(X)
        assert choice.weak
        assert "the evidence is weak" in choice.why
        assert "so there may be no clusters" in choice.why


def test_a_choice_at_an_end_of_the_range_is_noted() -> None:
    X = blobs(6)
    assert choose_over(X, ks=range(2, 7)).why.endswith("largest k tried; try larger ones.")
    assert choose_over(X, ks=range(6, 9)).why.endswith("smallest k tried; try smaller ones.")
    assert choose_over(X, ks=[6]).why.endswith("No other k was tried.")
    assert "tried" not in choose_over(X).why


def test_ks_may_be_in_any_order_and_not_consecutive() -> None:
    choice = choose_over(blobs(5), ks=[8, 3, 5, 5])
    assert [score.n_clusters for score in choice.scores] == [3, 5, 8]
    assert choice.recommended == 5


def test_scores_are_those_of_the_centres_beside_them() -> None:
    from fedclust import metrics

    X = blobs(4)
    for score in choose_over(X).scores:
        assert score.centers.shape == (score.n_clusters, 2)
        assert list(score.indices) == [
            "inertia",
            "simplified-silhouette",
            "soft-davies-bouldin",
            "xie-beni",
        ]
        for name, value in score.indices.items():
            assert value == pytest.approx(metrics.evaluate(name, X, score.centers)), name


@pytest.mark.parametrize("key", ["llf-cm", "llf-fcm"])
@given(seed=st.integers(0, 10_000), n_clients=st.integers(1, 12))
@settings(max_examples=10)
def test_any_split_gives_the_scores_of_the_pooled_rows(key: str, seed: int, n_clients: int) -> None:
    """From the same start; except stability, because each client draws its halves."""
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
        assert dict(b.indices) == pytest.approx(dict(a.indices), rel=1e-9)
        assert b.elbow == pytest.approx(a.elbow, abs=1e-9)


def test_the_same_seed_gives_the_same_choice_and_another_one_other_halves() -> None:
    X = np.random.default_rng(0).normal(size=(400, 2))
    first, again, other = choose_over(X, seed=3), choose_over(X, seed=3), choose_over(X, seed=4)
    assert first.summarize() == again.summarize()
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
    """Work is the number of centres that a row is compared with, over all rounds."""
    X = structures()[name]
    channel, schema = split_clients(X), Schema(X.shape[1])
    ready, start = run_seeding(make(key, 15), channel, schema, seed=derive_seed(0, "seeding", 0))
    started = sum(compared_centers(part.algorithm) * part.n_rounds for part in start)
    one_work = started + 15 * (run(Plan(ready), channel, schema).n_rounds + 1)  # and a score
    assert choose(make(key, 2), channel, schema).work < 6 * one_work


def test_costs_are_counted() -> None:
    X = blobs(3)
    channel = split_clients(X)
    keys: list[str] = []
    original = channel.ask

    def ask(plan: Any, request: Any) -> Any:
        keys.append(plan.algorithm.key)
        return original(plan, request)

    channel.ask = ask  # type: ignore[method-assign]
    steps: list[tuple[int, int, int]] = []
    choice = choose(
        make("llf-cm", 2), channel, Schema(2), [2, 3, 4], on_step=lambda *s: steps.append(s)
    )
    assert steps == [(4, 1, 3), (3, 2, 3), (2, 3, 3)]
    assert choice.rounds == len(keys)
    assert keys.count("evaluation") == 4  # one for each k, and one for a single cluster
    assert set(choice.sent) == {"c00", "c01", "c02", "c03"}
    assert all(size > 0 for size in choice.sent.values())
    assert set(keys) == {
        "micro-clusters",
        "micro-c-means",
        "rival-steps",
        "llf-cm",
        "evaluation",
        "half-micro-clusters",
        "halves-llf-cm",
        "contingency",
    }


def test_a_choice_is_plain_values_for_a_file() -> None:
    choice = choose_over(blobs(3), ks=[2, 3, 4])
    plain = json.loads(json.dumps(to_json(choice.summarize()), allow_nan=False))
    assert plain["recommended"] == 3
    assert plain["why"] == choice.why
    assert plain["weak"] is False
    assert set(plain["favourites"]) == set(choice.favourites)
    assert plain["scores"][0]["n_clusters"] == 2
    assert set(plain["scores"][0]["indices"]) == {
        "inertia",
        "simplified-silhouette",
        "soft-davies-bouldin",
        "xie-beni",
        "elbow",
        "stability",
        "weakest-cluster",
    }
    first = choice.scores[0]
    unknown = replace(first, indices={**first.indices, "xie-beni": np.inf}, stability=np.nan)
    assert unknown.summarize().indices["xie-beni"] is None
    assert unknown.summarize().indices["stability"] is None


def test_scores_use_all_clients_and_rounds_a_sample() -> None:
    choice = choose_over(blobs(3), sampling=ClientSampling(fraction=0.5), ks=[2, 3, 4])
    assert choice.recommended == 3
    unsampled = choose_over(blobs(3), ks=[2, 3, 4])
    assert sum(choice.sent.values()) != sum(unsampled.sent.values())
