"""What an owner of columns refuses: what client.toml does not allow, and plans that would leak."""

import contextlib
import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedclust.algorithms import make, make_seeding
from fedclust.algorithms.record_alignment import RecordAlignment
from fedclust.algorithms.vertical_assignment import VerticalAssignment
from fedclust.algorithms.vertical_seeding import DrawnRecords
from fedclust.channels import RemoteChannel
from fedclust.client.column_session import digest_of
from fedclust.client.config import read_client_config
from fedclust.client.requests import ColumnTask
from fedclust.client.vertical import round_outwards
from fedclust.clustering.preparation import Column, Moments
from fedclust.core import ConfigError, MessageError, Plan, Request, Schema, TooFewClients, run
from fedclust.core.errors import describe_reasons
from fedclust.privacy import FixedPoint, MinSamples

from ..support.in_process import PLAIN, InProcess
from ..support.owners_in_process import (
    NONE,
    OWNERS,
    SECRET,
    SECURE,
    reopened,
    run_across,
    write_owners,
    write_study,
)

ALLOWED = "split_columns = true\n"
HIDDEN = f'secret = "{SECRET}"'
HARD = 'algorithm = "lossless"'


@pytest.mark.parametrize(
    ("consent", "data", "words"),
    [
        ("", HIDDEN, "does not allow studies over split columns"),
        ("split_columns = false", HIDDEN, "does not allow studies over split columns"),
        (ALLOWED, "", "needs secret under"),
        (ALLOWED, HIDDEN + "\nbatch_rows = 50", "need all rows in memory"),
        (ALLOWED + 'algorithms = ["llf-fcm", "fkm"]', HIDDEN, "does not list 'vertical-llf-cm'"),
        (ALLOWED + 'studies = ["other"]', HIDDEN, "does not list study 's'"),
        (ALLOWED + 'authors = ["ana"]', HIDDEN, "does not list author"),
        (ALLOWED + "max_rounds = 3", HIDDEN, "allows max_rounds = 3"),
        (ALLOWED + "max_clusters = 2", HIDDEN, "allows max_clusters = 2"),
        (ALLOWED + "max_queries = 4", HIDDEN, "has answered 4 queries, and the query limit is 4"),
        (ALLOWED + 'privacy = "dp"\nepsilon = 1.0', HIDDEN, 'demands privacy = "dp", which'),
        (ALLOWED + 'privacy = "secure"', HIDDEN, "lacks masks, required by client.toml"),
    ],
)
def test_client_toml_decides(consent: str, data: str, words: str, tmp_path: Path) -> None:
    sites = write_owners(tmp_path, consent, data)
    study = write_study(tmp_path, HARD, "", NONE)
    with pytest.raises(TooFewClients, match=words):
        run_across(study, InProcess(sites), tmp_path / "run")


@pytest.mark.parametrize("listed", ["llf-cm", "lossless"])
def test_who_lists_an_algorithm_lists_it_over_split_columns(listed: str, tmp_path: Path) -> None:
    consent = f'{ALLOWED}algorithms = ["{listed}"]' if listed != "lossless" else ALLOWED
    sites = write_owners(tmp_path, consent)
    done = run_across(write_study(tmp_path, HARD, "", NONE), InProcess(sites), tmp_path / "run")
    assert sum(done.model.sizes) == done.model.n_records


