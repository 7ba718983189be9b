"""No reply and no refusal holds a path, a value, an id, a secret, or a name that was not given."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from fedclust.channels import RemoteChannel
from fedclust.client import codec
from fedclust.client.endpoint import ClientEndpoint
from fedclust.client.requests import AnyRequest, Preflight, RunRound
from fedclust.core import FedclustError, Refusal, Schema
from fedclust.core.wire import pack, unpack

from . import bad_files, bad_settings
from .finder import Finder
from .kit import (
    AUTHOR,
    FILE,
    ID,
    IDENTITY,
    NUMBERS,
    RUN,
    SECRET,
    STUDY,
    WORDS,
    Wire,
    endpoint,
    write_kit,
)
from .questions import column_requests, given_names, malformed, probes, row_requests, to_bytes

PRIVATE_WORDS = (*bad_files.WORDS, *bad_settings.WORDS)
ROWS, COLUMNS = tuple(row_requests()), tuple(column_requests())


@pytest.fixture(autouse=True)
def _quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of lines in logs need not survive a power cut."""
    monkeypatch.setattr("os.fsync", lambda file: None)


def send(channel: RemoteChannel, request: AnyRequest) -> None:
    if isinstance(request, RunRound):
        rows = channel.over(request.rows.as_config(), Schema(2, n_records=30))
        list(rows.ask(request.plan, request.request))
    else:
        channel.send(*codec.encode(request))


def finder_for(kit: Path) -> Finder:
    return Finder(kit.parent, PRIVATE_WORDS, bad_files.VALUES)


def leaks_of(
    kit: Path,
    site: ClientEndpoint,
    requests: Sequence[tuple[str, AnyRequest]] = ROWS + COLUMNS,
    numeric: Sequence[str] = NUMBERS,
) -> list[str]:
    """What leaks in the client's replies, and in what the server records of them."""
    finder, wire, found = finder_for(kit), Wire(site), []
    for name, request in requests:
        recorded: list[str] = []
        channel = RemoteChannel(
            wire,
            run=RUN,
            about={"study": STUDY},
            record=lambda incident, texts=recorded: texts.append(incident.what),  # type: ignore[misc]
        )
        send(channel, request)
        recorded += [reason.text for reason in channel.reasons().values()]
        given = numeric if name == "preflight without columns" else given_names(request)
        for raw in (wire.left[-1], *(text.encode() for text in recorded)):
            found += [f"{name}: {leak}" for leak in finder.leaks_in(raw, given)]
    assert len(wire.left) == len(requests)
    return found


def numeric_in(name: str) -> tuple[str, ...]:
    """Names that a preflight without columns gets: where there is no value, of all columns."""
    return (*NUMBERS, *WORDS) if name == "no rows" else NUMBERS


@pytest.mark.parametrize("name", bad_files.BAD_FILES)
def test_nothing_leaks_from_bad_files(name: str, tmp_path: Path) -> None:
    kit = write_kit(tmp_path)
    bad_files.BAD_FILES[name](kit)
    assert leaks_of(kit, endpoint(kit), numeric=numeric_in(name)) == []


@pytest.mark.parametrize("name", bad_files.BAD_FILES)
def test_nothing_leaks_from_bad_files_in_batches(name: str, tmp_path: Path) -> None:
    kit = write_kit(tmp_path)
    bad_files.BAD_FILES[name](kit)
    file = kit / "client.toml"
    file.write_text(file.read_text().replace("[data]", "[data]\nbatch_rows = 7"))
    assert leaks_of(kit, endpoint(kit), ROWS, numeric_in(name)) == []


@pytest.mark.parametrize("name", bad_settings.BROKEN)
def test_nothing_leaks_from_broken_settings(name: str, tmp_path: Path) -> None:
    kit = write_kit(tmp_path)
    bad_settings.BROKEN[name](kit)
    assert leaks_of(kit, endpoint(kit)) == []


def test_nothing_leaks_from_settings_that_no_parser_can_read(tmp_path: Path) -> None:
    kit = write_kit(tmp_path)
    bad_settings.DEEP(kit)
    assert leaks_of(kit, endpoint(kit), ROWS[:2] + COLUMNS[:2]) == []


@pytest.mark.parametrize("name", bad_settings.FORBIDDING)
def test_nothing_leaks_from_settings_that_forbid(name: str, tmp_path: Path) -> None:
    kit = write_kit(tmp_path)
    bad_settings.FORBIDDING[name](kit)
    assert leaks_of(kit, endpoint(kit)) == []


@pytest.mark.parametrize("damage", ["good", "undeclared category", "repeated ids", "missing"])
@pytest.mark.parametrize(
    "name",
    [
        "preflight without columns",
        "preflight with counts categories",
        "moments over encoded rows, log",
        "llf-fcm over prepared rows, bounded",
        "label plain",
        "offer own",
        "tokens own",
        "align named",
        "vertical-llf-cm over shared records own",
        "finish words",
    ],
)
def test_nothing_leaks_to_malformed_requests(name: str, damage: str, tmp_path: Path) -> None:
    kit = write_kit(tmp_path)
    bad_files.BAD_FILES[damage](kit)
    request, site, finder = dict(ROWS + COLUMNS)[name], endpoint(kit), finder_for(kit)
    raw = to_bytes(request)
    given = {name for name in (*NUMBERS, *WORDS) if name.encode() in raw}
    for wrong in malformed(raw, np.random.default_rng(1)):
        answer = site.answer(wrong, AUTHOR)
        assert unpack(answer).header["kind"] in ("reply", "refusal")
        names = {*given, *NUMBERS} if b'"columns": null' in wrong else given
        assert finder.leaks_in(answer, names) == []


