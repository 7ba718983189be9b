"""No message holds a client's row: not as it is, not as the ratio of what it holds."""

from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedclust.algorithms import ALGORITHMS, SEEDINGS, make, make_seeding
from fedclust.chain import cluster
from fedclust.core import AnyAlgorithm, Data, Message, Plan, TooFewClients, run
from fedclust.privacy import transforms_for
from fedclust.typing import FloatArray

from .cases import SCHEMA, Recorder, split


def rows_shown(message: Message) -> FloatArray:
    """Every vector over the features that a message holds, or gives by dividing its arrays."""
    arrays = message.arrays()
    wide = [a for a in arrays.values() if a.ndim == 2]
    narrow = [a for a in arrays.values() if a.ndim == 1]
    shown = list(wide)
    with np.errstate(divide="ignore", invalid="ignore"):
        shown += [a / b[:, None] for a in wide for b in narrow if len(b) in (1, len(a))]
    return np.vstack(shown) if shown else np.empty((0, 2))


def leaked(channel: Recorder, data: dict[str, Data]) -> int:
    """How many of the vectors sent are one of their sender's rows."""
    count = 0
    for client, message in channel.up:
        X, shown = data[client].X, rows_shown(message)
        shown = shown[np.isfinite(shown).all(axis=1)]
        close = np.abs(shown[:, None] - X).max(axis=2) <= 1e-9 * (1 + np.abs(X).max(axis=1))
        count += int(close.any(axis=1).sum())
    return count


def small_clients(seed: int) -> dict[str, Data]:
    """Uneven clients, some with one or two rows, rows far apart: every chance of a singleton."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-8, 8, size=(60, 2))
    return split(X, np.minimum(rng.geometric(0.25, 60) - 1, 9))


def runs(chosen: AnyAlgorithm, data: dict[str, Data], privacy: str, seed: int) -> Recorder:
    channel = Recorder(data)
    plan = Plan(chosen, transforms_for(chosen, 2, privacy), seed)
    with suppress(TooFewClients):  # nobody had anything that could be sent
        run(plan, channel, SCHEMA)
    return channel


@pytest.mark.parametrize("key", list(ALGORITHMS))
@given(seed=st.integers(0, 100_000), k=st.integers(1, 6))
@settings(max_examples=15)
def test_no_algorithm_sends_a_row_under_its_rule(key: str, seed: int, k: int) -> None:
    data = small_clients(seed)
    extra: dict[str, Any] = {"max_rounds": 8} if hasattr(make(key, k), "max_rounds") else {}
    channel = runs(make(key, k, **extra), data, "paper", seed)
    assert leaked(channel, data) == 0


@pytest.mark.parametrize("key", [k for k in ALGORITHMS if not make(k, 3).lossless])
@given(seed=st.integers(0, 100_000))
@settings(max_examples=10)
def test_what_is_not_lossless_sends_no_row_by_default(key: str, seed: int) -> None:
    data = small_clients(seed)
    extra: dict[str, Any] = {"max_rounds": 8} if hasattr(make(key, 4), "max_rounds") else {}
    assert leaked(runs(make(key, 4, **extra), data, "none", seed), data) == 0


@pytest.mark.parametrize("key", list(SEEDINGS))
@given(seed=st.integers(0, 100_000), k=st.integers(1, 9))
@settings(max_examples=25)
def test_no_seeding_sends_a_row(key: str, seed: int, k: int) -> None:
    data = small_clients(seed)
    assert leaked(runs(make_seeding(key, k), data, "none", seed), data) == 0


@pytest.mark.parametrize("key", list(ALGORITHMS))
def test_a_whole_clustering_sends_no_row(key: str) -> None:
    """Seeding, rounds and scores together, on clients large enough to be heard."""
    rng = np.random.default_rng(0)
    data = split(rng.normal(size=(200, 2)) + 5 * rng.integers(0, 3, (200, 1)), np.arange(200) % 4)
    channel = Recorder(data)
    cluster(make(key, 3), channel, SCHEMA, privacy="paper", n_init=2)
    assert channel.up
    assert leaked(channel, data) == 0


def test_the_search_would_find_a_row() -> None:
    """The authors' FKM seeding sends raw rows: the test above is able to fail."""
    data = small_clients(1)
    assert leaked(runs(make_seeding("fkm", 4, preset="reference"), data, "none", 0), data) > 0
    assert leaked(runs(make("llf-cm", 6, max_rounds=8), data, "none", 0), data) > 0