def test_an_owner_that_demands_masks_gets_them(tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    sites = write_owners(tmp_path, ALLOWED + 'privacy = "secure"')
    done = run_across(write_study(tmp_path, HARD, "", SECURE), InProcess(sites), tmp_path / "run")
    assert done.model.about.privacy.tier == "secure"


def test_columns_that_are_not_allowed_are_not_used_or_refused_without_a_name(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    allowed = ALLOWED + 'columns = ["income", "spent", "calls"]'
    sites = write_owners(tmp_path, allowed)
    done = run_across(write_study(tmp_path, HARD, "", NONE), InProcess(sites), tmp_path / "run")
    assert done.model.owners == {"bank": 1, "shop": 1, "telecom": 1}
    study = replace(write_study(tmp_path, HARD, "", NONE), features=(Column("debt"), Column("x")))
    with caplog.at_level(logging.ERROR), pytest.raises(TooFewClients) as refused:
        run_across(study, InProcess(sites), tmp_path / "again")
    assert "does not allow a column of the study" in str(refused.value)
    assert "debt" not in str(refused.value)
    assert "debt" in caplog.text  # its own log


def test_a_secret_is_long_enough_and_never_repeated(tmp_path: Path) -> None:
    write_owners(tmp_path, data='secret = "too short"')
    file = tmp_path / "bank" / "client.toml"
    with pytest.raises(ConfigError, match=r"client.toml:4: secret must be .* at least 16") as bad:
        read_client_config(file)
    assert "too short" not in str(bad.value)
    file.write_text(file.read_text().replace('"too short"', "12345678901234567"))
    with pytest.raises(ConfigError, match="secret must be a string$"):
        read_client_config(file)


def plan_of(key: str) -> Any:
    return {
        "alignment": RecordAlignment(),
        "assignment": VerticalAssignment(3),
        "moments": Moments(),
        "rows": make("llf-cm", 3, init=np.zeros((3, 2))),
        "distances": make("vertical-llf-cm", 3, init=np.arange(3)),
        "seeding": make_seeding("vertical-k-means++", 3),
    }[key]


@pytest.mark.parametrize(
    ("key", "form"),
    [
        ("alignment", "aligned"),  # would send the rows as if they were tokens
        ("assignment", "aligned"),  # would send the rows as if they were distances
        ("moments", "aligned"),
        ("rows", "aligned"),
        ("distances", "offered"),
        ("seeding", "offered"),
        ("moments", "offered"),
        ("alignment", "plain"),
        ("distances", "plain"),
        ("assignment", "plain"),
    ],
)
def test_plans_see_only_the_form_they_are_for(key: str, form: str, tmp_path: Path) -> None:
    sites = write_owners(tmp_path)
    wanted = ColumnTask(None, "none", "drop").as_config()
    remote = RemoteChannel(InProcess(sites), about={"study": "s"})
    offered = remote.over({"task": wanted}, Schema(2))
    shared = run(Plan(RecordAlignment()), offered, Schema(2)).model
    reported = remote.send("align", {"task": wanted}, {"shared": shared})
    assert sorted(reported) == sorted(sites)
    forms: dict[str, Any] = {
        "aligned": {"task": wanted, "records": digest_of(shared)},
        "offered": {"task": wanted},
        "plain": PLAIN,
    }
    schema = Schema(2, n_records=len(shared))
    with pytest.raises(TooFewClients):
        run(Plan(plan_of(key)), remote.over(forms[form], schema), schema)
    assert "refused" in describe_reasons(remote.reasons())


def aligned_remote(tmp_path: Path, consent: str = ALLOWED, **wanted: Any) -> tuple[Any, Any, Any]:
    """A channel to aligned rows, as any sender of requests gets it; the form, and the way."""
    sites = write_owners(tmp_path, consent)
    form = ColumnTask(
        **{"columns": None, "scaling": "none", "missing": "drop", **wanted}
    ).as_config()
    remote = RemoteChannel(InProcess(sites), about={"study": "s"})
    shared = run(Plan(RecordAlignment()), remote.over({"task": form}, Schema(2)), Schema(2)).model
    remote.send("align", {"task": form}, {"shared": shared})
    schema = Schema(5, n_records=len(shared))
    return remote.over({"task": form, "records": digest_of(shared)}, schema), schema, remote


COLUMNS = tuple(
    Column(name, low=-40.0, high=40.0) for name in ("income", "debt", "spent", "visits", "calls")
)


@pytest.mark.parametrize(
    ("transform", "scaling", "words"),
    [
        (FixedPoint((0.0,) * 5, (1.0,) * 5), "none", "scaled to 0..1"),
        (FixedPoint((0.0,) * 5, (0.5,) * 5), "min-max", "scaled to 0..1"),
        (FixedPoint((0.0,), (1.0,)), "min-max", "scaled to 0..1"),
        (MinSamples(3), "min-max", "MinSamples has no meaning over split columns"),
        (FixedPoint((0.0,) * 5, (1.0,) * 5), "min-max", ""),
    ],
)
def test_grids_that_distances_may_not_fit_are_refused(
    transform: Any, scaling: str, words: str, tmp_path: Path
) -> None:
    """A sum that overflows is refused, so that no grid asks for single values."""
    channel, schema, remote = aligned_remote(tmp_path, columns=COLUMNS, scaling=scaling)
    plan = Plan(plan_of("distances"), (transform,))
    if words:
        with pytest.raises(TooFewClients):
            run(plan, channel, schema)
        assert words in describe_reasons(remote.reasons())
    else:
        assert run(plan, channel, schema).n_rounds > 0


def test_rows_made_for_one_scale_are_not_used_as_if_of_another(tmp_path: Path) -> None:
    channel, schema, remote = aligned_remote(tmp_path)  # as they are
    data = {**channel.data, "task": ColumnTask(COLUMNS, "min-max", "drop").as_config()}
    grid = FixedPoint((0.0,) * 5, (1.0,) * 5)
    with pytest.raises(TooFewClients):
        run(Plan(plan_of("distances"), (grid,)), remote.over(data, schema), schema)
    assert "no aligned records in this process" in describe_reasons(remote.reasons())


def test_rows_outside_their_bounds_are_not_aligned_either(tmp_path: Path) -> None:
    tight = (Column("income", low=0.0, high=0.1), *COLUMNS[1:])
    channel, _, remote = aligned_remote(tmp_path, columns=tight, scaling="min-max")
    assert "bank: refused: its data do not fit" in describe_reasons(remote.reasons())
    assert channel.schema.records() > 0


def test_a_start_asks_for_few_records_at_once(tmp_path: Path) -> None:
    """Distances of all records to all others would be more than a machine can hold."""
    channel, schema, remote = aligned_remote(tmp_path, ALLOWED + "max_clusters = 20")
    seeding: Any = make_seeding("vertical-k-means++", 3)
    for n, answers in ((20, 3), (21, 0)):
        request = Request(0, tuple(OWNERS), DrawnRecords(np.arange(n)))
        assert len(list(Quiet(channel).ask(Plan(seeding), request))) == answers
    assert "distances to 21 records" in describe_reasons(remote.reasons())
    assert schema.records() > 21


class Quiet:
    """A channel that gives what came, however little that is."""

    def __init__(self, channel: Any) -> None:
        self._channel = channel

    def ask(self, plan: Plan, request: Request) -> Iterator[Any]:
        with contextlib.suppress(TooFewClients):
            yield from self._channel.ask(plan, request)


@pytest.mark.parametrize("weight", [-1.0, 2.0, np.nan])
@pytest.mark.parametrize("key", ["vertical-llf-cm", "vertical-llf-fcm"])
def test_weights_that_move_centres_out_of_the_records_are_refused(key: str, weight: float) -> None:
    chosen: Any = make(key, 3, init=np.arange(3))
    state = chosen.start(Schema(2, n_records=6), np.random.default_rng(0))
    last = chosen.broadcast(state)
    odd = replace(last, kept=np.full((6, 1), weight), which=np.array([1]))
    with pytest.raises(MessageError, match="weights from 0 to 1"):
        chosen.local_centers(odd, np.zeros((6, 2)))
    if key == "vertical-llf-fcm":
        with pytest.raises(MessageError, match="weights from 0 to 1"):
            chosen.local_centers(replace(last, weights=np.full((6, 3), weight)), np.zeros((6, 2)))


def test_bounds_cannot_be_tried_out_one_after_the_other(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    remote = RemoteChannel(InProcess(write_owners(tmp_path)), about={"study": "s"})
    for high in (40.0, 41.0, 42.0, 43.0):
        columns = (Column("income", low=-40.0, high=high), Column("spent"), Column("calls"))
        reported = remote.send("offer", {"task": ColumnTask(columns, "none", "drop").as_config()})
    assert sorted(reported) == ["shop", "telecom"]
    assert "described with 3 different bounds or categories" in describe_reasons(remote.reasons())
    assert "income" not in describe_reasons(remote.reasons())
    assert "income" in caplog.text


def test_an_offer_is_a_question(tmp_path: Path) -> None:
    sites = write_owners(tmp_path, ALLOWED + "max_queries = 1")
    remote = RemoteChannel(InProcess(sites), about={"study": "s"})
    for missing, n in (("drop", 3), ("drop", 3), ("mean", 0)):
        reported = remote.send("offer", {"task": ColumnTask(None, "none", missing).as_config()})
        assert len(reported) == n
    assert "the query limit is 1" in describe_reasons(remote.reasons())


def offered(folder: Path, bounds: str, columns: Any) -> tuple[Any, str]:
    """What the bank answers to an offer, if its client.toml has these bounds; and its refusal."""
    write_owners(folder)
    file = folder / "bank" / "client.toml"
    file.write_text(file.read_text() + "[bounds]\n" + bounds)
    remote = RemoteChannel(InProcess(reopened(folder)), about={"study": "s"})
    reported = remote.send("offer", {"task": ColumnTask(columns, "min-max", "drop").as_config()})
    return reported.get("bank"), describe_reasons(remote.reasons())


INCOME = Column("income", low=-40.0, high=40.0)


@pytest.mark.parametrize(
    ("bounds", "columns", "problems"),
    [
        ("income = [-40, 40]", (INCOME,), []),
        ("income = [-50, 50]", (replace(INCOME, low=0.0, high=0.1),), []),
        ("income = [0.0, 0.1]", (INCOME,), [["", "out-of-bounds", True]]),
        ("income = [0.0, 0.1]", None, [["", "out-of-bounds", True]]),
    ],
)
def test_the_bounds_of_the_owner_are_those_that_count(
    bounds: str, columns: Any, problems: Any, tmp_path: Path
) -> None:
    reported, _ = offered(tmp_path, bounds, columns)
    assert reported["problems"] == problems


@pytest.mark.parametrize(
    "column", [Column("income", categories=("a", "b")), Column("income", log=True)]
)
def test_bounds_that_do_not_fit_a_column_are_refused_without_a_name(
    column: Column, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    reported, why = offered(tmp_path, "income = [-40, 40]", (column,))
    assert reported is None
    assert "[bounds] in client.toml does not fit a column of the study" in why
    assert "income" not in why
    assert "income" in caplog.text


@pytest.mark.parametrize("value", ["[1]", "[2, 1]", "[1, 1]", "3", '["a", "b"]', "[0, inf]"])
def test_bounds_are_two_numbers(value: str, tmp_path: Path) -> None:
    write_owners(tmp_path)
    file = tmp_path / "bank" / "client.toml"
    file.write_text(file.read_text() + f"[bounds]\nage = {value}\n")
    with pytest.raises(ConfigError, match=r"client.toml:\d+: age must be two numbers"):
        read_client_config(file)


@given(low=st.floats(-1e12, 1e12), width=st.floats(1e-3, 1e12))
def test_a_range_is_rounded_outwards_by_a_fifth_at_most(low: float, width: float) -> None:
    high = low + width
    assert high - low <= round_outwards(low, high) <= 1.2 * (high - low) + 1e-3
    assert round_outwards(3.2, 58.4) == pytest.approx(56.0)
