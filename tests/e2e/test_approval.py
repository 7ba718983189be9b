"""Owners approve a study in a deployed federation, before and while the server waits."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("nvflare", reason="studies across machines need fedclust[nvflare]")
pytest.importorskip("cryptography", reason="masks need fedclust[secure]")
from .processes import CLIENTS, Federation, federation, results_of

STUDY = """
[clients]
{files}
[features]
height = {{ low = -50, high = 50 }}
width = {{ low = -50, high = 50 }}
[clustering]
algorithm = "lossless"
n_clusters = 3
[sampling]
min_clients = 3
[privacy]
tier = "secure"
"""


@pytest.fixture
def fed(tmp_path: Path) -> Iterator[Federation]:
    with federation(tmp_path) as made:
        yield made


def test_a_study_runs_once_every_owner_has_approved_it(fed: Federation) -> None:
    for client in CLIENTS:
        with open(fed.kit(client) / "client.toml", "a") as file:
            file.write('[consent]\nprivacy = "secure"\napproval = "ask"\n')
    study = fed.folder / "study.toml"
    files = "".join(f'{c} = "{fed.kit(c) / "people.csv"}"\n' for c in CLIENTS)
    study.write_text(STUDY.format(files=files))
    ahead = fed.command("ahead", "approve", str(fed.kit("north")), "--study", str(study), "--yes")
    assert ahead.ends() == 0, ahead.said()
    server = fed.server(study)
    clients = fed.clients(*CLIENTS)
    server.says("waiting for the approval of south, west")
    for client in ("south", "west"):
        clients[client].says(r"the study 'study' \(hash [0-9a-f]{64}\) waits for your approval")
    hash = server.says("hash [0-9a-f]{64}").removeprefix("hash ")
    for client in ("south", "west"):
        done = fed.command(client, "approve", str(fed.kit(client)), hash, "--yes")
        assert done.ends() == 0, done.said()
    assert server.ends() == 0, server.said()
    here, there = fed.run_here(study), fed.folder / "study-run"
    assert results_of(there) == results_of(here)
    assert json.loads((there / "model.json").read_text())["study_hash"] == hash
    assert not (there / "incidents.jsonl").exists()
    for client in CLIENTS:
        clients[client].says(f"follows the study 'study', hash {hash}")
        log = (fed.kit(client) / "disclosures.jsonl").read_text().splitlines()
        assert {json.loads(line)["study_hash"] for line in log} == {hash}
