"""The gate: what a client refuses by rules of its own, whatever a plan says."""

import json
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from fedclust import ConfigError
from fedclust.algorithms import make
from fedclust.algorithms.centers import Centers
from fedclust.channels import LocalChannel
from fedclust.core import (
    Data,
    Plan,
    Refusal,
    Request,
    Schema,
    Stage,
    Transform,
    respond,
    run,
)
from fedclust.privacy import (
    ClientPolicy,
    GroupedRows,
    Ledger,
    Limits,
    MinCount,
    QueryLimit,
    stored_identity,
)

from .asked import answer, rows

BOUNDS = ((0.0, 0.0), (1.0, 1.0))


@pytest.mark.parametrize(
    ("limits", "question", "said"),
    [
        (Limits(min_samples=61), {}, "llf-cm, round 0: this client has too few records to answer"),
        (Limits(max_rounds=3), {"round": 3}, "round 3: this client answers 3 rounds"),
        (Limits(bounds=BOUNDS), {"centers": ((0.1, 1.5), (0.0, 0.0))}, "outside the public bounds"),
        (Limits(bounds=BOUNDS), {"centers": ((0.1, np.nan), (0.0, 0.0))}, "outside the public"),
        (Limits(requires=("PairwiseMasks",)), {}, "this client requires PairwiseMasks"),
    ],
)
def test_questions_against_the_rules_are_refused(
    limits: Limits, question: dict[str, Any], said: str
) -> None:
    with pytest.raises(Refusal, match=said):
        answer(ClientPolicy(limits=limits), **question)


def test_questions_within_the_rules_are_answered() -> None:
    limits = Limits(
        min_samples=60, max_rounds=3, bounds=BOUNDS, requires=("MinCount",), max_queries=2
    )
    policy = ClientPolicy(limits=limits)
    assert answer(policy, transforms=(MinCount(2),)).nbytes
    assert answer(policy, round=2, transforms=(MinCount(2),)).nbytes


def test_releases_are_counted_over_plans_and_restarts(tmp_path: Path) -> None:
    """Other seeds, other numbers of clusters, another process: the same rows."""

    def policy() -> ClientPolicy:
        return ClientPolicy(limits=Limits(max_queries=3), ledger=Ledger(tmp_path / "a.jsonl"))

    answer(policy())
    answer(policy())  # the same question: nothing new is answered
    answer(policy(), round=1)
    answer(policy(), seed=1)
    with pytest.raises(Refusal, match="answered 3 queries, and the query limit is 3"):
        answer(policy(), seed=2)
    answer(policy(), seed=1)
    whole = policy()
    whole.ledger.reset("consent was renewed")
    answer(whole, seed=2)


def test_a_plan_can_limit_releases_too_and_the_lower_limit_holds() -> None:
    policy = ClientPolicy(limits=Limits(max_queries=2))
    for round in range(2):
        answer(policy, round=round, transforms=(QueryLimit(9),))
    with pytest.raises(Refusal, match="query limit is 2"):
        answer(policy, round=2, transforms=(QueryLimit(9),))
    strict = ClientPolicy(limits=Limits(max_queries=9))
    for round in range(2):
        answer(strict, round=round, transforms=(QueryLimit(2),))
    with pytest.raises(Refusal, match="query limit is 2"):
        answer(strict, round=2, transforms=(QueryLimit(2),))
    loose = ClientPolicy()
    for round in range(2):
        answer(loose, round=round, transforms=(QueryLimit(2),))
    with pytest.raises(Refusal, match="query limit is 2"):
        answer(loose, round=2, transforms=(QueryLimit(2),))


class Masked(Transform):
    """Stands for masks: what counts here is that there are some."""

    stage: ClassVar[Stage] = Stage.MASK


MASKS = (Masked(),)
ASIDE = ((0.2, 0.2), (0.8, 0.8 + 1e-16))  # the last bit of the centres is another
assert ASIDE[1][1] != 0.8


@pytest.mark.parametrize("centers", [((0.2, 0.2), (0.8, 0.8)), ASIDE])
@pytest.mark.parametrize(
    ("cohort", "said"),
    [
        (
            "abcdefghi",
            "differs from an earlier cohort in 1 of its clients, whose own sums would be",
        ),
        ("abcdefghijk", "differs from an earlier cohort in 1 of its clients"),
        ("abcdefghik", "neither all of an earlier cohort nor only some of it"),
        ("abcde", "has 5 of the 10 clients of the other; at least 6 are needed"),
        ("abklmnopqrst", "neither all of an earlier cohort"),
        ("ab", "2 clients are too few to hide among"),
    ],
)
def test_a_cohort_that_differs_by_few_clients_is_refused(
    cohort: str, said: str, centers: Any, tmp_path: Path
) -> None:
    """In every process of the client, whatever is broadcast, until the owner resets the ledger."""

    def policy() -> ClientPolicy:
        return ClientPolicy(ledger=Ledger(tmp_path / "a.jsonl"))

    answer(policy(), cohort=tuple("abcdefghij"), transforms=MASKS)
    with pytest.raises(Refusal, match=f"llf-cm, round 1: a total over these clients .*{said}"):
        answer(policy(), centers, round=1, cohort=tuple(cohort), transforms=MASKS)
    # The same cohort again and a smaller one obey the rule.
    answer(policy(), centers, round=2, cohort=tuple("jihgfedcba"), transforms=MASKS)
    answer(policy(), centers, round=3, cohort=tuple("abcdefg"), transforms=MASKS)
    again = policy()
    again.ledger.reset("other partners")
    if len(cohort) >= 3:
        answer(again, centers, round=5, cohort=tuple(cohort), transforms=MASKS)