@pytest.mark.parametrize("damage", ["good", "missing", "id missing", "repeated ids", "words"])
def test_nothing_leaks_to_probes(damage: str, tmp_path: Path) -> None:
    kit = write_kit(tmp_path)
    bad_files.BAD_FILES[damage](kit)
    site, finder = endpoint(kit), finder_for(kit)
    for name, raw in probes():
        given = [ID] if ID.encode() in raw else []
        answer = site.answer(raw, AUTHOR)
        echo = unpack(raw).header["id"]
        if name.startswith("an id"):  # the reply repeats it, and gives the numeric columns
            answer, given = answer.replace(json.dumps(echo).encode(), b'""'), list(NUMBERS)
            assert len(answer) < 1_000
        assert finder.leaks_in(answer, given) == [], name


def test_without_values_every_column_may_be_one_of_numbers(tmp_path: Path) -> None:
    """A preflight without columns asks for numeric ones; only consent narrows them here."""
    kit = write_kit(tmp_path)
    bad_files.BAD_FILES["no rows"](kit)
    raw = to_bytes(Preflight(None, "llf-fcm"))
    assert set(unpack(endpoint(kit).answer(raw)).header["values"]["numbers"]) == {*NUMBERS, *WORDS}
    bad_settings.settings('columns = ["height_cm"]')(kit)
    assert unpack(endpoint(kit).answer(raw)).header["values"]["numbers"] == ["height_cm"]


def test_well_formed_requests_are_answered(tmp_path: Path) -> None:
    """Else nothing would leak because nothing is said."""
    site = endpoint(write_kit(tmp_path))
    refused = [
        name
        for name, request in ROWS + COLUMNS
        if unpack(site.answer(to_bytes(request), AUTHOR)).header["kind"] == "refusal"
    ]
    wrong = ("llf-fcm over encoded", "round before an alignment", "rows over", "tokens over")
    assert refused == [name for name, _ in ROWS + COLUMNS if name.startswith(wrong)]


def show_everything(error: FedclustError) -> str:
    return f"{error} {getattr(error, 'private', '')}"


@pytest.mark.parametrize(
    ("kind", "damage", "leak"),
    [
        (FedclustError, bad_files.BAD_FILES["undeclared category"], "Atlantis-Prime"),
        (Refusal, bad_settings.BROKEN["damaged ledger"], "wallaby_kit"),
        (Refusal, bad_files.BAD_FILES["damaged parquet"], "wombat_data"),
        (Refusal, bad_settings.BROKEN["unknown key"], "platypus"),
        (Refusal, bad_settings.FORBIDDING["queries"], "wallaby_kit"),
        (Refusal, bad_settings.FORBIDDING["column"], "height_cm"),
    ],
)
def test_errors_that_are_shown_are_found(
    kind: type[FedclustError],
    damage: Callable[[Path], object],
    leak: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without the redaction of errors, the tests above fail."""
    kit = write_kit(tmp_path)
    damage(kit)
    monkeypatch.setattr(kind, "public", property(show_everything))
    found = leaks_of(kit, endpoint(kit))
    assert any(leak in one for one in found)


def test_details_of_problems_that_are_shown_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kit = write_kit(tmp_path)
    bad_files.BAD_FILES["undeclared category"](kit)
    values = codec.values_of

    def all_details(reply: object) -> dict[str, object]:
        shown = values(reply)  # type: ignore[arg-type]
        texts = [problem.text for problem in getattr(reply, "problems", ())]
        return {**shown, "texts": texts}

    monkeypatch.setattr(codec, "values_of", all_details)
    assert any("Atlantis-Prime" in leak for leak in leaks_of(kit, endpoint(kit)))


def test_the_finder_finds_what_is_there(tmp_path: Path) -> None:
    finder, value = Finder(tmp_path, ["Müllerová"], [41.2233441]), np.array([0.0, 41.2233441])
    assert finder.leaks_in(pack({"why": "the request names no columns"}, {"x": np.ones(9)})) == []
    texts = (SECRET, IDENTITY, FILE, ID, "PX-881741", "Müllerová", "41.2233441", "about 41.22334")
    paths = (str(tmp_path), "no file /etc/passwd", "C:\\Users\\ana", "x.py, line 3")
    for text in (*texts, *paths):
        assert finder.leaks_in(pack({"why": text}, {})), text
        assert finder.leaks_in(text.encode()), text
    prepared = (value - 1.5) / 2.5
    for array in (value, value.astype(np.float32), prepared, np.log(value[1:])):
        assert finder.leaks_in(pack({}, {"x": array}))
    assert finder.leaks_in(b"salary_eur") == ["column 'salary_eur'"]
    assert finder.leaks_in(b"salary_eur", ["salary_eur"]) == []
