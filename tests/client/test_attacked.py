"""A server with a valid certificate and a notebook: what it tried, and what it gets."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedclust.algorithms import make
from fedclust.algorithms.bounded_c_means import BoundedCMeans, CentersAndReach
from fedclust.algorithms.cell_seeding import CellSeeding
from fedclust.algorithms.cells import COUNTS, CellBroadcast
from fedclust.algorithms.centers import Centers
from fedclust.client.endpoint import ClientEndpoint
from fedclust.core import AnyAlgorithm, Plan, Record, Request, Schema
from fedclust.core.codec import encode_request
from fedclust.core.wire import pack, unpack
from fedclust.metrics import ClientCounts, Contingency, Evaluation
from fedclust.privacy import (
    FixedPoint,
    GroupedRows,
    IntegerGaussian,
    MinSamples,
    PairwiseMasks,
    QueryLimit,
)
from fedclust.privacy.key_exchange import KeyExchange
from fedclust.typing import FloatArray

from ..support.hostile_server import PLAN, START, request
from ..support.in_process import NAMES, PLAIN, as_they_are, rows, write_kits

WIDE = as_they_are(-10_000.0, 10_000.0)
GRID = FixedPoint((-10_000.0,) * 2, (15_000.0,) * 2)
FOUR = np.vstack([START, [[5000.0, 5000.0]]])


def shifted(by: float) -> dict[str, Any]:
    """The same columns, every row moved: of what a client is asked, a server says the scale."""
    return {"preparation": {**WIDE["preparation"], "offset": [by, by]}}


def asked(
    site: ClientEndpoint,
    plan: Plan,
    down: Record,
    data: Any = WIDE,
    cohort: Sequence[str] = NAMES,
    n: int = 0,
) -> tuple[str, dict[str, Any]]:
    """Why it refused, and what it sent."""
    raw = encode_request(
        plan, Request(n, tuple(cohort), down), id="/1", about={"study": "s"}, data=data
    )
    answer = unpack(site.answer(raw))
    return str(answer.header.get("why", "")), dict(answer.arrays)


def masks(sites: Mapping[str, ClientEndpoint], run: str = "run") -> PairwiseMasks:
    """Keys as every client offers them."""
    exchange = KeyExchange(run)
    down = exchange.broadcast(exchange.start(Schema(2), np.random.default_rng(0)))
    roster = []
    for name, site in sites.items():
        _, sent = asked(site, Plan(exchange), down, cohort=tuple(sites))
        parts = (sent[part].tobytes().hex() for part in ("public", "signer", "signature"))
        roster.append((name, *parts))
    return PairwiseMasks(run, tuple(roster))


def ledger(folder: Path, name: str = "west") -> list[str]:
    lines = (folder / name / "ledger.jsonl").read_text().splitlines()
    return [json.loads(line)["event"] for line in lines]


def summed(sites: Mapping[str, ClientEndpoint], plan: Plan, forms: Mapping[str, Any]) -> FloatArray:
    """The total of all clients' masked messages, as numbers."""
    total: Any = None
    for name, site in sites.items():
        why, sent = asked(site, plan, Centers(FOUR), forms[name])
        assert why == ""
        one = plan.algorithm.up.from_arrays(sent)
        total = one if total is None else plan.algorithm.up.merge([total, one])
    return np.asarray(total.off_grid(GRID.grid).weight)


def test_masks_do_not_cancel_between_rows_in_different_forms(tmp_path: Path) -> None:
    """Peers whose rows are moved out of the way would leave a client's own sums behind."""
    pytest.importorskip("cryptography")
    sites = write_kits(tmp_path, 'privacy = "secure"')
    algorithm = make("llf-cm", 4, init=FOUR, max_rounds=40)
    here = dict.fromkeys(NAMES, WIDE)
    honest = summed(sites, Plan(algorithm, (QueryLimit(50), GRID, masks(sites))), here)
    assert honest.sum() == pytest.approx(180)
    away = {**dict.fromkeys(NAMES, shifted(-5000.0)), "west": WIDE}
    plan = Plan(algorithm, (QueryLimit(50), GRID, masks(sites, "another")), seed=1)
    assert np.abs(summed(sites, plan, away)).max() > 1e6  # noise


def test_another_form_is_another_question(tmp_path: Path) -> None:
    """Else one question would be asked of rows on every scale there is."""
    site = write_kits(tmp_path, "max_queries = 1")["west"]
    assert asked(site, PLAN, Centers(START))[0] == ""
    assert asked(site, PLAN, Centers(START))[0] == ""  # the same again
    assert (
        "answered 1 queries, and the query limit is 1"
        in asked(site, PLAN, Centers(START), shifted(1.0))[0]
    )


def noisy(mu: float = 0.01, *before: Any, share: float = 1.0) -> Plan:
    bounded = BoundedCMeans(3, np.full(2, -9_000.0), np.full(2, 9_000.0), init=START)
    return Plan(bounded, (*before, IntegerGaussian(mu, share)))


