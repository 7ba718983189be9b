"""The loop: sampling, quorum, bytes, and replies that are not what the plan says."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

from fedclust.algorithms import make, make_seeding
from fedclust.algorithms.centers import Candidates, Sums
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
    RoundContext,
    Schema,
    Stage,
    TooFewClients,
    Transform,
    rounds,
    run,
)

SCHEMA = Schema(2, low=np.zeros(2), high=np.ones(2))


def clients(n: int = 4, rows: int = 20) -> dict[str, Data]:
    rng = np.random.default_rng(0)
    return {f"c{i}": Data.of(rng.random((rows, 2))) for i in range(n)}


def plan(key: str = "llf-cm", **settings: Any) -> Plan:
    return Plan(make(key, 3, **settings), seed=1)


class Faulty(LocalChannel):
    """A channel where something happens to some clients' replies."""

    def __init__(self, data: dict[str, Data], fault: object, who: str = "c1") -> None:
        super().__init__(data)
        self.fault, self.who = fault, who

    def ask(self, plan: Plan, request: Request) -> Iterator[tuple[str, Message]]:
        for client, message in super().ask(plan, request):
            if client != self.who:
                yield client, message
            elif callable(self.fault):
                yield client, self.fault(message)


def test_every_client_is_asked_by_default() -> None:
    done = run(plan(), LocalChannel(clients()), SCHEMA)
    assert {line.n_clients for line in done.history} == {4}
    assert done.n_rounds == len(done.history) > 1


def test_bytes_are_counted_each_way() -> None:
    first = next(rounds(plan(), LocalChannel(clients()), SCHEMA))
    assert first.bytes_down == 4 * 3 * 2 * 8  # k * F doubles to each of four clients
    assert first.sent == {f"c{i}": 3 * (2 + 1) * 8 for i in range(4)}  # k * (F + 1) doubles
    assert first.bytes_up == sum(first.sent.values())


def test_a_run_adds_up_what_left_each_client() -> None:
    done = run(plan(max_rounds=3, tol=0.0), LocalChannel(clients()), SCHEMA)
    assert done.sent == {f"c{i}": 3 * 72 for i in range(4)}


def test_participation_draws_a_fraction_reproducibly_and_afresh() -> None:
    half = ClientSampling(fraction=0.5)
    data = clients(10)
    cohorts = [
        [
            r.cohort
            for r in rounds(plan(max_rounds=6, tol=0), LocalChannel(data), SCHEMA, sampling=half)
        ]
        for _ in range(2)
    ]
    assert cohorts[0] == cohorts[1]
    assert {len(c) for c in cohorts[0]} == {5}
    assert len(set(cohorts[0])) > 1
    assert all(list(c) == sorted(c) for c in cohorts[0])


def test_a_minimum_number_of_clients_beats_a_small_fraction() -> None:
    some = ClientSampling(fraction=0.01, min_clients=3)
    first = next(rounds(plan(), LocalChannel(clients(10)), SCHEMA, sampling=some))
    assert len(first.cohort) == 3


@pytest.mark.parametrize("settings", [{"fraction": 0.0}, {"fraction": 1.5}, {"min_clients": 0}])
def test_impossible_participation_is_refused(settings: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=next(iter(settings))):
        ClientSampling(**settings)  # type: ignore[arg-type]


def test_a_silent_client_is_left_out_if_enough_answer() -> None:
    done = run(plan(), Faulty(clients(), None), SCHEMA)
    assert {line.n_clients for line in done.history} == {3}


def test_too_few_answers_stop_the_run_and_name_the_silent() -> None:
    quorum = ClientSampling(min_clients=4)
    with pytest.raises(TooFewClients, match="round 0: 3 of 4 clients answered; no answer from c1"):
        run(plan(), Faulty(clients(), None), SCHEMA, sampling=quorum)


def test_nobody_answering_stops_the_run() -> None:
    with pytest.raises(TooFewClients, match="0 clients are connected, but min_clients=1"):
        run(plan(), LocalChannel({}), SCHEMA)


def test_clients_without_rows_have_nothing_to_say() -> None:
    empty = {"a": Data.of(np.empty((0, 2))), "b": Data.of(np.empty((0, 2)))}
    with pytest.raises(TooFewClients, match="all 2 replies are empty"):
        run(plan(), LocalChannel(empty), SCHEMA)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (
            lambda m: Candidates(m.total, m.weight),
            "round 0: client 'c1' sent a Candidates, expected Sums",
        ),
        (
            lambda m: Sums(m.weight[:2], m.total),
            r"round 0: client 'c1': array 'weight' has shape \(2,\), expected \(C=3\)",
        ),
        (
            lambda m: replace(m, total=m.total * np.nan),
            "round 0: values that are not finite, from 'c1'",
        ),
    ],
)
def test_a_reply_that_is_not_announced_is_refused_by_name(fault: object, words: str) -> None:
    with pytest.raises(MessageError, match=words):
        run(plan(), Faulty(clients(), fault), SCHEMA)


