"""A start that is found in a summary: `init="summary"` for a given number of clusters."""

from typing import Any

import numpy as np
import pytest

from fedclust import FederatedKMeans, FederatedMixture, make
from fedclust.channels import LocalChannel
from fedclust.clustering.rows import cluster, run_seeding
from fedclust.clustering.summary import count_queries
from fedclust.core import ConfigError, Schema
from fedclust.tiers import Secure, tier_of
from fedclust.typing import FloatArray

from .cases import HIGH, LOW, blobs


def skewed(seed: int, n: int = 900) -> FloatArray:
    """Most rows are near zero, which equal cells do not tell apart."""
    rows = np.random.default_rng(seed).lognormal(0.0, 1.5, (n, 3))
    return np.minimum(rows, 200.0)


def deal(X: FloatArray, n_clients: int = 4) -> LocalChannel:
    return LocalChannel({f"c{i}": X[i::n_clients] for i in range(n_clients)})


def bounds(F: int, low: float, high: float) -> Schema:
    return Schema(F, low=np.full(F, low), high=np.full(F, high))


def test_on_skewed_rows_it_is_better_than_cells() -> None:
    pytest.importorskip("cryptography")
    schema, ratios = bounds(3, 0.0, 200.0), []
    for seed in range(4):
        X = skewed(seed)
        of_summary, of_cells = (
            cluster(make("llf-cm", 8), deal(X), schema, init=init, privacy="secure").inertia
            for init in ("summary", "cells")
        )
        ratios.append(of_summary / of_cells)
    assert max(ratios) <= 1.001
    assert np.mean(ratios) < 0.99


@pytest.mark.parametrize("key", ["llf-cm", "llf-fcm", "llf-mixture"])
def test_the_start_is_the_same_for_any_split_and_seed(key: str) -> None:
    pytest.importorskip("cryptography")
    X, schema = blobs(4), bounds(2, LOW, HIGH)
    found = [
        run_seeding(make(key, 4), deal(X, n), schema, init="summary", privacy="secure", seed=n)[
            0
        ].parameter("init")
        for n in (3, 7)
    ]
    assert np.array_equal(*found)
    nearest = np.abs(found[0][:, None] - [[12, 0], [0, 12], [-12, 0], [0, -12]]).sum(axis=2)
    assert sorted(nearest.argmin(axis=1).tolist()) == [0, 1, 2, 3]
    assert nearest.min(axis=1).max() < 1.0


def test_it_takes_rows_with_missing_cells() -> None:
    X = blobs(3, F=3)
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    X = X[~np.isnan(X).all(axis=1)]
    model = FederatedMixture(3, init="summary", missing="partial").fit(X)
    assert np.bincount(model.labels_).min() > 100


@pytest.mark.parametrize(("limit", "rounds"), [(26, 6), (None, 40)])
def test_the_clustering_takes_the_queries_that_are_left(limit: int | None, rounds: int) -> None:
    pytest.importorskip("cryptography")
    tier = Secure() if limit is None else Secure(max_queries=limit)
    left = 50 - count_queries() - 9 if limit is None else rounds
    ready, runs = run_seeding(
        make("llf-cm", 3), deal(skewed(0)), bounds(3, 0.0, 200.0), init="summary", privacy=tier
    )
    assert sum(run.n_rounds for run in runs) == count_queries()
    assert ready.parameter("max_rounds") == left


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"privacy": "dp", "bounds": (LOW, HIGH)}, "takes exact sums"),
        ({"n_clusters": 99}, "too few for n_clusters=99; use fewer clusters, or init='auto'"),
    ],
)
def test_where_it_cannot_be_used_a_sentence_says_what_can(
    settings: dict[str, Any], words: str
) -> None:
    X = blobs(3)
    if "n_clusters" in settings:
        X = X[:300]
    model = FederatedKMeans(**{"n_clusters": 3, "init": "summary", **settings})
    with pytest.raises(ConfigError, match=words):
        model.fit(X)


def test_a_noisy_tier_refuses_it_by_name() -> None:
    with pytest.raises(ConfigError, match="pays for one noisy summary"):
        run_seeding(
            make("llf-cm", 3),
            deal(blobs(3)),
            bounds(2, LOW, HIGH),
            init="summary",
            privacy=tier_of("dp"),
        )