def around(plan: Plan) -> Record:
    algorithm = plan.algorithm
    state = algorithm.start(Schema(2), np.random.default_rng(0))
    down: Record = algorithm.broadcast(state)
    return down


def test_another_form_has_noise_of_its_own_and_is_paid_for(tmp_path: Path) -> None:
    pytest.importorskip("opendp")
    site = write_kits(tmp_path, 'privacy = "dp"\nepsilon = 1.0')["west"]
    plan = noisy()
    for form in (WIDE, WIDE, shifted(1.0)):
        assert asked(site, plan, around(plan), form)[0] == ""
    assert ledger(tmp_path).count("noise") == 2


@pytest.mark.parametrize(
    ("low", "high", "why"),
    [
        (-9_000.0, 10_001.0, "bounds beyond the public bounds of the columns"),
        (-10_001.0, 9_000.0, "bounds beyond the public bounds of the columns"),
        (1.0, np.nextafter(1.0, 2.0), "too close together for float64"),
        (0.0, 1e-310, "too close together for float64"),
        (-1e300, 1e300, "bounds must be numbers up to"),
    ],
)
def test_noise_is_for_rows_within_the_bounds_of_the_columns(
    tmp_path: Path, low: float, high: float, why: str
) -> None:
    """The sensitivity is that of rows in a box, and the box is the study's, not a plan's."""
    site = write_kits(tmp_path, 'privacy = "dp"\nepsilon = 1.0')["west"]
    honest = BoundedCMeans(3, np.full(2, -9_000.0), np.full(2, 9_000.0), init=START)
    for name, value in (("low", low), ("high", high)):
        object.__setattr__(honest, name, np.full(2, value))  # as a server can write it
    plan = Plan(honest, (IntegerGaussian(0.01),))
    down = CentersAndReach(START, 0.5)
    assert why in asked(site, plan, down)[0]
    assert not (tmp_path / "west" / "ledger.jsonl").exists()  # nothing was counted or spent


@pytest.mark.parametrize("centers", [START[:, :1], START[:2], START[:1]])
def test_centres_of_another_shape_are_refused(tmp_path: Path, centers: FloatArray) -> None:
    site = write_kits(tmp_path, 'privacy = "dp"\nepsilon = 1.0')["west"]
    down = CentersAndReach(centers, 0.5)
    assert "array 'centers' has shape" in asked(site, noisy(), down)[0]
    assert not (tmp_path / "west" / "ledger.jsonl").exists()  # nothing was counted or spent


@pytest.mark.parametrize("mu", [1e-14, 1e-20, 1e-300])
def test_noise_does_not_wrap_around(tmp_path: Path, mu: float) -> None:
    """A draw beyond all whole numbers would be no noise, and cost nothing."""
    pytest.importorskip("opendp")
    site = write_kits(tmp_path, 'privacy = "dp"\nepsilon = 1.0')["west"]
    plan = noisy(mu)
    assert "more noise than integers can hold" in asked(site, plan, around(plan))[0]
    assert "noise" not in ledger(tmp_path)


@pytest.mark.parametrize("tier", ["paper", "guarded"])
def test_noise_counts_as_stricter_only_where_a_budget_limits_it(tmp_path: Path, tier: str) -> None:
    pytest.importorskip("opendp")
    site = write_kits(tmp_path, f'privacy = "{tier}"')["west"]
    plan = noisy(1e12)
    assert "required by privacy" in asked(site, plan, around(plan))[0]


def test_nothing_is_withheld_where_noise_is_added(tmp_path: Path) -> None:
    """Whether a client speaks at all would hang on one record."""
    pytest.importorskip("opendp")
    site = write_kits(tmp_path, 'privacy = "dp"\nepsilon = 1.0')["west"]
    plan = noisy(0.05, MinSamples(60))
    assert "nothing may be withheld" in asked(site, plan, around(plan))[0]


def test_under_noise_no_cohort_loses_members(tmp_path: Path) -> None:
    """The noise of those who left would be missing from the sum."""
    for library in ("cryptography", "opendp"):
        pytest.importorskip(library)
    tables = {f"c{i}": rows()["west"] for i in range(10)}
    sites = write_kits(tmp_path, 'privacy = "secure+dp"\nepsilon = 50.0', tables)
    names = tuple(tables)
    plan = noisy(0.1, share=1 / 4)  # enough for seven clients
    plan = replace(plan, transforms=(*plan.transforms, masks(sites)))
    down = around(plan)
    assert asked(sites["c0"], plan, down, cohort=names)[0] == ""
    for n, why in (
        (7, "same broadcast was answered in another cohort"),
        (9, "in 1 of its clients"),
    ):
        assert why in asked(sites["c0"], plan, down, cohort=names[:n])[0]


