"""Columns split between owners: what holds for rows holds here, and every owner is needed."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedclust.algorithms import VERTICAL, VERTICAL_SEEDINGS, from_config, make, make_seeding
from fedclust.algorithms.vertical_c_means import Labels
from fedclust.algorithms.vertical_fuzzy_c_means import Weights
from fedclust.algorithms.vertical_seeding import DrawnRecords
from fedclust.channels import LocalChannel
from fedclust.core import (
    AnyAlgorithm,
    ClientSampling,
    ConfigError,
    Data,
    Message,
    MessageError,
    Plan,
    Request,
    Run,
    Schema,
    TooFewClients,
    config,
    load_round,
    respond,
    rounds,
    run,
    save_round,
)
from fedclust.typing import FloatArray

from .owners import owners, schema, table

KEYS = list(VERTICAL)


POOLED = {"vertical-llf-cm": "llf-cm", "vertical-llf-fcm": "llf-fcm"}


def fit(chosen: AnyAlgorithm, X: FloatArray, who: Any, *, strict: bool = False) -> Run:
    return run(Plan(chosen), LocalChannel(owners(X, who), strict=strict), schema(X))


def centers(chosen: Any, done: Run, X: FloatArray) -> FloatArray:
    """All centres, as nobody in a federation could have them."""
    found: FloatArray = chosen.local_centers(chosen.broadcast(done.state), X)
    return found


@pytest.mark.parametrize("key", KEYS)
@given(seed=st.integers(0, 100_000), n_owners=st.integers(1, 12), F=st.sampled_from([1, 3, 12, 40]))
@settings(max_examples=25)
def test_any_split_of_columns_equals_one_table(key: str, seed: int, n_owners: int, F: int) -> None:
    rng = np.random.default_rng(seed)
    X = table(90, F, seed)
    records = rng.choice(90, 4, replace=False)
    chosen = make(key, 4, init=records, max_rounds=25, tol=0.0)
    parts = fit(chosen, X, rng.integers(0, n_owners, F))
    pooled = make(POOLED[key], 4, init=X[records], max_rounds=parts.n_rounds, tol=0.0)
    rows = run(Plan(pooled), LocalChannel({"all": X}), Schema(F))
    np.testing.assert_allclose(centers(chosen, parts, X), rows.model, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("fuzzifier", [1.02, 1.2, 1.5, 2.0, 3.0])
def test_any_fuzzifier(key: str, fuzzifier: float) -> None:
    if key == "vertical-llf-cm":
        pytest.skip("labels have none")
    X, records = table(), np.array([0, 40, 80])
    chosen = make(key, 3, init=records, fuzzifier=fuzzifier, max_rounds=20, tol=0.0)
    done = fit(chosen, X, [0, 0, 1, 2, 2, 2])
    pooled = make("llf-fcm", 3, init=X[records], fuzzifier=fuzzifier, max_rounds=20, tol=0.0)
    rows = run(Plan(pooled), LocalChannel({"all": X}), Schema(6))
    np.testing.assert_allclose(centers(chosen, done, X), rows.model, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("key", [*KEYS, *VERTICAL_SEEDINGS])
def test_the_wire_changes_nothing_and_the_order_of_owners_neither(key: str) -> None:
    X = table()
    chosen = make(key, 3, init=np.array([1, 2, 3])) if key in KEYS else make_seeding(key, 3)
    data = owners(X, [0, 0, 1, 2, 2, 2])
    plan = Plan(chosen, seed=3)
    models = [
        run(plan, channel, schema(X)).model.tobytes()
        for channel in (
            LocalChannel(data),
            LocalChannel(data, strict=True),
            LocalChannel(dict(reversed(data.items()))),
        )
    ]
    assert len(set(models)) == 1


@pytest.mark.parametrize("key", KEYS)
def test_a_cluster_nobody_is_in_keeps_its_centre(key: str) -> None:
    """As in the pooled run: a partition whose means leave one cluster empty at once."""
    rng = np.random.default_rng(5)
    X = np.vstack([rng.normal(0, 0.1, (40, 2)), rng.normal(10, 0.1, (40, 2))])
    labels = np.repeat([0, 1], 40)
    labels[[0, 40]] = 2  # its mean lies half-way, where nobody is
    settings: dict[str, Any] = {"max_rounds": 6, "tol": 0.0}
    if key == "vertical-llf-fcm":
        settings["fuzzifier"] = 1.002
    chosen = make(key, 3, init=labels, **settings)
    done = fit(chosen, X, [0, 1])
    assert done.state.which.tolist() == [2]
    start = np.array([X[labels == c].mean(axis=0) for c in range(3)])
    pooled = make(POOLED[key], 3, init=start, **settings)
    rows = run(Plan(pooled), LocalChannel({"all": X}), Schema(2))
    np.testing.assert_allclose(centers(chosen, done, X), rows.model, rtol=1e-9)
    np.testing.assert_allclose(rows.model[2], start[2])


@pytest.mark.parametrize("key", KEYS)
def test_a_cluster_can_come_back(key: str) -> None:
    chosen: Any = make(key, 2, init=np.array([0, 1]))
    X = table(9, 2)
    before = chosen.start(schema(X), np.random.default_rng(0))
    kept = chosen.keep_empty_centers(before, before, np.array([False, True]))
    assert kept.which.tolist() == [1]
    assert kept.kept[:, 0].tolist() == [0.0, 1.0] + [0.0] * 7
    again = chosen.keep_empty_centers(kept, kept, np.array([False, False]))
    assert again.kept.shape == (9, 0)


@pytest.mark.parametrize("key", KEYS)
def test_a_saved_round_continues_bit_for_bit(key: str, tmp_path: Path) -> None:
    X = table()
    plan = Plan(make(key, 3, init=np.array([1, 2, 3]), max_rounds=5, tol=0.0), seed=2)
    channel = LocalChannel(owners(X, [0, 0, 1, 1, 1, 2]))
    whole = list(rounds(plan, channel, schema(X)))
    for done in whole[:-1]:
        save_round(tmp_path / "r", plan, done)
        *_, last = rounds(plan, channel, schema(X), resume=load_round(tmp_path / "r", plan))
        assert last.state.d2.tobytes() == whole[-1].state.d2.tobytes()


class OneSilent(LocalChannel):
    def ask(self, plan: Plan, request: Request) -> Iterator[tuple[str, Message]]:
        yield from (reply for reply in super().ask(plan, request) if reply[0] != "o01")


@pytest.mark.parametrize("key", KEYS)
def test_every_owner_is_needed_in_every_round(key: str) -> None:
    X, chosen = table(), make(key, 3)
    channel = OneSilent(owners(X, [0, 0, 1, 1, 2, 2]))
    with pytest.raises(TooFewClients, match="2 of 3 clients answered; no answer from o01"):
        run(Plan(chosen), channel, schema(X))
    some = ClientSampling(fraction=0.5)
    with pytest.raises(ConfigError, match="needs every client in every round"):
        run(Plan(chosen), channel, schema(X), sampling=some)


class Leaving(LocalChannel):
    """An owner that goes after the first round, so that nobody misses its answer."""

    asked = 0

    def clients(self) -> list[str]:
        return [c for c in super().clients() if self.asked == 0 or c != "o01"]

    def ask(self, plan: Plan, request: Request) -> Iterator[tuple[str, Message]]:
        self.asked += 1
        return super().ask(plan, request)


@pytest.mark.parametrize("key", KEYS)
def test_an_owner_that_leaves_is_missed(key: str, tmp_path: Path) -> None:
    X = table()
    data = owners(X, [0, 0, 1, 1, 2, 2])
    plan = Plan(make(key, 3, init=np.array([1, 2, 3]), tol=0.0))
    with pytest.raises(TooFewClients, match="round 1: the owners must stay the same .*; o01 left"):
        run(plan, Leaving(data), schema(X))
    save_round(tmp_path / "r", plan, next(rounds(plan, LocalChannel(data), schema(X))))
    saved = load_round(tmp_path / "r", plan)
    other = {"o00": data["o00"], "o02": data["o02"], "new": data["o01"]}
    with pytest.raises(TooFewClients, match="o01 left; new joined"):
        run(plan, LocalChannel(other), schema(X), resume=saved)


@pytest.mark.parametrize("key", KEYS)
def test_a_hostile_server_cannot_make_an_owner_write_where_it_should_not(key: str) -> None:
    chosen: Any = make(key, 3)
    X = table(9)
    if key == "vertical-llf-cm":
        bad = Labels(np.full(9, 2**26, np.int32), np.empty((9, 0)), np.empty(0, int))
    else:
        bad = Weights(np.ones((9, 7)), np.empty((9, 0)), np.empty(0, int))  # type: ignore[assignment]
    with pytest.raises(MessageError, match="expected"):
        chosen.local_centers(bad, X)
    far = make_seeding("vertical-k-means++", 3)
    with pytest.raises(MessageError, match="expected 1 numbers from 0 to 8"):
        far.client_step(DrawnRecords(np.array([99])), Data.of(X), None)  # type: ignore[arg-type]


def test_single_precision_keeps_a_far_centre_too() -> None:
    X = np.vstack([np.full((30, 1), 1000.0), np.full((30, 1), 1010.0)])
    X += np.random.default_rng(0).normal(0, 0.01, X.shape)
    labels = np.repeat([0, 1], 30)
    labels[[0, 30]] = 2
    for wire in ("float64", "float32"):
        chosen: Any = make(
            "vertical-llf-fcm", 3, init=labels, fuzzifier=1.05, message_dtype=wire, max_rounds=9
        )
        done = fit(chosen, X, [0])
        assert (np.abs(centers(chosen, done, X) - 1005) < 6).all()


@pytest.mark.parametrize("key", KEYS)
def test_client_steps_can_be_repeated_and_change_nothing(key: str) -> None:
    X = table()
    data = owners(X, [0, 0, 0, 1, 1, 1])
    plan = Plan(make(key, 3, init=np.array([5, 6, 7])))
    down = plan.algorithm.broadcast(plan.algorithm.start(schema(X), plan.rng("server", -1)))
    request = Request(0, tuple(data), down)
    before = data["o00"].X.tobytes()
    first, second = (respond(plan, request, "o00", data["o00"]).arrays()["d2"] for _ in range(2))
    assert first.tobytes() == second.tobytes()
    assert data["o00"].X.tobytes() == before


@pytest.mark.parametrize("key", KEYS)
def test_bytes_are_those_of_the_matrices(key: str) -> None:
    X = table()
    for wire, width in (("float64", 8), ("float32", 4)):
        chosen = make(key, 3, init=np.array([1, 2, 3]), max_rounds=2, message_dtype=wire)
        first = next(rounds(Plan(chosen), LocalChannel(owners(X, [0] * 3 + [1] * 3)), schema(X)))
        assert first.sent == {"o00": 120 * 3 * width, "o01": 120 * 3 * width}
        labels = 120 * (4 if key == "vertical-llf-cm" else 3 * width)
        assert first.bytes_down == 2 * labels
        assert chosen.lossless == (wire == "float64")


@pytest.mark.parametrize("key", KEYS)
def test_half_the_bytes_cost_seven_digits(key: str) -> None:
    X = table(300)
    exact, short = (
        fit(make(key, 3, init=np.array([1, 2, 3]), message_dtype=wire), X, [0, 0, 1, 1, 2, 2])
        for wire in ("float64", "float32")
    )
    gap = np.abs(np.asarray(exact.model, float) - short.model).max()
    assert gap < 1e-4
    assert exact.state.d2.tobytes() != short.state.d2.tobytes()
    strict = fit(
        make(key, 3, init=np.array([1, 2, 3]), message_dtype="float32"),
        X,
        [0, 0, 1, 1, 2, 2],
        strict=True,
    )
    assert strict.state.d2.tobytes() == short.state.d2.tobytes()


@pytest.mark.parametrize("key", [*KEYS, *VERTICAL_SEEDINGS])
def test_configuration_survives_a_file(key: str) -> None:
    chosen = make(key, 3, init=np.array([1, 2, 3])) if key in KEYS else make_seeding(key, 3)
    back = from_config(json.loads(json.dumps(config(chosen))))
    assert config(back) == config(chosen)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"init": np.array([1, 1, 2])}, "init must name 3 different records out of 120"),
        ({"init": np.array([1, 2, 500])}, "init must name 3 different records out of 120"),
        ({"init": np.zeros(120, int)}, "none of which may be empty"),
        ({"init": np.arange(120) % 4}, "one of the clusters 0 to 2"),
        ({"init": np.arange(120) % 3 - 2}, "one of the clusters 0 to 2"),
        ({"init": np.array([0.5, 1, 2])}, "init must be an array of whole numbers"),
        ({"init": "records"}, "init must be an array of whole numbers"),
        (
            {"message_dtype": "float16"},
            "message_dtype must be 'float64' or 'float32', got 'float16'",
        ),
        ({"tol": -1.0}, "tol must be a number of at least 0"),
    ],
)
def test_wrong_settings_are_named(key: str, settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        fit(make(key, 3, **settings), table(), [0, 0, 0, 1, 1, 1])


@pytest.mark.parametrize("key", KEYS)
def test_more_clusters_than_records_are_refused(key: str) -> None:
    for chosen in (make(key, 9), make_seeding("records", 9)):
        with pytest.raises(ConfigError, match="5 records cannot"):
            run(Plan(chosen), LocalChannel(owners(table(5), [0] * 6)), schema(table(5)))
    with pytest.raises(ConfigError, match="give Schema.F, n_records"):
        run(Plan(make(key, 2)), LocalChannel(owners(table(), [0] * 6)), Schema(6))
