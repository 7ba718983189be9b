"""What every algorithm promises; a new one gets all of this for its registry line."""

import inspect
import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedclust.algorithms import ALGORITHMS, SEEDINGS, from_config, make
from fedclust.channels import LocalChannel
from fedclust.core import (
    ClientSampling,
    Data,
    Plan,
    Record,
    Request,
    Role,
    config,
    load_round,
    respond,
    rounds,
    run,
    save_round,
)
from fedclust.core.traits import limited_parameters
from fedclust.tiers import transforms_for

from .cases import (
    ALL_KEYS,
    KEYS,
    MANY_ROUNDS,
    SCHEMA,
    K,
    Recorder,
    algorithm,
    federation,
    fit,
    split,
    table,
)


def snapshot(record: Record) -> list[bytes]:
    return [a.tobytes() for a in record.arrays().values()]


@pytest.mark.parametrize("key", ALL_KEYS)
def test_finds_finite_centres(key: str) -> None:
    centers = fit(key, federation()).model
    assert centers.shape == (K, 2)
    assert np.isfinite(centers).all()


@pytest.mark.parametrize("key", ALL_KEYS)
def test_same_seed_same_bits_and_the_wire_changes_nothing(key: str) -> None:
    plan = Plan(algorithm(key), seed=3)
    runs = [
        run(plan, LocalChannel(federation(), strict=strict), SCHEMA)
        for strict in (False, False, True)
    ]
    assert len({done.model.tobytes() for done in runs}) == 1
    assert len({str(done.history) for done in runs}) == 1


@pytest.mark.parametrize("key", ALL_KEYS)
def test_messages_merge_as_a_monoid(key: str) -> None:
    channel = Recorder(federation())
    run(Plan(algorithm(key)), channel, SCHEMA)
    if not channel.up:
        pytest.skip("asks no client")
    kind = algorithm(key).up
    a, b, c = (message for *_, message in (channel.up * 3)[:3])
    left = kind.merge([kind.merge([a, b]), c]).arrays()
    right = kind.merge([a, kind.merge([b, c])]).arrays()
    for name in left:
        np.testing.assert_allclose(left[name], right[name], rtol=1e-12, atol=1e-12)
        neutral = kind.merge([a, a.identity()]).arrays()[name]
        np.testing.assert_array_equal(neutral, a.arrays()[name])
    swapped, straight = kind.merge([b, a]).arrays(), kind.merge([a, b]).arrays()
    for name in left:  # stacks keep their rows, in another order
        np.testing.assert_allclose(np.sort(swapped[name], 0), np.sort(straight[name], 0))


@pytest.mark.parametrize("key", ALL_KEYS)
def test_messages_have_the_announced_shapes(key: str) -> None:
    channel = Recorder(federation())
    chosen = algorithm(key)
    for done in rounds(Plan(chosen), channel, SCHEMA):
        done.state.check(chosen.sizes(SCHEMA))
    for request in channel.down:
        request.down.check(chosen.sizes(SCHEMA))
    for *_, message in channel.up:
        message.check(chosen.sizes(SCHEMA))
        assert message.is_finite()


@pytest.mark.parametrize("key", ALL_KEYS)
def test_configuration_survives_a_file(key: str) -> None:
    chosen = algorithm(key)
    back = from_config(json.loads(json.dumps(config(chosen))))
    assert type(back) is type(chosen)
    assert config(back) == config(chosen)


@pytest.mark.parametrize("key", [key for key in KEYS if ALGORITHMS[key].has_reference()])
def test_the_reference_preset_differs_from_the_default_and_runs(key: str) -> None:
    reference = make(key, K, preset="reference")
    assert config(reference) != config(make(key, K))
    short = {"max_rounds": 3} if key in MANY_ROUNDS else {}
    centers = fit(key, federation(), preset="reference", **short).model
    assert np.isfinite(centers).all()


