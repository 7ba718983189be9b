"""The client session: the same answers to objects as to bytes, and refusals with the right code."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedclust.algorithms import make
from fedclust.algorithms.bounded_c_means import BoundedCMeans
from fedclust.algorithms.record_alignment import RecordAlignment
from fedclust.channels import RemoteChannel
from fedclust.client.admission import ConsentAdmission
from fedclust.client.codec import (
    decode,
    decode_alignment,
    decode_caller,
    decode_offer,
    decode_preflight_report,
)
from fedclust.client.column_session import digest_of
from fedclust.client.config import read_client_config
from fedclust.client.endpoint import ClientEndpoint
from fedclust.client.requests import (
    Alignment,
    AlignRecords,
    AnyRequest,
    Caller,
    EncodedRows,
    OfferRecords,
    Preflight,
    PreflightReport,
    PreparedRows,
    RecordsOffer,
    RecordTokens,
    RunRound,
    SharedRecords,
)
from fedclust.client.session import ClientSession
from fedclust.clustering.preparation import Column, Moments
from fedclust.core import (
    Code,
    DataError,
    Message,
    Plan,
    Reason,
    Refusal,
    Request,
    Schema,
    TooFewClients,
    run,
)
from fedclust.core.wire import pack, unpack
from fedclust.privacy import ClientPolicy, IntegerGaussian

from . import bad_files
from .kit import AUTHOR, CLIENT, FILE, RUN, SECRET, STUDY, Wire, endpoint, settings_text, write_kit
from .questions import (
    COHORT,
    COLUMNS,
    SHARED,
    TASKS,
    column_requests,
    finish,
    first_round,
    preparation_of,
    row_requests,
    started,
    to_bytes,
    vertical,
)

CALLER = Caller(STUDY, AUTHOR, RUN)
CENTERS = np.array([[30.5, 30.5], [60.5, 60.5]])
PLAIN = COLUMNS["plain"]
FUZZY = first_round(make("llf-fcm", 2, init=CENTERS), PreparedRows(preparation_of(PLAIN)))
RECORDS = SharedRecords(TASKS["own"], digest_of(SHARED))
OVER_RECORDS = first_round(vertical(), RECORDS, schema=Schema(2, n_records=30))


def session_in(kit: Path) -> ClientSession:
    """A session as a study in one process has it: no consent is needed, no ledger is kept."""
    config = read_client_config(kit / "client.toml")
    return ClientSession(
        CLIENT,
        lambda in_memory: config.open_files(CLIENT, in_memory=in_memory),
        ClientPolicy(),
        labels_path=lambda caller: kit / "labels.csv",
        secret=SECRET.encode,
    )


def answered(site: ClientEndpoint, request: AnyRequest) -> Any:
    """What the endpoint's bytes say, as the server reads them."""
    frame = unpack(site.answer(to_bytes(request), AUTHOR))
    assert frame.header["kind"] == "reply", frame.header
    match request:
        case RunRound():
            return request.plan.algorithm.up.from_arrays(frame.arrays)
        case Preflight():
            return decode_preflight_report(CLIENT, frame.header["values"])
        case OfferRecords():
            return decode_offer(CLIENT, frame.header["values"])
        case AlignRecords():
            return decode_alignment(frame.header["values"])
    return None


def assert_same(here: Any, there: Any) -> None:
    match here:
        case Message():
            assert type(here) is type(there)
            assert here.arrays().keys() == there.arrays().keys()
            for name, array in here.arrays().items():
                np.testing.assert_array_equal(np.asarray(array), there.arrays()[name])
        case PreflightReport():
            assert (here.counts, here.numbers) == (there.counts, there.numbers)
            given = {column.name for columns in COLUMNS.values() for column in columns}
            public = [
                (p.code, p.column if p.column in given else "", p.blocking) for p in here.problems
            ]
            assert public == [(p.code, p.column, p.blocking) for p in there.problems]
        case RecordsOffer():
            assert (here.records, here.width) == (there.records, there.width)
            assert [p.code for p in here.problems] == [p.code for p in there.problems]
        case Alignment():
            assert (here.records, here.fingerprint) == (there.records, there.fingerprint)


