"""What a server and owners of columns say to each other: readable, without names, or refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedclust.algorithms.record_alignment import RecordAlignment
from fedclust.channels import RemoteChannel
from fedclust.client.codec import decode_offer
from fedclust.client.requests import ColumnTask
from fedclust.client.vertical import AlignedRows, ClientColumns
from fedclust.clustering.preparation import Column, Preparation
from fedclust.core import Code, MessageError, Plan, Schema, TooFewClients, run
from fedclust.core.errors import describe_reasons

from ..support.in_process import InProcess
from ..support.owners_in_process import NONE, reopened, run_across, write_owners, write_study


def test_problems_are_told_without_names_and_values(tmp_path: Path) -> None:
    sites = write_owners(tmp_path)
    columns = (Column("income", low=0.0, high=1.0), Column("spent"), Column("calls"))
    remote = RemoteChannel(InProcess(sites), about={"study": "s"})
    reported = remote.send("offer", {"task": ColumnTask(columns, "none", "drop").as_config()})
    problem = ["", "out-of-bounds", True]
    assert reported["bank"] == {"records": 110, "columns": 1, "problems": [problem]}
    (tmp_path / "bank" / "people.csv").write_text("customer,income\n1,2\n1,3\n")
    again = RemoteChannel(InProcess(reopened(tmp_path)), about={"study": "s"})
    reported = again.send("offer", {"task": ColumnTask(None, "none", "drop").as_config()})
    assert reported["bank"]["problems"] == [
        ["", "few-rows", False],
        ["", "id-unusable", True],
    ]


@pytest.mark.parametrize(
    ("shared", "words"),
    [
        (None, "has no shared records"),
        (np.zeros((2, 3), np.uint64), "pairs of integers"),
        (np.zeros((2, 2)), "pairs of integers"),
        (np.zeros((2, 2), np.uint64), "listed twice"),
        (np.arange(4, dtype=np.uint64).reshape(2, 2), "did not offer"),
    ],
)
def test_shared_records_must_be_records(shared: Any, words: str, tmp_path: Path) -> None:
    remote = RemoteChannel(InProcess(write_owners(tmp_path)), about={"study": "s"})
    arrays = {} if shared is None else {"shared": shared}
    wanted = ColumnTask(None, "none", "drop").as_config()
    assert remote.send("align", {"task": wanted}, arrays) == {}
    assert words in describe_reasons(remote.reasons())


def aligning(tmp_path: Path, consent: str = "split_columns = true") -> tuple[Any, Any]:
    """Tokens of everybody, and a way to have the bank align some of them."""
    remote = RemoteChannel(InProcess(write_owners(tmp_path, consent)), about={"study": "s"})
    wanted = ColumnTask(None, "standard", "drop").as_config()
    tokens = run(Plan(RecordAlignment()), remote.over({"task": wanted}, Schema(2)), Schema(2)).model

    def align(records: Any) -> Any:
        reported = remote.send("align", {"task": wanted}, {"shared": tokens[records]})
        return reported.get("bank", describe_reasons(remote.reasons()))

    return len(tokens), align


def test_few_records_are_not_aligned_and_alignments_are_questions(tmp_path: Path) -> None:
    """Distances between a handful of records are their values; every choice of them is a look."""
    n, align = aligning(tmp_path, "split_columns = true\nmax_queries = 3")
    assert "2 shared records are too few to hide a single one" in align([0, 1])
    assert align(range(n))["records"] == n
    assert align(range(n))["records"] == n  # the same again
    assert "answered 3 queries, and the query limit is 3" in align(range(n - 1))


def test_fingerprints_do_not_tell_that_other_records_are_alike(tmp_path: Path) -> None:
    """On their own scale two records are always the same two numbers: hashes must still differ."""
    n, align = aligning(tmp_path)
    half = n // 2
    first, second = (align(range(half))["fingerprint"], align(range(n - half, n))["fingerprint"])
    assert first == align(range(half))["fingerprint"]
    assert first != second
    owner = ClientColumns.__new__(ClientColumns)
    owner._secret = b"only the three of us"
    ready = Preparation((Column("x"),), np.zeros(1), np.ones(1), None)
    X = np.array([[-1.0], [1.0]])
    alike = {owner.fingerprint(AlignedRows(np.array(rows), X, ready)) for rows in ((0, 1), (2, 3))}
    assert len(alike) == 2


@pytest.mark.parametrize(
    "wanted",
    [
        None,
        [],
        {"columns": None, "scaling": "none"},
        {"columns": None, "scaling": "odd", "missing": "drop"},
        {"columns": None, "scaling": "none", "missing": "median-of-means"},
        {"columns": [{"name": 3, "categories": []}], "scaling": "none", "missing": "drop"},
        {"columns": [{"odd": 3}], "scaling": "none", "missing": "drop"},
    ],
)
def test_what_is_wanted_must_be_readable(wanted: Any, tmp_path: Path) -> None:
    remote = RemoteChannel(InProcess(write_owners(tmp_path)), about={"study": "s"})
    assert remote.send("offer", {"task": wanted}) == {}
    assert {reason.code for reason in remote.reasons().values()} == {Code.REQUEST}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda w, a: (
                {**w, "algorithm": "RecordSeeding", "settings": {"n_clusters": 3}},
                {"down.drawn": np.arange(3)},
            ),
            "records cannot finish a study",
        ),
        (lambda w, a: ({**w, "data": None}, a), "does not describe the rows"),
        (lambda w, a: (w, {**a, "down.labels": a["down.labels"][:-1]}), "has shape"),
        (lambda w, a: (w, {**a, "down.labels": a["down.labels"] - 1}), "integers from 0 to 2"),
        (lambda w, a: (w, {**a, "down.kept": a["down.kept"] + np.inf, **_empty(a)}), "finite"),
        (
            lambda w, a: ({**w, "data": {**w["data"], "records": "other"}}, a),
            "no aligned records in this process",
        ),
    ],
)
def test_an_ending_must_be_one(
    change: Any, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = RemoteChannel.send

    def send(self: RemoteChannel, kind: str, header: Any, arrays: Any = None) -> Any:
        sent = change(header, arrays) if kind == "finish" else (header, arrays)
        return real(self, kind, *sent)

    monkeypatch.setattr(RemoteChannel, "send", send)
    sites = write_owners(tmp_path)
    with pytest.raises(TooFewClients, match="did not confirm that it wrote its labels") as refused:
        run_across(write_study(tmp_path, more=NONE), InProcess(sites), tmp_path / "run")
    assert words in str(refused.value)
    assert not (tmp_path / "bank" / "labels").exists()


def _empty(arrays: Any) -> dict[str, Any]:
    n = len(arrays["down.labels"])
    return {"down.kept": np.full((n, 1), np.inf), "down.which": np.array([0])}


def test_answers_of_owners_that_are_none_are_left_out(tmp_path: Path) -> None:
    good = {"records": 4, "columns": 2, "problems": [["", "odd", False]]}
    assert decode_offer("a", good) is not None
    for bad in (
        None,
        {},
        {**good, "records": -1},
        {**good, "columns": "2"},
        {**good, "problems": 3},
    ):
        assert decode_offer("a", bad) is None


def test_messages_of_owners_say_nothing_only_where_there_is_nothing() -> None:
    from fedclust.algorithms.records import PartialDistances

    assert PartialDistances(np.empty((0, 3))).is_empty()
    assert not PartialDistances(np.zeros((2, 3))).is_empty()
    with pytest.raises(MessageError):
        PartialDistances(np.zeros((2, 3))).check({"N": 3, "C": 3})