@pytest.mark.parametrize("key", MANY_ROUNDS)
def test_a_saved_round_continues_bit_for_bit(key: str, tmp_path: Path) -> None:
    plan = Plan(algorithm(key, max_rounds=5, tol=0.0), seed=2)
    part = ClientSampling(fraction=0.67)
    data = federation(n_clients=4)
    whole = list(rounds(plan, LocalChannel(data), SCHEMA, sampling=part))
    for done in whole[:-1]:
        save_round(tmp_path / "round", plan, done)
        saved = load_round(tmp_path / "round", plan)
        *_, last = rounds(plan, LocalChannel(data), SCHEMA, sampling=part, resume=saved)
        assert snapshot(last.state) == snapshot(whole[-1].state)


@pytest.mark.parametrize("key", ALL_KEYS)
def test_nothing_that_is_passed_in_is_changed(key: str) -> None:
    chosen = algorithm(key)
    plan = Plan(chosen, seed=1)
    weight = np.random.default_rng(0).random(90) + 0.5
    data = split(table(), np.arange(90) % 3, weight)
    before = {c: (d.X.tobytes(), d.weight.tobytes()) for c, d in data.items()}
    state = chosen.start(SCHEMA, plan.rng("server", -1))
    for number in range(2):
        frozen = snapshot(state)
        down = chosen.broadcast(state)
        sent = snapshot(down)
        request = Request(number, tuple(data), down)
        replies = [respond(plan, request, client, d) for client, d in data.items()]
        assert snapshot(down) == sent
        merged = chosen.up.merge(replies)
        received = snapshot(merged)
        following = chosen.server_step(state, merged, plan.rng("server", number))
        assert snapshot(state) == frozen
        assert snapshot(merged) == received
        state = following
    assert {c: (d.X.tobytes(), d.weight.tobytes()) for c, d in data.items()} == before


@pytest.mark.parametrize("key", ALL_KEYS)
def test_a_client_step_can_be_repeated(key: str) -> None:
    """Clients are stateless: a retry after a lost reply sends the same bits."""
    plan, data = Plan(algorithm(key), seed=4), federation()
    down = plan.algorithm.broadcast(plan.algorithm.start(SCHEMA, plan.rng("server", -1)))
    request = Request(0, tuple(data), down)
    first, second = (respond(plan, request, "c001", data["c001"]) for _ in range(2))
    assert snapshot(first) == snapshot(second)


@pytest.mark.parametrize("key", MANY_ROUNDS)
def test_ends_at_max_rounds_or_earlier_by_tolerance(key: str) -> None:
    counts = [fit(key, federation(), max_rounds=40, tol=tol).n_rounds for tol in (0.0, 1e-3, 10.0)]
    assert counts[0] <= 40
    assert counts[0] >= counts[1] >= counts[2] == 1
    assert fit(key, federation(), max_rounds=2, tol=0.0).n_rounds <= 2


