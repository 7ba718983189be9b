"""Data that change during a run are noticed: in every tier, form of rows, and after a restart."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedclust.algorithms import make
from fedclust.channels import Incident
from fedclust.client.fingerprint import Fingerprints
from fedclust.client.requests import AnyRequest, OfferRecords, PreparedRows
from fedclust.core import Code, TooFewClients
from fedclust.core.wire import unpack

from ..support.following import Federation, Sites, tables
from .kit import AUTHOR, FILE, endpoint, write_kit
from .questions import COLUMNS, TASKS, first_round, preparation_of, to_bytes

pytest.importorskip("cryptography")
CENTERS = np.array([[30.5, 30.5], [60.5, 60.5]])
ROWS = PreparedRows(preparation_of(COLUMNS["plain"]))
HARD = first_round(make("llf-cm", 2, init=CENTERS), ROWS)
FUZZY = first_round(make("llf-fcm", 2, init=CENTERS), ROWS)
OFFER = OfferRecords(TASKS["own"])
CONSENT = {
    "none": "",
    "secure": 'privacy = "secure"',
    "dp": 'privacy = "dp"\nepsilon = 8.0',
    "secure+dp": 'privacy = "secure+dp"\nepsilon = 8.0',
}


def federation(tmp_path: Path, tier: str, clustering: str = "", data: str = "") -> Federation:
    privacy = "epsilon = 4.0" if "dp" in tier else ""
    clustering += "\nmax_rounds = 4" + ("" if "dp" in tier else "\ntol = 0.0")
    made = Federation(
        tmp_path,
        tables(4),
        tier=tier,
        privacy=privacy,
        clustering=clustering,
        consent=CONSENT[tier],
    )
    for client in made.rows:
        file = tmp_path / client / "client.toml"
        file.write_text(file.read_text().replace("[consent]", f"{data}\n[consent]"))
    return made


class Changing(Sites):
    """A client's file changes before one of the requests; its process may start again then."""

    def __init__(
        self, made: Federation, change: Callable[[Path], object], *, at: int, restart: bool
    ) -> None:
        super().__init__(made)
        self._change, self._at, self._restart, self._count = change, at, restart, 0

    def exchange(self, clients: Any, request: bytes, seconds: float) -> Any:
        self._count += unpack(request).header["kind"] == "round"
        if self._count == self._at:
            self._count += 1
            self._change(self.federation.folder / "c01" / "people.csv")
            if self._restart:
                self.federation.sites["c01"] = self.federation.open_site("c01")
        yield from super().exchange(clients, request, seconds)


def change_a_digit(file: Path) -> None:
    """Another value; the size and the time stamp stay as they were."""
    before, raw = file.stat(), bytearray(file.read_bytes())
    raw[-3] = ord("1") if raw[-3] != ord("1") else ord("2")
    file.write_bytes(bytes(raw))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace_by_a_copy(file: Path) -> None:
    """The same contents at another time and place."""
    copy = file.with_name("copy.csv")
    shutil.copyfile(file, copy)
    copy.replace(file)


@pytest.mark.parametrize("restart", [False, True], ids=["running", "restarted"])
@pytest.mark.parametrize(
    ("tier", "clustering"),
    [
        ("secure", ""),
        ("secure", "fuzzy = true"),
        ("secure+dp", ""),
    ],
)
@pytest.mark.parametrize("data", ["", "batch_rows = 7"], ids=["memory", "batches"])
def test_a_study_whose_data_change_ends_with_a_sentence(
    tier: str, clustering: str, data: str, restart: bool, tmp_path: Path
) -> None:
    made = federation(tmp_path, tier, clustering, data)
    transport = Changing(made, change_a_digit, at=3, restart=restart)
    with pytest.raises(TooFewClients, match="c01: refused: its data changed since") as ended:
        made.run(tmp_path / "there", transport, deadline=60.0)
    assert ended.value.final
    assert ended.value.reasons["c01"].code is Code.CHANGED


def test_where_the_others_may_go_on_the_client_is_left_out_and_on_record(tmp_path: Path) -> None:
    made = federation(tmp_path, "dp")
    incidents: list[Incident] = []
    transport = Changing(made, change_a_digit, at=2, restart=True)
    made.run(tmp_path / "there", transport, record=incidents.append)
    assert ("c01", True) in {(i.client, "its data changed" in i.what) for i in incidents}


@pytest.mark.parametrize("restart", [False, True], ids=["running", "restarted"])
@pytest.mark.parametrize("request_", [HARD, FUZZY, OFFER], ids=["hard", "fuzzy", "columns"])
def test_requests_outside_of_a_followed_study_are_compared_too(
    request_: AnyRequest, restart: bool, tmp_path: Path
) -> None:
    kit = write_kit(tmp_path)
    site, raw = endpoint(kit), to_bytes(request_)
    assert unpack(site.answer(raw, AUTHOR)).header["kind"] != "refusal"
    change_a_digit(kit / FILE)
    site = endpoint(kit) if restart else site
    header = unpack(site.answer(raw, AUTHOR)).header
    assert header["code"] == Code.CHANGED


def test_without_the_comparison_nobody_would_notice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Fingerprints, "check", lambda self, run: None)
    made = federation(tmp_path, "secure", "fuzzy = true")
    incidents: list[Incident] = []
    transport = Changing(made, change_a_digit, at=3, restart=True)
    outcome = made.run(tmp_path / "there", transport, record=incidents.append)
    assert incidents == []
    assert set(outcome.labels) == set(made.rows), "all clients took part to the end"


def test_the_same_contents_are_the_same_data(tmp_path: Path) -> None:
    made = federation(tmp_path, "secure")
    made.run(tmp_path / "there", Changing(made, replace_by_a_copy, at=3, restart=True))
    kept = tmp_path / "c01" / "ledger.data.jsonl"
    assert len(kept.read_text().splitlines()) == 1, "one line for a run"


def test_another_run_may_have_other_data(tmp_path: Path) -> None:
    made = federation(tmp_path, "secure")
    made.run(tmp_path / "first")
    change_a_digit(tmp_path / "c01" / "people.csv")
    made.sites = made.open_sites()
    made.run(tmp_path / "second", run="b2")
    kept = (tmp_path / "c01" / "ledger.data.jsonl").read_text().splitlines()
    assert len(set(kept)) == 2, "one line for each run, with another hash"


def test_how_files_are_read_belongs_to_the_data(tmp_path: Path) -> None:
    made = federation(tmp_path, "secure")

    def read_otherwise(file: Path) -> None:
        settings = file.with_name("client.toml")
        settings.write_text(
            settings.read_text().replace("[consent]", 'na_values = ["0.5"]\n[consent]')
        )

    transport = Changing(made, read_otherwise, at=3, restart=True)
    with pytest.raises(TooFewClients, match="c01: refused: its data changed since"):
        made.run(tmp_path / "there", transport, deadline=60.0)


def test_a_change_between_two_studies_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Totals before and after differ by it; nothing is refused."""
    made = federation(tmp_path, "secure")
    made.run(tmp_path / "first", run="a" * 16)
    made.run(tmp_path / "second", run="b" * 16)
    assert "changed since the last study" not in caplog.text
    with open(tmp_path / "c00" / "people.csv", "a") as file:
        file.write("c00-new,0.5,0.5\n")
    made.sites = made.open_sites()
    made.run(tmp_path / "third", run="c" * 16)
    assert caplog.text.count("changed since the last study") == 1
