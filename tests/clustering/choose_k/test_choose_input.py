"""Unusual tables, small clients and invalid ranges."""

import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from fedclust.algorithms import make
from fedclust.channels import LocalChannel
from fedclust.clustering.choose_k import choose
from fedclust.clustering.choose_k.sweep import count_queries
from fedclust.clustering.starts import limit_cost
from fedclust.core import ConfigError, Data, EmptyRound, Schema
from fedclust.privacy import MinSamples
from fedclust.results import to_json
from fedclust.typing import FloatArray

from .clients import blobs, choose_over, split_clients


def test_clients_too_small_to_split_have_no_stability() -> None:
    """Four rows give a blend of three, but their halves do not."""
    X = blobs(3, 60)
    channel = LocalChannel({f"c{i:02d}": Data.of(X[4 * i : 4 * i + 4]) for i in range(15)})
    choice = choose(make("llf-cm", 2), channel, Schema(2), range(2, 6))
    assert np.isnan(choice.scores[0].stability)
    assert choice.weak
    assert "Stability could not be measured" in choice.why
    assert "stability" not in choice.favourites
    assert choice.recommended == choice.favourites["simplified-silhouette"]


def test_clients_of_one_row_give_a_one_line_error() -> None:
    X = blobs(3, 30)
    channel = LocalChannel({f"c{i:02d}": Data.of(X[i : i + 1]) for i in range(30)})
    with pytest.raises(
        EmptyRound, match="k = 5, the largest of ks: .*; or use smaller ks"
    ) as caught:
        choose(make("llf-cm", 2), channel, Schema(2), range(2, 6))
    assert "\n" not in str(caught.value)
    choice = choose(make("llf-cm", 2), channel, Schema(2), range(2, 6), init=X[:5])
    assert choice.recommended == 3


def test_rules_of_the_papers_apply_and_may_exclude_all_clients() -> None:
    X = blobs(3, 240)
    assert choose_over(X, privacy="paper").recommended == 3
    # At 8 clusters LLF-FCM needs more than 12 records of a client, and twice that of its halves.
    small = LocalChannel({f"c{i:02d}": Data.of(X[15 * i : 15 * i + 15]) for i in range(16)})
    choice = choose(make("llf-fcm", 2), small, Schema(2), range(2, 9), privacy="paper")
    assert "Stability could not be measured" in choice.why
    with pytest.raises(EmptyRound, match="k = 12, the largest of ks"):
        choose(make("llf-fcm", 2), small, Schema(2), range(2, 13), privacy="paper")
    assert choose_over(X, privacy=(MinSamples(5),)).recommended == 3


@pytest.mark.parametrize(
    ("ks", "message"),
    [
        ([1, 2], "ks must be integers of at least 2, got 1"),
        ([2.5], "ks must be integers of at least 2, got 2.5"),
        ([True], "ks must be integers of at least 2, got True"),
        (["3"], "ks must be integers of at least 2, got '3'"),
        ([], "ks is empty"),
        (range(2, 600), "ks includes 599, but there are only 40 rows"),
        ([40], "ks includes 40, but there are only 40 rows; use smaller ks"),
    ],
)
def test_invalid_ks_are_refused(ks: Any, message: str) -> None:
    X = blobs(3, 40)
    with pytest.raises(ConfigError, match=message):
        choose(make("llf-cm", 2), split_clients(X), Schema(2, n_records=40), ks)


def test_more_clusters_than_rows_are_refused_once_rows_are_counted() -> None:
    X = blobs(3, 40)
    with pytest.raises(ConfigError, match="ks includes 40, but there are only 40 rows"):
        choose(make("llf-cm", 2), split_clients(X), Schema(2), [2, 40])


@pytest.mark.parametrize(
    ("tier", "reason"),
    [
        ("guarded", "trying 2 to 15 clusters can take 372 queries, but a data set answers 50"),
        ("secure", "trying 2 to 15 clusters can take 372 queries, but a data set answers 50"),
        ("dp", "takes at least 21 queries, each of which spends privacy budget"),
        ("secure+dp", "takes at least 21 queries, each of which spends privacy budget"),
    ],
)
def test_tiers_that_limit_queries_are_refused_with_numbers(tier: str, reason: str) -> None:
    channel = LocalChannel({"a": np.zeros((9, 2)), "b": np.ones((9, 2)), "c": np.ones((9, 2))})
    words = rf"privacy='{re.escape(tier)}' allows no sweep over k: .*{reason}; set the number of"
    with pytest.raises(ConfigError, match=words):
        choose(make("llf-cm", 2), channel, Schema(2), privacy=tier)


@pytest.mark.parametrize("key", ["llf-cm", "llf-fcm"])
@pytest.mark.parametrize(
    ("ks", "rounds"),
    [(range(2, 16), 1), (range(2, 16), 40), (range(2, 4), 12), (range(5, 9), 3), ([3], 40)],
)
def test_no_sweep_sends_more_queries_than_are_counted(
    key: str, ks: Sequence[int], rounds: int
) -> None:
    X = np.random.default_rng(rounds).normal(size=(400, 2))  # one cloud settles slowly
    choice = choose(make(key, 2, max_rounds=rounds), split_clients(X), Schema(2), ks)
    assert choice.rounds <= count_queries(ks, rounds, limit_cost(max(ks)))


def test_split_columns_are_refused() -> None:
    with pytest.raises(ConfigError, match="vertical-llf-cm: choosing k needs split rows"):
        choose(make("vertical-llf-cm", 2), split_clients(blobs(3)), Schema(2))


def test_a_start_must_have_as_many_centres_as_the_largest_k() -> None:
    with pytest.raises(ConfigError, match="init must be an array of 8 centres"):
        choose_over(blobs(3), init=np.zeros((3, 2)))


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
    ids=["all equal", "two values", "huge", "tiny", "integers"],
)
def test_unusual_tables_give_a_choice_and_plain_values(key: str, X: FloatArray) -> None:
    choice = choose_over(X, key, ks=range(2, 6))
    json.dumps(to_json(choice.summarize()), allow_nan=False)
    assert choice.recommended in range(2, 6)
    if len(np.unique(X)) == 1:
        assert choice.weak
