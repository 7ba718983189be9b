"""Whatever a server asks: a client answers what it allows, or refuses in a sentence."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedclust.algorithms import make
from fedclust.algorithms.registry import build_plan
from fedclust.clustering.preparation import Moments
from fedclust.core import Code, FedclustError, Plan, Request
from fedclust.core.codec import (
    decode_request,
    encode_request,
)
from fedclust.core.wire import pack, unpack
from fedclust.metrics import Evaluation

from ..support.damage import mutated, resealed
from ..support.hostile_server import PLAN, SCHEMA, START, preflight, refusal, request, with_arrays
from ..support.in_process import NAMES, PLAIN, write_kits


def test_ten_thousand_damaged_requests_are_answered_all_the_same(tmp_path: Path) -> None:
    """Whatever a server sends: decoded, or a refusal; a client never goes down with it."""
    rng = np.random.default_rng(2)
    down = PLAN.algorithm.broadcast(PLAN.algorithm.start(SCHEMA, rng))
    raw = encode_request(PLAN, Request(0, NAMES, down), id="/1", about={"study": "s"}, data=PLAIN)
    for _ in range(10_000):
        try:
            decode_request(unpack(resealed(mutated(raw, rng))), build_plan)
        except FedclustError:
            continue
    site = write_kits(tmp_path)["west"]
    for _ in range(300):
        answer = unpack(site.answer(resealed(mutated(raw, rng))))
        assert answer.header["kind"] in ("reply", "refusal")


def changed(raw: bytes, **words: Any) -> bytes:
    header, arrays = unpack(raw)
    return pack({**header, **words}, arrays)


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (changed(request(PLAN), algorithm="FuzzyMeans"), "no algorithm 'FuzzyMeans'; did you"),
        (changed(request(PLAN), algorithm="os.system"), "no algorithm 'os.system'"),
        (changed(request(PLAN), settings={"n_clusters": 3, "x": 1}), "unexpected keyword"),
        (changed(request(PLAN), settings={"n_clusters": "3"}), "n_clusters must be"),
        (changed(request(PLAN), settings={}), "n_clusters"),
        (changed(request(PLAN), settings={"n_clusters": 10**400}), "llf-fcm"),
        (changed(request(PLAN), transforms=[["Exec", {}]]), "no transform 'Exec'"),
        (changed(request(PLAN), transforms=[["MinCount", {"count": -1}]]), "count must be"),
        (changed(request(PLAN), transforms="none"), "not a list"),
        (changed(request(PLAN), transforms=[["MinCount"]]), "pairs of a name"),
        (changed(request(PLAN), round="1"), "'round' is not an integer"),
        (changed(request(PLAN), cohort="all"), "'cohort' is not a list"),
        (changed(request(PLAN), kind="shell"), "unknown kind of request 'shell'"),
        (changed(request(PLAN), algorithm=3), "'algorithm' is not text"),
        (changed(request(PLAN), about=None), "'about' is not a table"),
        (changed(request(PLAN), settings=None), "'settings' is not a table"),
        (changed(request(PLAN), data=None), "does not describe the rows"),
        (changed(request(PLAN), data={"columns": []}), "names no columns"),
        (changed(request(PLAN), data={"columns": [3]}), "columns are not readable"),
        (changed(request(PLAN), data={"preparation": {}}), "preparation is not readable"),
        (
            changed(request(PLAN), data={"columns": [{"name": "person", "categories": []}]}),
            "person",
        ),
        (with_arrays(request(PLAN), other=np.ones(1)), "neither to the plan"),
        (with_arrays(request(PLAN), **{"down.centers": np.ones((3, 3))}), "shape"),
        (b"GET / HTTP/1.1" + bytes(40), "not a fedclust message"),
    ],
)
def test_a_client_refuses_what_it_cannot_or_will_not_build(
    raw: bytes, says: str, tmp_path: Path
) -> None:
    assert says in refusal(tmp_path, raw)


@pytest.mark.parametrize(
    ("key", "value"), [("offset", [0.0]), ("scale", [0.0, 1.0]), ("fill", [1.0])]
)
def test_a_client_refuses_a_preparation_that_cannot_be(
    key: str, value: list[float], tmp_path: Path
) -> None:
    bad = {"preparation": {**PLAIN["preparation"], key: value}}
    assert "preparation" in refusal(tmp_path, request(PLAN, bad))


def test_rows_of_columns_are_not_given_away_by_plans_over_split_columns(tmp_path: Path) -> None:
    header, _ = unpack(request(PLAN))
    settings = {"algorithm": "RecordAlignment", "settings": {}, "transforms": []}
    raw = pack({**header, **settings}, {})
    assert "does not run over split rows" in refusal(tmp_path, raw)


CENTERS = Evaluation(3, START)


@pytest.mark.parametrize(
    ("consent", "plan", "says"),
    [
        ('studies = ["other"]', PLAN, "study 's'"),
        ('authors = ["somebody"]', PLAN, "author ''"),
        ('algorithms = ["llf-cm"]', PLAN, "'llf-fcm' under algorithms"),
        (
            'algorithms = ["llf-fmc"]',
            PLAN,
            "its client.toml, or a file that it names, cannot be used",
        ),
        ('columns = ["height"]', PLAN, "the column 'width'"),
        ("max_clusters = 2", PLAN, "max_clusters = 2"),
        ('privacy = "paper"', PLAN, "MinSamples"),
        ("min_count = 5", Plan(make("c2f-fcm", 3, init=START)), "below min_count = 5"),
        ("", Plan(make("c2f-fcm", 3, init=START, min_count=1)), "below min_count = 2"),
    ],
)
def test_what_client_toml_does_not_allow_is_refused(
    consent: str, plan: Plan, says: str, tmp_path: Path
) -> None:
    assert says in refusal(tmp_path, request(plan), consent)


def test_what_client_toml_allows_is_answered(tmp_path: Path) -> None:
    consent = (
        'studies = ["s"]\nauthors = ["ana"]\nalgorithms = ["llf-cm"]\nmax_rounds = 1\n'
        'columns = ["height", "width"]\n'
    )
    site = write_kits(tmp_path, consent)["west"]
    first, second = (unpack(site.answer(request(Plan(CENTERS)), "ana")).header for _ in range(2))
    assert first["kind"] == "reply"
    assert "max_rounds = 1" in second["why"]


def test_messages_about_values_stay_at_the_client(tmp_path: Path) -> None:
    """A refusal may name columns, never what is in them."""
    site = write_kits(tmp_path)["west"]
    file = tmp_path / "west" / "people.csv"
    file.write_text(file.read_text() + "x,secret-word,1\n")
    header = unpack(site.answer(request(PLAN))).header
    assert header["code"] == Code.DATA
    assert header["why"] == "its data do not fit the study; see the client's log"
    wanted = {"name": "height", "categories": ["a"], "log": False, "unit": ""}
    reported = unpack(site.answer(preflight([wanted]))).header["values"]
    assert reported["problems"] == [["height", "undeclared-category", True]]


def test_only_statistics_are_asked_of_rows_with_gaps(tmp_path: Path) -> None:
    """Elsewhere a gap would become a number that is none, or tell that it is there."""
    site = write_kits(tmp_path)["west"]
    gaps = {"columns": PLAIN["preparation"]["columns"]}
    header = unpack(site.answer(request(PLAN, gaps))).header
    assert header["why"] == "llf-fcm needs prepared rows, without missing values"
    assert unpack(site.answer(request(Plan(Moments()), gaps))).header["kind"] == "reply"


def test_numbers_that_are_none_do_not_leave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = write_kits(tmp_path)["west"]
    monkeypatch.setattr("fedclust.core.message.Record.is_finite", lambda self: False)
    header = unpack(site.answer(request(PLAN))).header
    assert header["why"] == "the result has values that are not finite"


def test_an_unexpected_error_is_a_refusal_without_details(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise ZeroDivisionError("row 17 is Mr Smith")

    monkeypatch.setattr("fedclust.client.session.respond", broken)
    header = unpack(write_kits(tmp_path)["west"].answer(request(PLAN))).header
    assert header["code"] == Code.INTERNAL
    assert header["why"] == "an internal error occurred; see the client's log"
    assert "Smith" not in str(header)


def test_labels_need_centres_that_fit(tmp_path: Path) -> None:
    site = write_kits(tmp_path)["west"]
    words = {"kind": "label", "id": "/1", "about": {"study": "s"}, "algorithm": "llf-cm", **PLAIN}
    wide = pack({**words, "ids": [1, 2, 3]}, {"centers": np.ones((3, 5))})
    assert "one value for each column" in unpack(site.answer(wide)).header["why"]
    nameless = pack({**words, "ids": [1, "2", 3]}, {"centers": np.ones((3, 2))})
    assert "an integer id for each centre" in unpack(site.answer(nameless)).header["why"]


def test_without_a_log_nothing_leaves(tmp_path: Path) -> None:
    site = write_kits(tmp_path)["west"]
    (tmp_path / "west" / "disclosures.jsonl").mkdir()
    assert "log cannot be written" in unpack(site.answer(request(PLAN))).header["why"]


def test_a_job_is_signed_for_one_study(tmp_path: Path) -> None:
    assert "signed for the study 's'" in refusal(tmp_path, request(PLAN, study="other"))


def test_a_missing_or_wrong_client_toml_is_a_refusal(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """In one sentence, without the path or what the file says: its own log has both."""
    site = write_kits(tmp_path, "min_cuont = 3")["west"]
    header = unpack(site.answer(request(PLAN))).header
    assert header["code"] == Code.FILES
    assert header["why"] == "its client.toml, or a file that it names, cannot be used"
    assert "did you mean 'min_count'" in caplog.text
    site = write_kits(tmp_path / "other")["west"]
    (tmp_path / "other" / "west" / "people.csv").unlink()
    header = unpack(site.answer(request(PLAN))).header
    assert header["code"] == Code.FILES
    assert header["why"] == "its data files cannot be read"
    assert "there is no file people.csv" in caplog.text
