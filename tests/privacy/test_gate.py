"""The gate: what a client refuses by rules of its own, whatever a plan says."""

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
    answer(policy())  # the same question: nothing new is told
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


def test_the_same_centres_for_another_cohort_are_refused(tmp_path: Path) -> None:
    def policy() -> ClientPolicy:
        return ClientPolicy(limits=Limits(max_cohorts=2), ledger=Ledger(tmp_path / "a.jsonl"))

    masks = (Masked(),)
    answer(policy(), transforms=masks)
    answer(policy(), round=1, transforms=masks)  # the same cohort may be asked again
    with pytest.raises(Refusal, match="the same broadcast was answered in another cohort"):
        answer(policy(), cohort=("a", "b", "d"), transforms=masks)
    answer(policy(), cohort=("a", "b"), transforms=masks)  # somebody may have left
    with pytest.raises(Refusal, match="the same broadcast was answered in another cohort"):
        answer(policy(), transforms=masks)
    # A little aside the centres are others: but no third cohort.
    aside = ((0.2, 0.2), (0.8, 0.8000001))
    with pytest.raises(Refusal, match="was summed in 2 cohorts; another one"):
        answer(policy(), aside, cohort=("a", "b", "d"), transforms=masks)
    answer(policy(), aside, transforms=masks)
    again = policy()
    again.ledger.reset("other partners")
    answer(again, aside, cohort=("a", "b", "d"), transforms=masks)


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
        ("max_shrinks", -1),
        ("max_cohorts", 0),
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
