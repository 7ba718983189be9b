"""The verdict rule: two samples, two standard errors, printed rounding."""

from typing import Any

import numpy as np
import pytest

from papers.experiment import Cell, Claim, Experiment, Statistic, Task
from papers.verdict import (
    ABSENT,
    DIFFERS,
    FEW,
    NOISY,
    OPEN,
    REPRODUCED,
    compare,
    count_claims,
    holds,
    judge,
    sample_of,
    two_groups,
)


def nothing(seed: int) -> dict[str, float]:
    raise AssertionError("only its name is used")


def results(values: Any, score: Any = None, task: str = "t") -> dict[str, dict[int, Any]]:
    runs = {i: {"x": float(v)} for i, v in enumerate(values)}
    for i, s in enumerate(() if score is None else score):
        runs[i]["score"] = float(s)
    return {task: runs}


def verdict(published: str | None, values: Any, needed: int = 10, **changes: Any) -> str:
    cell = Cell("r", "c", "t", "x", published, **changes)
    experiment = Experiment("e", "", [Task("t", nothing, {}, runs=needed)], [cell])
    (one,) = judge(experiment, results(values))
    return one.verdict


STEADY = np.linspace(0.9, 1.1, 10)  # mean 1, standard deviation .068, error of a difference .030


def test_the_limit_is_two_standard_errors_of_a_difference_plus_rounding() -> None:
    assert verdict("1.000", STEADY) == REPRODUCED
    assert verdict("1.059", STEADY) == REPRODUCED
    assert verdict("1.063", STEADY) == DIFFERS
    assert verdict("1.1", STEADY) == REPRODUCED  # 1.05 prints as 1.1
    assert verdict("1.041", STEADY, published_runs=10_000) == REPRODUCED
    assert verdict("1.059", STEADY, published_runs=10_000) == DIFFERS


def test_a_stored_spread_of_the_papers_runs_counts_for_theirs() -> None:
    """The error is that of our mean, .021, and that of theirs, .3 / sqrt(10)."""
    assert verdict("1.18", STEADY, published_sd=0.3) == REPRODUCED
    assert verdict("1.20", STEADY, published_sd=0.3) == DIFFERS
    assert verdict("1.048", STEADY, published_sd=0.0) == DIFFERS


def test_agreement_that_says_little_is_too_noisy() -> None:
    wide = np.linspace(0.0, 2.0, 10)
    assert verdict("1.4", wide) == NOISY
    assert verdict("1.0", wide) == REPRODUCED  # to the printed digits
    assert verdict("0.00", np.full(10, 0.004)) == REPRODUCED
    assert verdict("0.00", np.array([0.0] * 9 + [0.1])) == NOISY


def test_few_runs_give_no_verdict() -> None:
    assert verdict("1.0", STEADY, needed=30) == FEW
    assert verdict("9.0", STEADY[:1]) == FEW
    assert verdict("1.0", []) == OPEN
    assert verdict(None, []) == verdict(None, STEADY) == ""
    assert verdict("1.0", STEADY, absent="lost") == ABSENT


def test_shared_starts_leave_only_the_spread_within_a_start() -> None:
    """Ten starts, three runs each: what varies between the starts is common to both samples."""
    starts = np.linspace(10.0, 11.0, 10)
    runs = np.concatenate([starts, starts, starts])
    assert verdict("10.51", runs, needed=30, shared_starts=True) == DIFFERS
    assert verdict("10.51", runs, needed=30) == REPRODUCED
    noise = np.concatenate([starts + 0.1, starts, starts - 0.1])  # error of a difference .037
    assert verdict("10.57", noise, needed=30, shared_starts=True) == REPRODUCED
    assert verdict("10.59", noise, needed=30, shared_starts=True) == DIFFERS
    assert verdict("0.51", [0.505], needed=1, shared_starts=True, published_runs=1) == REPRODUCED


@pytest.mark.parametrize(
    ("kind", "ours"),
    [("min", 1.0), ("max", 4.0), ("std", 1.118), ("median", 2.5), ("best half", 3.5)],
)
def test_the_statistics_that_papers_report(kind: Statistic, ours: float) -> None:
    cell = Cell("", "", "t", "x", "3.0", statistic=kind)
    experiment = Experiment("e", "", [Task("t", nothing, {}, runs=4)], [cell])
    (one,) = judge(experiment, results([1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0]))
    assert one.ours == pytest.approx(ours, abs=1e-3)


@pytest.mark.parametrize("kind", ["mean", "median", "min", "max", "std", "best half"])
def test_the_rule_accepts_most_samples_of_the_same_distribution(kind: Statistic) -> None:
    """Of 100 runs against 30 of one distribution about 95 % pass, and of extremes four fifths."""
    rng = np.random.default_rng(5)
    reduce: dict[str, Any] = {"best half": lambda v: np.sort(v)[:50].mean()}
    passed = 0
    for _ in range(60):
        theirs, ours = rng.normal(10, 1, 100), rng.normal(10, 1, 30)
        value = reduce.get(kind, getattr(np, kind, np.mean))(theirs)
        found = verdict(f"{value:.4f}", ours, 30, statistic=kind, published_runs=100)
        passed += found in (REPRODUCED, NOISY)
    assert passed >= (46 if kind in ("min", "max") else 52)


def test_an_extreme_of_more_runs_may_lie_further_out() -> None:
    rng = np.random.default_rng(0)
    cell = Cell("", "", "t", "x", "1", statistic="min", published_runs=100)
    shift, error = compare(cell, sample_of(cell, results(rng.normal(size=10))))
    assert shift < -0.3
    assert error > 0.1


def test_two_groups_of_runs_are_named() -> None:
    assert two_groups(np.array([0.1, 0.11, 0.1, 0.9, 0.91])) == "3 runs near 0.103, 2 near 0.905"
    assert two_groups(STEADY) == ""
    assert two_groups(np.array([0.0, 1.0])) == ""
    rounding_errors = np.array([0.0, 0.0, 0.0, 0.0, 1e-14])
    assert two_groups(rounding_errors, 0.005) == ""


def test_claims_compare_runs_of_the_same_seed() -> None:
    """What varies from seed to seed, and is common to both sides, does not count."""
    tasks = [Task(name, nothing, {}, runs=10) for name in "ab"]
    claim = Claim("a is smaller", "x", "a", "b")
    experiment = Experiment("e", "", tasks, claims=[claim])
    spread = np.linspace(0.0, 100.0, 10)
    both = results(spread, task="a") | results(spread + 1 + 0.1 * STEADY, task="b")
    assert holds(claim, experiment, both) == ("holds", "10 of 10 pairs")
    assert count_claims(experiment, both) == (1, 1)
    reverse = Claim("b is smaller", "x", "b", "a")
    assert holds(reverse, experiment, both)[0] == "does not hold"
    tied = results(spread, task="a") | results(spread[::-1], task="b")
    assert holds(claim, experiment, tied)[0] == "a tie"
    one = results([1.0], task="a") | results([2.0], task="b")
    assert holds(claim, experiment, one) == (FEW, "1 of 1 pairs; 10 needed")
    assert holds(claim, experiment, {})[0] == OPEN
    assert count_claims(experiment, one) == (0, 0)