def test_a_cohort_may_grow_by_as_many_as_a_cohort_needs() -> None:
    policy = ClientPolicy()
    for cohort in ("abcdefgh", "abcdefghijk", "abcdefgh"):
        answer(policy, cohort=tuple(cohort), transforms=MASKS)
    with pytest.raises(Refusal, match="has 8 of the 15 clients of the other; at least 9"):
        answer(policy, cohort=tuple("abcdefghijklmno"), transforms=MASKS)
    answer(policy, cohort=tuple("abcdefghijklmn"), transforms=MASKS)


def test_a_client_may_demand_larger_cohorts_and_larger_differences() -> None:
    policy = ClientPolicy(limits=Limits(min_cohort=4))
    with pytest.raises(Refusal, match="3 clients are too few to hide among; at least 4 are needed"):
        answer(policy, transforms=MASKS)
    answer(policy, cohort=tuple("abcdefghijkl"), transforms=MASKS)
    with pytest.raises(
        Refusal, match="in 3 of its clients, whose own sums .*; at least 4 are needed"
    ):
        answer(policy, cohort=tuple("abcdefghi"), transforms=MASKS)
    answer(policy, cohort=tuple("abcdefgh"), transforms=MASKS)


def test_cohorts_are_remembered_without_limits_and_without_a_ledger() -> None:
    policy = ClientPolicy()
    answer(policy, cohort=tuple("abcde"), transforms=MASKS)
    with pytest.raises(Refusal, match="differs from an earlier cohort in 1 of its clients"):
        answer(policy, cohort=tuple("abcd"), transforms=MASKS)


def test_a_ledger_with_cohorts_that_form_no_chain_answers_in_none(tmp_path: Path) -> None:
    """It may come from a version that allowed them: nothing is added to what they reveal."""
    path = tmp_path / "a.jsonl"
    lines = [{"event": "cohort", "members": list(m), "sent": "00"} for m in ("abcd", "abc")]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for cohort in ("abcd", "abc", "abcdefg"):
        policy = ClientPolicy(ledger=Ledger(path))
        with pytest.raises(Refusal, match="a total over these clients is refused"):
            answer(policy, cohort=tuple(cohort), transforms=MASKS)


def test_cohorts_may_change_where_nothing_is_hidden_among_them() -> None:
    policy = ClientPolicy(limits=Limits())
    for i in range(6):
        answer(policy, cohort=("a", f"b{i}"))
    assert policy.ledger.n_queries == 1


def test_a_gate_without_rules_lets_everything_pass_and_counts_nothing() -> None:
    policy = ClientPolicy()
    for round in range(5):
        answer(policy, round=round)
    assert policy.ledger.n_queries == 0


def test_seeds_have_no_centres_to_look_at() -> None:
    policy = ClientPolicy(limits=Limits(bounds=BOUNDS))
    data = {"a": Data(rows(), np.empty(0), policy=policy), "b": rows(seed=1)}
    from fedclust.algorithms import make_seeding

    run(Plan(make_seeding("careful", 2)), LocalChannel(data), Schema(2))
    assert policy.ledger.n_queries == 1


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("min_samples", 0),
        ("min_cohort", 0),
        ("max_rounds", 0),
        ("max_queries", 0),
    ],
)
def test_rules_are_whole_numbers(field: str, value: int) -> None:
    with pytest.raises(ConfigError, match=f"{field} must be an integer"):
        Limits(**{field: value})  # type: ignore[arg-type]


def test_transforms_that_need_a_gate_say_so() -> None:
    with pytest.raises(ConfigError, match="this client has no gate"):
        answer(None, transforms=(QueryLimit(5),))
    plan = Plan(make("llf-cm", 2), (GroupedRows(5),))
    with pytest.raises(ConfigError, match="this client has no gate"):
        respond(plan, Request(0, ("a",), Centers(np.zeros((2, 2)))), "a", Data.of(rows()))


def test_an_identity_lasts_in_a_file_of_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "keys" / "identity"
    secret = stored_identity(path)
    assert stored_identity(path) == secret
    assert len(secret) == 32
    assert path.stat().st_mode & 0o077 == 0
    for text in ("not a key", "abcd"):
        path.write_text(text)
        with pytest.raises(ConfigError, match="no identity; it must hold 64"):
            stored_identity(path)