def test_rows_are_answered_alike_as_objects_and_as_bytes(tmp_path: Path) -> None:
    site, session = endpoint(write_kit(tmp_path)), session_in(write_kit(tmp_path / "here"))
    asked = [
        (name, request)
        for name, request in row_requests()
        if "key-exchange" not in name and "llf-fcm over encoded" not in name
    ]
    for _, request in asked:
        assert_same(session.handle(request, CALLER), answered(site, request))
    assert len(asked) > 30


def test_columns_are_answered_alike_as_objects_and_as_bytes(tmp_path: Path) -> None:
    site, session = endpoint(write_kit(tmp_path)), session_in(write_kit(tmp_path / "here"))
    keys, wrong = "key-exchange", ("round before", "rows over", "tokens over")
    asked = [r for name, r in column_requests() if keys not in name and not name.startswith(wrong)]
    for request in asked:
        assert_same(session.handle(request, CALLER), answered(site, request))
    assert len(asked) > 30


@pytest.mark.parametrize(
    "damage", ["undeclared category", "column missing", "constant", "id missing"]
)
def test_problems_are_reported_alike(damage: str, tmp_path: Path) -> None:
    kit = write_kit(tmp_path)
    bad_files.BAD_FILES[damage](kit)
    site, session = endpoint(kit), session_in(kit)
    for columns in COLUMNS.values():
        request = Preflight(columns, "llf-fcm", counts=True)
        assert_same(session.handle(request, CALLER), answered(site, request))
    offer = OfferRecords(TASKS["words"])
    assert_same(session.handle(offer, CALLER), answered(site, offer))


def test_results_are_written_alike(tmp_path: Path) -> None:
    here, there = write_kit(tmp_path / "here"), write_kit(tmp_path / "there")
    site, session = endpoint(there), session_in(here)
    for request in (AlignRecords(TASKS["own"], SHARED), finish(RECORDS)):
        session.handle(request, CALLER)
        answered(site, request)
    labels = there / "labels" / f"{STUDY}-{RUN}.csv"
    assert (here / "labels.csv").read_text() == labels.read_text()
    centers = labels.with_name(f"{STUDY}-{RUN}.centers.json")
    assert (here / "labels.centers.json").read_text() == centers.read_text()


def test_every_request_is_decoded_to_itself() -> None:
    for name, request in (*row_requests(), *column_requests()):
        frame = unpack(to_bytes(request))
        assert to_bytes(decode(frame)) == to_bytes(request), name
        assert decode_caller(frame, AUTHOR) == CALLER


def refusal_of(site: ClientEndpoint, raw: bytes) -> Code:
    header = unpack(site.answer(raw, AUTHOR)).header
    assert header["kind"] == "refusal", header
    return Code(header["code"])


@pytest.mark.parametrize(
    "change",
    [
        lambda header: {**header, "kind": "shell"},
        lambda header: {**header, "kind": 3},
        lambda header: {key: value for key, value in header.items() if key != "kind"},
        lambda header: {**header, "id": "x" * 1_000},
        lambda header: {**header, "about": "a study"},
        lambda header: {**header, "data": {"rows": "all"}},
        lambda header: {**header, "data": {"columns": []}},
        lambda header: {**header, "algorithm": "os.system"},
        lambda header: {**header, "settings": {"n_clusters": "many"}},
        lambda header: {**header, "kind": "preflight"},
        lambda header: {**header, "kind": "align", "task": TASKS["own"].as_config()},
        lambda header: {**header, "kind": "offer", "task": {"columns": None}},
        lambda header: {**header, "kind": "finish"},
    ],
)
def test_malformed_requests_are_refused_as_such(
    change: Callable[[dict[str, Any]], dict[str, Any]], tmp_path: Path
) -> None:
    header, arrays = unpack(to_bytes(FUZZY))
    assert refusal_of(endpoint(write_kit(tmp_path)), pack(change(header), arrays)) == Code.REQUEST


@pytest.mark.parametrize("raw", [b"", b"GET / HTTP/1.1", to_bytes(FUZZY)[:-1], bytes(100)])
def test_what_is_no_frame_is_refused_as_a_request(raw: bytes, tmp_path: Path) -> None:
    assert refusal_of(endpoint(write_kit(tmp_path)), raw) == Code.REQUEST


