"""A deployed federation: a server and three clients as processes, with mutual TLS."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("nvflare", reason="studies across machines need fedclust[nvflare]")
from .processes import CLIENTS, Federation, federation, told

FUZZY = 'algorithm = "llf-fcm"'


@pytest.fixture
def fed(tmp_path: Path) -> Iterator[Federation]:
    with federation(tmp_path) as made:
        yield made


def test_three_clients_over_tls_find_what_one_process_finds(fed: Federation) -> None:
    # One kit is moved first: kits must work in any folder.
    shutil.unpack_archive(fed.folder / "kits/clients/west.zip", fed.folder / "elsewhere")
    moved = fed.folder / "elsewhere" / "west"
    for file in ("people.csv", "client.toml"):
        shutil.copy(fed.kit("west") / file, moved / file)
    study = fed.write_study(FUZZY)
    fed.client("north")
    fed.client("south")
    fed.command("west", "client", str(moved))
    server = fed.server(study)
    assert server.ends() == 0, server.said()
    here, there = fed.run_here(study), fed.folder / "study-run"
    assert told(there) == told(here)
    assert (there / "report.html").stat().st_size > 10_000
    assert not (there / "incidents.jsonl").exists()
    for client in CLIENTS:
        kit = moved if client == "west" else fed.kit(client)
        (labels,) = (kit / "labels").glob("study-*.csv")
        assert labels.read_text() == (here / "labels" / f"{client}.csv").read_text()
        log = [json.loads(line) for line in (kit / "disclosures.jsonl").read_text().splitlines()]
        assert {line["to"] for line in log} == {"ana@example.org"}
        assert {"preflight", "round", "label"} == {line["kind"] for line in log}
