"""What a server may learn by asking: of bounds, counts and noise no more than a client wants."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedclust.algorithms import make
from fedclust.algorithms.bounded_c_means import BoundedCMeans
from fedclust.client.config import read_client_config
from fedclust.client.endpoint import ClientEndpoint
from fedclust.clustering.preparation import Moments
from fedclust.core import Code, ConfigError, Plan, Transform
from fedclust.core.wire import pack, unpack
from fedclust.privacy import (
    FixedPoint,
    GroupedRows,
    IntegerGaussian,
    MinSamples,
    PairwiseMasks,
    QueryLimit,
)

from ..support.hostile_server import PLAN, START, preflight, refusal, request
from ..support.in_process import PLAIN, as_they_are, rows, write_kits


def look(site: ClientEndpoint, columns: Any, *, counts: bool = True) -> dict[str, Any]:
    return unpack(site.answer(preflight(columns, counts=counts))).header


def within(low: float, high: float) -> list[dict[str, Any]]:
    columns: list[dict[str, Any]] = as_they_are(low, high)["preparation"]["columns"]
    return columns[:1]


def searched(site: ClientEndpoint, steps: int) -> tuple[float, float]:
    """A server that looks for the largest value between two bounds, by halves."""
    low, high = 0.0, 64.0
    for _ in range(steps):
        middle = (low + high) / 2
        reported = look(site, within(-64.0, middle)).get("values")
        if reported is None:
            break
        low, high = (middle, high) if reported["problems"] else (low, middle)
    return low, high


def test_bounds_cannot_be_tried_until_they_fit(tmp_path: Path) -> None:
    """Three answers are three bits; twenty would be somebody's value."""
    largest = rows()["west"][:, 0].max()
    site = write_kits(tmp_path)["west"]
    low, high = searched(site, 40)
    assert low <= largest <= high
    assert high - low == 8.0
    reported = look(site, within(-64.0, 63.0))
    assert reported["code"] == Code.LIMIT
    assert "described with 3 different bounds" in reported["why"]
    open_house = write_kits(tmp_path / "more", "max_descriptions = 30")["west"]
    low, high = searched(open_house, 30)
    assert high - low < 1e-6  # which is why


def test_the_same_bounds_may_be_asked_again_and_after_a_restart(tmp_path: Path) -> None:
    site = write_kits(tmp_path)["west"]
    for high in (30.0, 40.0, 50.0):
        assert look(site, within(-9.0, high))["kind"] == "reply"
    again = ClientEndpoint(tmp_path / "west", "west", "s")
    assert look(again, within(-9.0, 30.0))["kind"] == "reply"
    assert "3 different bounds" in look(again, within(-9.0, 31.0))["why"]
    bounded = as_they_are(-9.0, 31.0)
    assert "3 different bounds" in unpack(again.answer(request(PLAN, bounded))).header["why"]
    words = {"kind": "label", "id": "/1", "about": {"study": "s"}, "algorithm": "llf-cm"}
    label = pack({**words, **bounded, "ids": [1, 2, 3]}, {"centers": START})
    assert "3 different bounds" in unpack(again.answer(label)).header["why"]
    assert look(again, PLAIN["preparation"]["columns"])["kind"] == "reply"  # no bounds, no question