@pytest.mark.parametrize(
    ("consent", "request_"),
    [
        ('studies = ["another"]', Preflight(None, "llf-fcm")),
        ('authors = ["bo@example.org"]', OfferRecords(TASKS["own"])),
        ('algorithms = ["k-fed"]', Preflight(PLAIN, "llf-fcm")),
        ('algorithms = ["k-fed"]', FUZZY),
        ('columns = ["weight_kg"]', FUZZY),
        ('columns = ["weight_kg"]', OfferRecords(TASKS["named"])),
        ('privacy = "secure"', FUZZY),
        ("max_clusters = 1", FUZZY),
        ("split_columns = false", OfferRecords(TASKS["own"])),
    ],
)
def test_what_client_toml_forbids_is_a_matter_of_consent(
    consent: str, request_: AnyRequest, tmp_path: Path
) -> None:
    allowed = "" if "split_columns" in consent else "split_columns = true\n"
    site = endpoint(write_kit(tmp_path, settings_text(allowed + consent)))
    assert refusal_of(site, to_bytes(request_)) == Code.CONSENT


def test_rounds_beyond_the_allowed_are_a_matter_of_consent(tmp_path: Path) -> None:
    site = endpoint(write_kit(tmp_path, settings_text("max_rounds = 1")))
    answered(site, FUZZY)
    assert refusal_of(site, to_bytes(FUZZY)) == Code.CONSENT
    assert site.answered == 1


def test_the_query_limit_is_a_limit(tmp_path: Path) -> None:
    site = endpoint(write_kit(tmp_path, settings_text("max_queries = 1")))
    moments = first_round(Moments(), EncodedRows(PLAIN))
    for _ in range(2):  # the same query again is free
        answered(site, moments)
    assert refusal_of(site, to_bytes(FUZZY)) == Code.LIMIT


def test_descriptions_of_a_column_are_limited(tmp_path: Path) -> None:
    site = endpoint(write_kit(tmp_path, settings_text("max_descriptions = 1")))
    answered(site, Preflight(COLUMNS["bounded"], "llf-fcm"))
    other = Preflight((Column("height_cm", low=1.0, high=2.0),), "llf-fcm")
    assert refusal_of(site, to_bytes(other)) == Code.LIMIT


def test_the_privacy_budget_is_a_limit(tmp_path: Path) -> None:
    pytest.importorskip("opendp")
    site = endpoint(write_kit(tmp_path, settings_text('privacy = "dp"\nepsilon = 0.5')))
    columns = tuple(replace(column, low=0.0, high=200.0) for column in PLAIN)
    form = PreparedRows(preparation_of(columns))
    bounded = BoundedCMeans(2, *form.schema.box())
    down = started(bounded, form.schema)
    codes = []
    for mu in (0.01, 100.0):
        plan = Plan(bounded, (IntegerGaussian(mu),))
        raw = to_bytes(RunRound(plan, Request(0, COHORT, down), form))
        codes.append(unpack(site.answer(raw, AUTHOR)).header.get("code"))
    assert codes == [None, Code.LIMIT]


def test_records_that_are_not_aligned_are_a_matter_of_state(tmp_path: Path) -> None:
    kit = write_kit(tmp_path)
    site, align = endpoint(kit), AlignRecords(TASKS["own"], SHARED)
    assert refusal_of(site, to_bytes(OVER_RECORDS)) == Code.STATE
    assert refusal_of(site, to_bytes(finish(RECORDS))) == Code.STATE
    answered(site, align)
    answered(site, OVER_RECORDS)
    other = first_round(
        vertical(), SharedRecords(TASKS["own"], "0" * 64), schema=Schema(2, n_records=30)
    )
    assert refusal_of(site, to_bytes(other)) == Code.STATE
    assert refusal_of(endpoint(kit), to_bytes(OVER_RECORDS)) == Code.STATE  # another process


@pytest.mark.parametrize(
    "request_",
    [
        FUZZY,
        first_round(Moments(), EncodedRows(PLAIN)),
        AlignRecords(TASKS["own"], SHARED),
        first_round(RecordAlignment(), RecordTokens(TASKS["own"]), schema=Schema(2, n_records=30)),
    ],
)
def test_files_that_cannot_be_read_are_refused_as_such(
    request_: AnyRequest, tmp_path: Path
) -> None:
    kit = write_kit(tmp_path)
    (kit / FILE).unlink()
    assert refusal_of(endpoint(kit), to_bytes(request_)) == Code.FILES
    (kit / "client.toml").unlink()
    assert refusal_of(endpoint(kit), to_bytes(request_)) == Code.FILES