def test_a_client_sets_how_many_clients_a_difference_needs(tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    tables = {f"c{i:02d}": rows()["west"] for i in range(12)}
    sites, names = write_kits(tmp_path, "min_cohort = 4", tables), tuple(tables)
    plan = Plan(make("llf-cm", 4, init=FOUR, max_rounds=40), (GRID, masks(sites)))
    said = [asked(sites["c00"], plan, Centers(FOUR), cohort=names[:n])[0] for n in (3, 12, 9, 8)]
    assert "3 clients are too few to hide among; at least 4 are needed" in said[0]
    assert "differs from an earlier cohort in 3 of its clients" in said[2]
    assert [said[1], said[3]] == ["", ""]


def test_strangers_do_not_use_up_the_cohorts_of_a_client(tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    sites = write_kits(tmp_path)
    true = masks(sites)
    algorithm = make("llf-cm", 4, init=FOUR, max_rounds=40)
    for i in range(5):
        odd = [("west", *true.roster[2][1:])]
        odd += [(f"odd{i}{k}", *true.roster[0][1:]) for k in range(2)]
        strange = PairwiseMasks("run", tuple(odd))
        plan = Plan(algorithm, (GRID, strange))
        cohort = tuple(entry[0] for entry in odd)
        assert asked(sites["west"], plan, Centers(FOUR), cohort=cohort)[0]
    assert "cohort" not in ledger(tmp_path)
    assert asked(sites["west"], Plan(algorithm, (GRID, true)), Centers(FOUR))[0] == ""


@pytest.mark.parametrize(
    "algorithm",
    [
        make("llf-fcm", 3, init=START, fuzzifier=1.0005, max_rounds=1),
        Contingency(3, START, START),
        Evaluation(3, START, ("davies-bouldin",)),
        make("fkm", 3, init=START),
    ],
)
def test_a_guarded_client_answers_any_question_about_grouped_rows(
    tmp_path: Path, algorithm: AnyAlgorithm
) -> None:
    """And none about its rows."""
    site = write_kits(tmp_path, 'privacy = "guarded"')["west"]
    down = algorithm.broadcast(algorithm.start(Schema(2), np.random.default_rng(0)))
    assert "lacks QueryLimit" in asked(site, Plan(algorithm), down, PLAIN)[0]
    limit = QueryLimit(50)
    assert "lacks GroupedRows" in asked(site, Plan(algorithm, (limit,)), down, PLAIN)[0]
    assert asked(site, Plan(algorithm, (limit, GroupedRows(5))), down, PLAIN)[0] == ""


@pytest.mark.parametrize(
    ("plan", "says"),
    [
        (Plan(make("one-shot", 3, local_restarts=10**7)), "local_restarts = 10000000"),
        (Plan(make("ffcm-avg2", 3, init=START, local_steps=10**9)), "local_steps = 1000000000"),
        (Plan(make("k-fed", 3, n_local=2000)), "n_local = 2000"),
        (
            Plan(ClientCounts(1, np.zeros((2000, 2)))),
            "init = 2000, this client allows max_clusters = 1000",
        ),
    ],
)
def test_work_is_bounded_whatever_is_asked(tmp_path: Path, plan: Plan, says: str) -> None:
    assert says in unpack(write_kits(tmp_path)["west"].answer(request(plan))).header["why"]


def test_labels_are_bounded_too(tmp_path: Path) -> None:
    site = write_kits(tmp_path, "max_clusters = 20")["west"]
    words = {"kind": "label", "id": "/1", "about": {"study": "s"}, "algorithm": "llf-cm", **PLAIN}
    many = pack({**words, "ids": list(range(21))}, {"centers": np.ones((21, 2))})
    assert (
        "n_clusters = 21, client.toml allows max_clusters = 20"
        in unpack(site.answer(many)).header["why"]
    )


@pytest.mark.parametrize(
    ("basis", "spread", "why"),
    [
        (np.eye(2) * 1e-170, 1.0, "length zero"),  # would single out rows at the centre
        (np.ones((4, 2)), 1.0, "has shape (4, 2)"),  # cells to the power of four
        (np.eye(2) * np.nan, 1.0, "not finite"),
        (np.eye(2), -1.0, "clipped to lengths from"),
    ],
)
def test_cells_are_those_of_up_to_three_directions(
    tmp_path: Path, basis: FloatArray, spread: float, why: str
) -> None:
    seeding = CellSeeding(3, np.full(2, -10_000.0), np.full(2, 10_000.0))
    down = CellBroadcast(COUNTS, np.zeros(2), basis, np.zeros((3, len(basis))), spread)
    site = write_kits(tmp_path)["west"]
    assert why in asked(site, Plan(seeding), down)[0]


def test_what_sums_may_hold_cannot_be_tried(tmp_path: Path) -> None:
    """Neither by the weight of a record nor by how many are named beside it."""
    site = write_kits(tmp_path)["west"]
    heavy = replace(GRID, max_weight=2.0**40)
    plan = Plan(make("llf-cm", 4, init=FOUR), (heavy,))
    assert "narrower than the public bounds" in asked(site, plan, Centers(FOUR))[0]
    many = tuple(f"n{i}" for i in range(1001))
    plan = Plan(make("llf-cm", 4, init=FOUR), (GRID,))
    assert "limit of 1,000" in asked(site, plan, Centers(FOUR), cohort=many)[0]