@pytest.mark.parametrize("key", MANY_ROUNDS)
def test_the_unit_of_the_data_does_not_matter(key: str) -> None:
    """Centres of micrometres are those of metres, a million times as large."""
    X, start = table(), algorithm(key).init  # type: ignore[attr-defined]
    metres = fit(key, split(X, np.arange(90) % 3), init=start)
    small = fit(key, split(X * 1e-6, np.arange(90) % 3), init=start * 1e-6)
    assert small.n_rounds == metres.n_rounds
    np.testing.assert_allclose(small.model, metres.model * 1e-6, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("key", ALL_KEYS)
def test_the_order_in_which_clients_are_listed_does_not_matter(key: str) -> None:
    data = federation()
    plan = Plan(algorithm(key), seed=5)
    straight = run(plan, LocalChannel(data), SCHEMA).model
    backwards = run(plan, LocalChannel(dict(reversed(data.items()))), SCHEMA).model
    assert straight.tobytes() == backwards.tobytes()


# In one pass over rows a row of weight two changes what follows once, two rows change it twice.
COPIES = [key for key in ALL_KEYS if not algorithm(key).traits.one_pass]


def fewest_records(key: str) -> int:
    """The records behind a number that a seeding sends; algorithms take 1 in the test below."""
    if key in KEYS:
        return 4
    parameters = limited_parameters(SEEDINGS[key])
    counts = [algorithm(key).parameter(p.name) for p in parameters if p.role is Role.RECORDS]
    return min(counts, default=4)


@pytest.mark.parametrize("key", COPIES)
@given(seed=st.integers(0, 10_000))
@settings(max_examples=8)
def test_weight_n_is_n_copies(key: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, owner = table(60, seed), rng.integers(0, 3, 60)
    # A minimum of people is not a minimum of weight: no value has as many copies.
    copies = rng.integers(1, max(2, min(4, fewest_records(key))), 60)
    weighted = split(X, owner, copies.astype(float))
    repeated = split(np.repeat(X, copies, axis=0), np.repeat(owner, copies))
    # Few rounds: gradient descent enlarges rounding, up to ten times in each of them.
    extra: dict[str, Any] = {"max_rounds": 5} if key in MANY_ROUNDS else {}
    if algorithm(key).parameter("tol") is not None:
        extra["tol"] = 0.0  # rounding would decide whether a run ends a round earlier
    if key in KEYS:
        parameters = limited_parameters(ALGORITHMS[key])
        extra |= {p.name: 1 for p in parameters if p.role is Role.RECORDS}
    a, b = (fit(key, data, **extra) for data in (weighted, repeated))
    np.testing.assert_allclose(a.model, b.model, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("key", COPIES)
def test_rows_in_another_order_are_the_same_rows(key: str) -> None:
    rng = np.random.default_rng(0)
    X, owner = table(), np.arange(90) % 3
    shuffled = rng.permutation(90)
    a = fit(key, split(X, owner)).model
    b = fit(key, split(X[shuffled], owner[shuffled])).model
    np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("key", MANY_ROUNDS)
def test_half_of_the_clients_at_a_time_is_enough_to_run(key: str) -> None:
    chosen = algorithm(key, max_rounds=12)
    plan = Plan(chosen, transforms_for(chosen, 2, "none"))
    some = ClientSampling(fraction=0.5, min_clients=2)
    done = run(plan, LocalChannel(federation(n_clients=6)), SCHEMA, sampling=some)
    assert np.isfinite(done.model).all()
    assert {line.n_clients for line in done.history} == {3}


@pytest.mark.parametrize("key", KEYS)
def test_assigns_rows_to_what_it_found(key: str) -> None:
    chosen, data = algorithm(key), Data.of(table())
    assigned = chosen.assign(fit(key, federation()).state, data)
    if chosen.soft:
        assert assigned.shape == (90, K)
        np.testing.assert_allclose(assigned.sum(axis=1), 1.0)
    else:
        assert assigned.shape == (90,)
        assert set(np.unique(assigned)) <= set(range(K))


@pytest.mark.parametrize("key", KEYS)
def test_works_on_data_it_was_not_tuned_to(key: str) -> None:
    """From its own seeding and defaults, near the pooled optimum of well separated clusters."""
    from fedclust.clustering.rows import cluster
    from fedclust.kernels import inertia, k_means

    rng = np.random.default_rng(1)
    means = rng.uniform(50, 250, size=(5, 7))
    X = rng.normal(means[rng.integers(0, 5, 400)], 4.0)
    best = inertia(X, k_means(X, 5, rng, restarts=20))
    channel = LocalChannel(split(X, np.arange(400) % 4))
    from fedclust.core import Schema

    found = [cluster(make(key, 5), channel, Schema(7), seed=s).inertia for s in range(3)]
    assert min(found) < 1.1 * best


@pytest.mark.parametrize("key", KEYS)
def test_an_algorithm_is_one_short_file(key: str) -> None:
    file = inspect.getsourcefile(ALGORITHMS[key])
    assert file is not None
    assert len(Path(file).read_text().splitlines()) < 150


@pytest.mark.parametrize("key", KEYS)
def test_fields_have_defaults_and_classes_say_what_they_are(key: str) -> None:
    kind = ALGORITHMS[key]
    names = [f.name for f in fields(kind)]  # type: ignore[arg-type]
    assert names[0] == "n_clusters"
    make(key, 2)
    assert kind.__doc__
    assert kind.__module__ != "fedclust.algorithms"