def test_a_preflight_reports_unreadable_files_as_a_problem(tmp_path: Path) -> None:
    kit = write_kit(tmp_path)
    (kit / FILE).unlink()
    for request in (
        Preflight(None, "llf-fcm"),
        Preflight(PLAIN, "llf-fcm"),
        OfferRecords(TASKS["own"]),
    ):
        report = answered(endpoint(kit), request)
        assert [(p.code, p.column, p.detail) for p in report.problems] == [("unreadable", "", "")]


@pytest.mark.parametrize("damage", ["words", "column missing", "infinite", "no rows", "id missing"])
def test_data_that_do_not_fit_are_refused_as_such(damage: str, tmp_path: Path) -> None:
    kit = write_kit(tmp_path)
    bad_files.BAD_FILES[damage](kit)
    assert refusal_of(endpoint(kit), to_bytes(FUZZY)) == Code.DATA


def test_a_session_raises_what_the_endpoint_refuses(tmp_path: Path) -> None:
    """In one process an error shows everything; the code is the same."""
    kit = write_kit(tmp_path)
    session = session_in(kit)
    with pytest.raises(Refusal, match="no aligned records") as raised:
        session.handle(OVER_RECORDS, CALLER)
    assert raised.value.code == Code.STATE
    (kit / FILE).unlink()
    with pytest.raises(Refusal) as raised:
        session_in(kit).handle(FUZZY, CALLER)
    assert raised.value.code == Code.FILES
    assert FILE in raised.value.private
    assert FILE not in raised.value.public


@pytest.mark.parametrize("code", Code)
def test_only_what_somebody_at_the_client_must_change_is_final(code: Code) -> None:
    reasons = {"east": Reason(Code.SILENT, "no answer"), "west": Reason(code, "why")}
    error = TooFewClients("round 1", reasons)
    passing = (Code.STATE, Code.BEHIND, Code.REQUEST, Code.INTERNAL, Code.SILENT, Code.REPLY)
    assert error.final == (code not in passing)
    one = TooFewClients("round 1", reasons, missing=1)
    assert not one.final, "east may come back, and no more is needed"
    assert "west: why" in str(error)


@pytest.mark.parametrize(
    ("consent", "damage", "code"),
    [
        ("max_clusters = 1", "good", Code.CONSENT),
        ("max_queries = 1", "good", Code.LIMIT),
        ("", "words", Code.DATA),
        ("", "missing", Code.FILES),
    ],
)
def test_a_server_knows_that_another_attempt_cannot_help(
    consent: str, damage: str, code: Code, tmp_path: Path
) -> None:
    kit = write_kit(tmp_path, settings_text(consent))
    bad_files.BAD_FILES[damage](kit)
    remote = RemoteChannel(Wire(endpoint(kit)), run=RUN, about={"study": STUDY})
    channel = remote.over(FUZZY.rows.as_config(), Schema(2))
    with pytest.raises(TooFewClients) as raised:
        run(Plan(make("llf-fcm", 2, init=CENTERS, tol=0.0)), channel, Schema(2))
    assert {client: reason.code for client, reason in raised.value.reasons.items()} == {
        CLIENT: code
    }
    assert raised.value.final


def test_a_query_beyond_the_limit_does_not_open_the_files(tmp_path: Path) -> None:
    """What is refused is refused before any data are read."""
    (tmp_path / "client.toml").write_text(
        '[data]\nfile = "people.csv"\n[consent]\nmax_queries = 1\n'
    )
    config = read_client_config(tmp_path / "client.toml")
    policy, opened = config.policy(), []

    def open_files(in_memory: bool) -> Any:
        opened.append(in_memory)
        raise DataError("there is no file people.csv")

    session = ClientSession("north", open_files, policy, ConsentAdmission(config, policy))
    caller = Caller("study")
    report: Any = session.handle(Preflight((Column("age"),), "llf-cm"), caller)
    assert [problem.code for problem in report.problems] == ["unreadable"]
    assert opened == [False]
    with pytest.raises(Refusal) as refusal:
        session.handle(Preflight((Column("height"),), "llf-cm"), caller)
    assert refusal.value.code is Code.LIMIT
    assert opened == [False]
