"""Advice on algorithms: all are measured, and the advice agrees with the measurements."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from benchmarks.algorithms import ONE_START, Case, by_set, measure, summary
from benchmarks.choice import blobs
from fedclust import ConfigError
from fedclust.algorithms import ALGORITHMS, VERTICAL, make, register, unregister
from fedclust.cli import app
from fedclust.cli.algorithms import GUIDE
from fedclust.cli.tools.advice import ADVICE, MEASURED, RUNS
from fedclust.core import Schema
from fedclust.tiers import TIERS, tier_of

from .extension.sweep_means import SweepMeans

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / GUIDE).read_text()
KINDS = {**ALGORITHMS, **VERTICAL}
# What is made for columns of categories has another objective, or does the same for numbers.
COMPARED = {key: kind for key, kind in KINDS.items() if not kind.traits.categories}
PREFERRED = re.compile(r"prefer ([a-z0-9-]+)(?: or ([a-z0-9-]+))?")


@dataclass(frozen=True)
class Line:
    """A line of a table on the page."""

    mean: float
    worst: float
    settled: float
    rounds: int
    runs: int


def measured() -> dict[str, Line]:
    """The summaries on the page."""
    found = re.findall(r"^\| `([a-z0-9-]+)` \|((?: [0-9.,]+ \|){7})$", PAGE, re.MULTILINE)
    assert len(found) == len({key for key, _ in found})
    lines = {}
    for key, cells in found:
        mean, _, worst, settled, rounds, _, runs = cells.strip(" |").split(" | ")
        lines[key] = Line(float(mean), float(worst), float(settled), int(rounds), int(runs))
    return lines


@pytest.fixture
def one_more() -> Iterator[None]:
    register(SweepMeans)
    yield
    unregister(SweepMeans)


@pytest.mark.usefixtures("one_more")
def test_every_registered_algorithm_is_measured() -> None:
    X, y = blobs(3, 2, 4.0, 5.0, seed=1)
    case = Case("tiny", X[:150], y[:150], 3, 3, "dirichlet")
    found = measure(case, range(2))
    rows = {key for key, kind in ALGORITHMS.items() if not kind.traits.categories}
    assert set(found) == {*rows, *VERTICAL, *ONE_START.values()}
    for key, outcomes in found.items():
        lossless = key in ONE_START.values() or make(key, 3).lossless
        for one in outcomes:
            assert one.objective >= 1.0 - 1e-12
            assert one.settled <= one.objective * (1 + 1e-9)
            if lossless:  # pooled steps cannot improve it: what it lacks is a better start
                assert one.settled == pytest.approx(one.objective, rel=1e-6), key
    for soft in (False, True):
        text = "\n".join(
            [*summary({"tiny": found}, soft=soft), *by_set({"tiny": found}, soft=soft)]
        )
        assert ("`sweep-means`" in text) == (not soft)


def test_the_page_has_a_line_for_every_algorithm() -> None:
    lines = measured()
    assert set(lines) == set(COMPARED)
    n_sets = len(re.findall(r"^\| .* \| (?:iid|dirichlet) \|$", PAGE, re.MULTILINE))
    assert n_sets >= 6
    assert {line.runs for line in lines.values()} == {10 * n_sets}
    for key, line in lines.items():
        assert 1.0 <= line.mean <= line.worst, key
        if make(key, 2).lossless:
            assert line.settled == line.mean, key
        if not make(key, 2).has_parameter("max_rounds"):
            assert line.rounds == 1, key


def test_every_algorithm_says_when_to_use_it_and_the_command_prints_it() -> None:
    shown = CliRunner().invoke(app, ["algorithms", "--details"], env={"COLUMNS": "400"})
    assert shown.exit_code == 0
    for key, kind in KINDS.items():
        assert re.fullmatch(r"Use (it|its) .*\.", kind.use_for), key
        assert not re.search(r"\d %", kind.use_for), "numbers are on the page only"
        (line,) = [line for line in shown.output.splitlines() if re.match(rf"│ {key} +│", line)]
        assert kind.use_for in line


def test_the_command_prints_the_advice_and_the_numbers_of_the_page() -> None:
    shown = CliRunner().invoke(app, ["algorithms"], env={"COLUMNS": "200"})
    assert shown.exit_code == 0
    assert GUIDE in shown.output
    rows = PAGE.split("| your case | use |")[1].split("\n\n")[0].splitlines()[2:]
    plain = [re.sub(r"`| \(\[[^]]*\]\([^)]*\)\)", "", row).strip("| ") for row in rows]
    assert [tuple(row.split(" | ")) for row in plain] == list(ADVICE)
    found = re.findall(r"^\| `([a-z0-9-]+)` \|((?: [0-9.,]+ \|){7})$", PAGE, re.MULTILINE)
    assert {key for key, _ in found} == set(MEASURED)
    for key, cells in found:
        mean, deviation, worst, _, rounds, sent, runs = cells.strip(" |").split(" | ")
        assert MEASURED[key].sent == int(sent.replace(",", ""))
        assert int(runs) == RUNS
        line = re.search(rf"^ *{key} +(.*)$", shown.output, re.MULTILINE)
        assert line
        assert line[1].split() == [mean, deviation, worst, rounds, sent]
    for case, use in ADVICE:
        assert re.search(f"{re.escape(case)} +{re.escape(use)}", shown.output)


@pytest.mark.usefixtures("one_more")
def test_an_algorithm_of_another_package_has_no_numbers() -> None:
    shown = CliRunner().invoke(app, ["algorithms"])
    assert re.search("sweep-means +not measured", shown.output)


def test_the_page_names_the_lossless_algorithms() -> None:
    (sentence,) = re.findall(r"These algorithms are lossless:([^.]*)\.", PAGE)
    lossless = {key for key in KINDS if make(key, 2).lossless}
    assert set(re.findall(r"`([a-z0-9-]+)`", sentence)) == lossless


def test_what_is_preferred_has_the_lower_loss() -> None:
    lines = measured()
    preferred = [
        (key, better)
        for key, kind in KINDS.items()
        for match in PREFERRED.finditer(kind.use_for)
        for better in match.groups()
        if better
    ]
    assert preferred
    for key, better in preferred:
        assert lines[better].mean < lines[key].mean, (key, better)


def supports(tier: str, key: str) -> bool:
    schema = Schema(2, np.zeros(2), np.ones(2))
    try:
        tier_of(tier).adapt(make(key, 3), schema, 5)
    except ConfigError:
        return False
    return True


def test_the_page_lists_the_algorithms_of_each_tier() -> None:
    rows = re.findall(r"^\| ((?:`[a-z+]+`,? ?)+) \| (.*) \|$", PAGE, re.MULTILINE)
    listed = {
        tier: set(re.findall(r"`([a-z0-9-]+)`", keys)) if keys != "all" else set(ALGORITHMS)
        for tiers, keys in rows
        for tier in re.findall(r"`([a-z+]+)`", tiers)
        if tier in TIERS
    }
    assert listed == {t: {key for key in ALGORITHMS if supports(t, key)} for t in TIERS}
