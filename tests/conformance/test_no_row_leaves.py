"""No message holds a client's row: not as it is, not as the ratio of what it holds."""

from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedclust.algorithms import ALGORITHMS, SEEDINGS, make, make_seeding
from fedclust.algorithms.centers import Candidates
from fedclust.clustering.rows import cluster
from fedclust.core import (
    AnyAlgorithm,
    ConfigError,
    Data,
    Empty,
    Message,
    Plan,
    Request,
    Role,
    Schema,
    TooFewClients,
    run,
)
from fedclust.core.traits import limited_parameters
from fedclust.tiers import tier_of, transforms_for
from fedclust.typing import FloatArray

from .cases import SCHEMA, Recorder, split


def rows_shown(message: Message, request: Request) -> FloatArray:
    """Every vector over the features that a message holds, or gives by a step of arithmetic.

    Arrays as they are, divided by the numbers beside them, taken from the centres that were
    broadcast; and twice one such vector minus another, which undoes a mean of two.
    """
    arrays = message.arrays()
    wide = [a for a in arrays.values() if a.ndim == 2]
    narrow = [a for a in arrays.values() if a.ndim == 1]
    shown = list(wide)
    with np.errstate(divide="ignore", invalid="ignore"):
        shown += [a / b[:, None] for a in wide for b in narrow if len(b) in (1, len(a))]
        for center in request.down.arrays().values():
            shown += [center - a for a in shown if a.shape == center.shape]
        for a in list(shown):
            shown.append((2 * a[:, None] - a[None]).reshape(-1, a.shape[1]))
    return np.vstack(shown) if shown else np.empty((0, 2))


def leaked(channel: Recorder, data: dict[str, Data], shared: int = 2) -> int:
    """How many of the vectors sent are one of their sender's rows.

    What `shared` records have in common is nobody's own: rules count records, not values.
    """
    count = 0
    for request, client, message in channel.up:
        places, copies = np.unique(data[client].X, axis=0, return_counts=True)
        X, shown = places[copies < shared], rows_shown(message, request)
        shown = shown[np.isfinite(shown).all(axis=1)]
        close = np.abs(shown[:, None] - X).max(axis=2) <= 1e-9 * (1 + np.abs(X).max(axis=1))
        count += int(close.any(axis=1).sum())
    return count


def small_clients(seed: int, F: int = 2) -> dict[str, Data]:
    """Uneven clients, some with one or two rows, rows far apart: every chance of a singleton.

    A third of the federations have heavy rows, a third have rows with copies.
    """
    rng = np.random.default_rng(seed)
    X, owner = rng.uniform(-8, 8, size=(60, F)), np.minimum(rng.geometric(0.25, 60) - 1, 9)
    if seed % 3 == 1:
        return split(X, owner, 10.0 ** rng.integers(0, 6, 60))
    copies = rng.integers(1, 3, 60) if seed % 3 == 2 else np.ones(60, dtype=int)
    return split(np.repeat(X, copies, axis=0), np.repeat(owner, copies))


# No rule about counts hides the rows of their sums.
REFUSED = [key for key, kind in ALGORITHMS.items() if kind.traits.needs_masks]


@pytest.mark.parametrize("key", REFUSED)
@pytest.mark.parametrize("privacy", ["paper", "guarded"])
def test_what_no_rule_hides_is_refused(key: str, privacy: str) -> None:
    with pytest.raises(ConfigError, match="use privacy 'secure', or 'none'"):
        runs(make(key, 3), small_clients(1), privacy, 0)


def runs(chosen: AnyAlgorithm, data: dict[str, Data], privacy: str, seed: int) -> Recorder:
    channel = Recorder(data)
    F = next(iter(data.values())).X.shape[1]
    tier_of(privacy).check(chosen)
    plan = Plan(chosen, transforms_for(chosen, F, privacy), seed)
    with suppress(TooFewClients):  # nobody had anything that could be sent
        run(plan, channel, Schema(F, low=np.full(F, -8.0), high=np.full(F, 8.0)))
    return channel


@pytest.mark.parametrize("key", [key for key in ALGORITHMS if key not in REFUSED])
@given(seed=st.integers(0, 100_000), k=st.integers(1, 6), F=st.integers(1, 3))
@settings(max_examples=15)
def test_no_algorithm_sends_a_row_under_its_rule(key: str, seed: int, k: int, F: int) -> None:
    data = small_clients(seed, F)
    extra: dict[str, Any] = {"max_rounds": 8} if hasattr(make(key, k), "max_rounds") else {}
    channel = runs(make(key, k, **extra), data, "paper", seed)
    assert leaked(channel, data) == 0


@pytest.mark.parametrize("key", [k for k in ALGORITHMS if not make(k, 3).lossless])
@given(seed=st.integers(0, 100_000), F=st.integers(1, 3))
@settings(max_examples=10)
def test_what_is_not_lossless_sends_no_row_by_default(key: str, seed: int, F: int) -> None:
    data = small_clients(seed, F)
    extra: dict[str, Any] = {"max_rounds": 8} if hasattr(make(key, 4), "max_rounds") else {}
    assert leaked(runs(make(key, 4, **extra), data, "none", seed), data) == 0


def records_behind(chosen: AnyAlgorithm) -> int:
    """How many records stand behind a number, by the algorithm's own parameters."""
    parameters = limited_parameters(type(chosen))
    counts = [chosen.parameter(p.name) for p in parameters if p.role is Role.RECORDS]
    return min(counts, default=1)


@pytest.mark.parametrize("key", list(SEEDINGS))
@given(seed=st.integers(0, 100_000), k=st.integers(1, 9), F=st.integers(1, 3))
@settings(max_examples=25)
def test_no_seeding_sends_a_row(key: str, seed: int, k: int, F: int) -> None:
    data = small_clients(seed, F)
    chosen = make_seeding(key, k)
    assert leaked(runs(chosen, data, "none", seed), data, records_behind(chosen)) == 0


@pytest.mark.parametrize("key", [key for key in ALGORITHMS if key not in REFUSED])
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


def test_the_search_sees_through_a_gradient_and_through_blends_of_two() -> None:
    lone = {"a": Data.of(np.array([[1.0, 2.0]])), "b": Data.of(np.array([[5.0, 7.0]]))}
    gradients = make("gdf-fcm", 2, init=np.array([[0.0, 0.0], [9.0, 9.0]]), min_count=1)
    assert leaked(runs(gradients, lone, "none", 0), lone) > 0
    rows = np.array([[0.0, 0.0], [1.0, 3.0]])
    seeds = Candidates(np.array([rows.mean(axis=0), rows[0] + [0.0, 0.0]]) + 0.0, np.ones(2))
    shown = rows_shown(seeds, Request(0, ("a",), Empty()))
    assert (np.abs(shown - rows[1]).max(axis=1) < 1e-12).any()