def test_what_is_wrong_is_told_without_counts(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    reported = look(write_kits(tmp_path)["west"], within(-9.0, 1.0))["values"]
    assert reported["problems"] == [["height", "out-of-bounds", True]]
    assert (reported["rows"], reported["complete"]) == (60, 60)
    outside = int((rows()["west"][:, 0] > 1.0).sum())
    assert (
        f"public bounds; correct them, or widen low and high ({outside}; first in " in caplog.text
    )  # its own log


def test_a_file_that_cannot_be_read_is_named_in_the_clients_own_log_only(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    site = write_kits(tmp_path)["west"]
    (tmp_path / "west" / "people.csv").unlink()
    reported = look(site, within(-9.0, 30.0))["values"]
    assert reported == {"numbers": [], "problems": [["", "unreadable", True]]}
    assert "people.csv" in caplog.text


@pytest.mark.parametrize(
    ("consent", "counts"), [("", False), ('privacy = "secure"', True), ('privacy = "dp"', True)]
)
def test_counts_are_hidden_if_the_study_or_the_client_hides_sums(
    consent: str, counts: bool, tmp_path: Path
) -> None:
    site = write_kits(tmp_path, consent + "\nepsilon = 1.0" if "dp" in consent else consent)["west"]
    raw = look(site, within(-9.0, 30.0), counts=counts)["values"]
    assert raw == {"numbers": [], "problems": []}
    line = json.loads((tmp_path / "west" / "disclosures.jsonl").read_text())
    assert line["what"] == {"numbers": [], "problems": []}


def test_looks_are_questions_of_the_ledger(tmp_path: Path) -> None:
    site = write_kits(tmp_path, "max_queries = 2")["west"]
    plain = PLAIN["preparation"]["columns"]
    assert look(site, plain)["kind"] == look(site, plain)["kind"] == "reply"  # one question
    assert look(site, plain[:1])["kind"] == "reply"
    beyond = look(site, plain[1:])
    assert beyond["code"] == Code.LIMIT
    assert "answered 2 queries, and the query limit is 2" in beyond["why"]
    assert "answered 2 queries" in unpack(site.answer(request(PLAN))).header["why"]


BOUNDED = as_they_are(-9.0, 34.0)
MASKS = PairwiseMasks("r", (("a", "0" * 64, "0" * 64, "0" * 128),))


@pytest.mark.parametrize(
    ("grid", "data", "says"),
    [
        (FixedPoint((-9.0, -9.0), (34.0, 12.0)), BOUNDED, "narrower than the public bounds"),
        (FixedPoint((-9.0, 0.0), (34.0, 34.0)), BOUNDED, "narrower than the public bounds"),
        (FixedPoint((-9.0,) * 2, (34.0,) * 2, max_records=40), BOUNDED, "too few records"),
        (FixedPoint((-9.0,), (34.0,)), BOUNDED, "public bounds for all columns"),
        (FixedPoint((-9.0,) * 2, (34.0,) * 2), PLAIN, "public bounds for all columns"),
    ],
)
def test_a_grid_cannot_be_tried_until_it_fits(
    grid: FixedPoint, data: Any, says: str, tmp_path: Path
) -> None:
    """The refusal shows whether rows fit: the bounds are those that were looked at."""
    plan = Plan(make("llf-cm", 3, init=START), (grid,))
    assert says in refusal(tmp_path, request(plan, data))


@pytest.mark.parametrize(
    ("plan", "answers"),
    [
        (Plan(make("llf-cm", 3, init=START + np.array([30.0, 0.0]))), False),
        (Plan(make("llf-fcm", 3, init=START + np.array([0.0, 17.0]))), False),
        (Plan(make("dwf", 3, init=START + np.array([27.0, 0.0]))), True),  # momentum may go beyond
        (Plan(make("dwf", 3, init=START + np.array([99.0, 0.0]))), False),
        (Plan(make("llf-cm", 3, init=START)), True),
    ],
)
def test_centres_outside_the_bounds_are_refused(plan: Plan, answers: bool, tmp_path: Path) -> None:
    said = refusal(tmp_path, request(plan, BOUNDED))
    assert (said == "") == answers
    if not answers:
        assert "centres outside the public bounds" in said


@pytest.mark.parametrize(("key", "value"), [("scale", 1e-40), ("scale", 1e40), ("offset", 1e40)])
def test_a_scale_cannot_be_tried_until_squares_overflow(
    key: str, value: float, tmp_path: Path
) -> None:
    bad = {"preparation": {**PLAIN["preparation"], key: [value, 1.0]}}
    assert "an extreme scale" in refusal(tmp_path, request(PLAN, bad))


def noisy(mu: float, share: float = 1.0) -> Plan:
    bounded = BoundedCMeans(3, np.full(2, -9.0), np.full(2, 34.0), init=START)
    return Plan(bounded, (IntegerGaussian(mu, share),))


SOFT = make("llf-fcm", 3, init=START, max_rounds=10)
HARD = make("llf-cm", 3, init=START, max_rounds=40)


@pytest.mark.parametrize(
    ("consent", "plan", "lacks"),
    [
        ("secure", PLAN, "masks"),
        ("paper", PLAN, "MinSamples"),
        ("dp", PLAN, "noise"),
        ("dp", noisy(1.0, 0.5), "the full noise of this client"),
        ("secure+dp", noisy(1.0), "noise and masks"),
        ("guarded", Plan(HARD, (QueryLimit(10**9),)), "QueryLimit"),
        ("guarded", Plan(HARD, (QueryLimit(9), MinSamples(10))), "GroupedRows(size=5)"),
        ("guarded", Plan(HARD, (QueryLimit(9), GroupedRows(4))), "GroupedRows(size=5)"),
        ("guarded", PLAN, "QueryLimit(max_queries=1000)"),
        ("guarded", Plan(SOFT, (QueryLimit(50), MinSamples(45))), "GroupedRows(size=5)"),
    ],
)
def test_a_client_demands_a_tier_by_what_it_does(
    consent: str, plan: Plan, lacks: str, tmp_path: Path
) -> None:
    text = f'privacy = "{consent}"\nepsilon = 1.0'
    assert lacks in refusal(tmp_path, request(plan, BOUNDED), text)


def guarded(size: int) -> tuple[Transform, ...]:
    return QueryLimit(50), GroupedRows(size)


@pytest.mark.parametrize(
    ("consent", "plan"),
    [
        ("none", PLAN),
        ("paper", noisy(0.1)),  # stricter, in another way
        ("guarded", noisy(0.1)),
        ("guarded", Plan(HARD, guarded(6))),
        ("guarded", Plan(SOFT, guarded(5))),
        ("dp", noisy(0.1)),
    ],
)
def test_what_is_as_strict_or_stricter_is_answered(
    consent: str, plan: Plan, tmp_path: Path
) -> None:
    pytest.importorskip("opendp")
    text = f'privacy = "{consent}"\nepsilon = 1.0'
    assert refusal(tmp_path, request(plan, BOUNDED), text) == ""


def test_masks_are_stricter_than_the_papers_rules(tmp_path: Path) -> None:
    """They are asked for keys, not for a rule that they make needless."""
    grid = FixedPoint((-9.0,) * 2, (34.0,) * 2)
    plan = Plan(make("llf-cm", 3, init=START), (grid, MASKS))
    said = refusal(tmp_path, request(plan, BOUNDED), 'privacy = "paper"')
    assert "roster" in said


def test_noise_is_only_noise_as_far_as_the_budget_goes(tmp_path: Path) -> None:
    """A plan sets how much noise there is; what it may cost is the client's to say, for good."""
    pytest.importorskip("opendp")
    text = 'privacy = "dp"\nepsilon = 1.0'
    assert "the privacy budget is spent" in refusal(tmp_path, request(noisy(100.0), BOUNDED), text)
    site = ClientEndpoint(tmp_path / "west", "west", "s")
    kinds = []
    for n in range(12):
        answer = unpack(site.answer(request(noisy(0.1), BOUNDED, n=n))).header
        kinds.append(answer["kind"])
    assert kinds[0] == "reply"
    assert kinds[-1] == "refusal"
    spent = [json.loads(x) for x in (tmp_path / "west" / "ledger.jsonl").read_text().splitlines()]
    paid = sum(entry["cost"] for entry in spent if entry["event"] == "noise")
    assert paid == pytest.approx(0.01 * kinds.count("reply"))


def test_a_tier_of_noise_needs_a_budget(tmp_path: Path) -> None:
    said = refusal(tmp_path, request(PLAN), 'privacy = "secure+dp"')
    assert said == "its client.toml, or a file that it names, cannot be used"
    with pytest.raises(ConfigError, match=r"client.toml:\d+: privacy = 'secure\+dp' needs epsilon"):
        read_client_config(tmp_path / "west" / "client.toml")


def test_a_minimum_is_a_minimum_for_every_plan(tmp_path: Path) -> None:
    """Moments of one value are that value, and lossless."""
    said = refusal(tmp_path, request(Plan(Moments(min_count=1)), PLAIN))
    assert "moments: min_count = 1 is below min_count = 2" in said
