"""A deployed federation: a server and three clients as processes, with mutual TLS."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("nvflare", reason="studies across machines need fedclust[nvflare]")
from .processes import CLIENTS, PATIENCE, Federation, federation, results_of

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
    server = fed.server(study)
    fed.clients("north", "south")
    fed.command("west", "client", str(moved))
    assert server.ends() == 0, server.said()
    here, there = fed.run_here(study), fed.folder / "study-run"
    assert results_of(there) == results_of(here)
    assert (there / "report.html").stat().st_size > 10_000
    assert not (there / "incidents.jsonl").exists()
    for client in CLIENTS:
        kit = moved if client == "west" else fed.kit(client)
        (labels,) = (kit / "labels").glob("study-*.csv")
        assert labels.read_text() == (here / "labels" / f"{client}.csv").read_text()
        log = [json.loads(line) for line in (kit / "disclosures.jsonl").read_text().splitlines()]
        assert {line["to"] for line in log} == {"ana@example.org"}
        assert {"preflight", "round", "label"} == {line["kind"] for line in log}


PREPARED = """
[data]
bounds = "estimate"
scaling = "standard"
missing = "mean"
[features]
height = { low = -10, high = 20 }
width = {}
"""


def test_a_number_of_clusters_is_chosen_under_masks_as_in_one_process(fed: Federation) -> None:
    """Pooled scale, filled gaps and the choice of k, over clients that follow the study."""
    for client in CLIENTS:
        file = fed.kit(client) / "people.csv"
        head, *lines = file.read_text().splitlines()
        place = head.split(",").index("height")
        for i in range(0, len(lines), 15):
            cells = lines[i].split(",")
            cells[place] = ""
            lines[i] = ",".join(cells)
        file.write_text("\n".join([head, *lines]) + "\n")
    study = fed.write_study('algorithm = "lossless"', privacy='tier = "secure"', features=PREPARED)
    study.write_text(study.read_text().replace("n_clusters = 3", 'n_clusters = "auto"'))
    server = fed.server(study)
    fed.clients(*CLIENTS)
    assert server.ends(2 * PATIENCE) == 0, server.said()
    here, there = fed.run_here(study), fed.folder / "study-run"
    assert results_of(there) == results_of(here)
    for name in ("summary.json", "choice.json"):
        assert (there / name).read_text() == (here / name).read_text()