def test_the_order_of_replies_does_not_matter() -> None:
    class Backwards(LocalChannel):
        def ask(self, plan: Plan, request: Request) -> Iterator[tuple[str, Message]]:
            yield from reversed(list(super().ask(plan, request)))

        def clients(self) -> Iterable[str]:
            return reversed(list(super().clients()))

    for key in ("llf-fcm", "fkm", "k-fed"):
        straight = run(plan(key), LocalChannel(clients()), SCHEMA).model
        backwards = run(plan(key), Backwards(clients()), SCHEMA).model
        assert straight.tobytes() == backwards.tobytes()


def test_a_generator_can_be_left_at_any_round() -> None:
    seen = []
    for done in rounds(plan(tol=0.0), LocalChannel(clients()), SCHEMA):
        seen.append(done.number)
        if done.number == 2:
            break
    assert seen == [0, 1, 2]


def test_a_run_that_is_over_stays_over() -> None:
    channel = LocalChannel(clients())
    *_, last = rounds(plan(max_rounds=2), channel, SCHEMA)
    again = run(plan(max_rounds=2), channel, SCHEMA, resume=last)
    assert again.history == ()
    assert again.n_rounds == 2
    np.testing.assert_array_equal(again.model, last.state.centers)


def test_a_plan_of_zero_rounds_has_a_model() -> None:
    done = run(Plan(make_seeding("uniform", 3)), LocalChannel(clients()), SCHEMA)
    assert done.n_rounds == 0
    assert done.model.shape == (3, 2)
    assert (done.model >= 0).all()
    assert (done.model <= 1).all()


def test_one_client_is_asked_where_the_algorithm_says_so() -> None:
    (only,) = rounds(Plan(make_seeding("client", 3)), LocalChannel(clients()), SCHEMA)
    assert len(only.cohort) == 1


def test_without_bounds_there_is_no_uniform_start() -> None:
    with pytest.raises(ConfigError, match="no public bounds"):
        run(plan(), LocalChannel(clients()), Schema(2))


def test_a_start_of_another_width_is_refused() -> None:
    with pytest.raises(ConfigError, match="init has 5 columns, the data 2"):
        run(plan(init=np.zeros((3, 5))), LocalChannel(clients()), SCHEMA)


@dataclass(frozen=True)
class Doubles(Transform):
    """A toy mechanism: doubles on the way out, halves after the merge, needs everybody."""

    stage: ClassVar[Stage] = Stage.MASK
    needs_all: ClassVar[bool] = True

    def at_client(self, message: Message, context: RoundContext) -> Message:  # type: ignore[override]
        return type(message).from_arrays({n: 2 * a for n, a in message.arrays().items()})

    def at_server(self, merged: Message, context: RoundContext) -> Message:  # type: ignore[override]
        return type(merged).from_arrays({n: a / 2 for n, a in merged.arrays().items()})


@dataclass(frozen=True)
class Plain(Transform):
    stage: ClassVar[Stage] = Stage.SUPPRESS

    def check(self, algorithm: AnyAlgorithm) -> None:
        if algorithm.key == "k-fed":
            raise ConfigError("not with k-fed")


def test_both_halves_of_a_transform_are_applied() -> None:
    algorithm, channel = make("llf-cm", 3), LocalChannel(clients())
    through = run(Plan(algorithm, (Plain(), Doubles()), 1), channel, SCHEMA)
    without = run(Plan(algorithm, (), 1), channel, SCHEMA)
    np.testing.assert_array_equal(through.model, without.model)


def test_a_wrong_order_or_algorithm_is_refused_when_the_plan_is_made() -> None:
    with pytest.raises(ConfigError, match="order of transforms must be .* got Doubles, Plain"):
        Plan(make("llf-cm", 3), (Doubles(), Plain()))
    with pytest.raises(ConfigError, match="not with k-fed"):
        Plan(make("k-fed", 3), (Plain(),))


def test_where_all_are_needed_a_silent_client_or_a_fraction_is_an_error() -> None:
    whole = Plan(make("llf-cm", 3), (Doubles(),))
    with pytest.raises(TooFewClients, match="3 of 4"):
        run(whole, Faulty(clients(), None), SCHEMA)
    with pytest.raises(ConfigError, match="fraction must be 1"):
        run(whole, LocalChannel(clients()), SCHEMA, sampling=ClientSampling(fraction=0.5))


def test_a_plan_takes_an_algorithm_not_its_name() -> None:
    with pytest.raises(ConfigError, match="Plan: algorithm must be an Algorithm .* got 'llf-cm'"):
        Plan("llf-cm")  # type: ignore[arg-type]
