"""The life of a federation: a client joins, and certificates are renewed, without new kits."""

import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("nvflare", reason="studies across machines need fedclust[nvflare]")
from .processes import CLIENTS, PATIENCE, Federation, federation, tables

pytestmark = pytest.mark.e2e

STUDY = """
[clustering]
algorithm = "llf-cm"
n_clusters = 3
[features]
height = { low = -20, high = 40 }
width = { low = -20, high = 40 }
[sampling]
min_clients = 4
"""


@pytest.fixture
def fed(tmp_path: Path) -> Iterator[Federation]:
    with federation(tmp_path) as made:
        yield made


def provision(fed: Federation, *words: str) -> str:
    command = [sys.executable, "-m", "fedclust", "provision", "kits.toml", "--out", "kits", *words]
    done = subprocess.run(
        command, cwd=fed.folder, check=False, capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_client_that_joins_and_kits_that_are_renewed_take_part(fed: Federation) -> None:
    used = fed.folder / "used"  # the machines of the clients
    for name in CLIENTS:
        shutil.copytree(fed.kit(name), used / name)
    before = (used / "west" / "startup" / "client.crt").read_bytes()
    with open(fed.folder / "kits.toml", "a") as file:
        file.write('east = "Clinic east"\n')
    said = " ".join(provision(fed).split())
    assert "peers.json" in said
    assert "north, south, west" in said
    provision(fed, "--renew")
    for name in CLIENTS:
        shutil.copy(fed.folder / "kits" / "peers.json", used / name)
        with zipfile.ZipFile(fed.folder / "kits" / "clients" / f"{name}-renewal.zip") as packed:
            packed.extractall(used)
    assert (used / "west" / "startup" / "client.crt").read_bytes() != before
    fed.write_data("east", tables(60)["west"])
    shutil.copytree(fed.kit("east"), used / "east")
    for name in (*CLIENTS, "east"):
        fed.command(name, "client", str(used / name))
    (fed.folder / "study.toml").write_text(STUDY)
    server = fed.server(fed.folder / "study.toml", "--wait", "120")
    assert server.ends(300) == 0, server.said()
    assert "submitted to east, north, south, west" in server.said()
    for name in (*CLIENTS, "east"):
        assert list((used / name / "labels").glob("study-*.csv"))


def test_clients_that_run_learn_that_they_are_revoked_and_know_a_renewed_server(
    fed: Federation,
) -> None:
    """Nobody restarts them, though they registered with a key that the server has no more."""
    study = fed.write_study('algorithm = "llf-cm"', min_clients=2)
    lines = study.read_text().splitlines()  # without [clients]: all that connect take part
    study.write_text("\n".join(line for line in lines if line != "[clients]" and "csv" not in line))
    copied = fed.folder / "west"
    fed.kit("west").rename(copied)
    running = {name: fed.client(name) for name in ("north", "south")}
    running["west"] = fed.command("west", "client", str(copied))
    first = fed.server(study, "--wait", "120", "--grace", "20")
    assert first.ends(300) == 0, first.said()
    assert "submitted to north, south, west" in first.said()
    words = [sys.executable, "-m", "fedclust", "revoke", "kits.toml", "west", "--out", "kits"]
    subprocess.run(words, cwd=fed.folder, check=True, capture_output=True, timeout=PATIENCE)
    second = fed.server(study, "--wait", "120", "--force")
    assert second.ends(300) == 0, second.said()
    assert "submitted to north, south:" in second.said()
    running["west"].says("fedclust: the server refuses this kit, because the coordinator revoked")
    assert running["west"].ends() == 1
    text = (fed.folder / "kits.toml").read_text()
    (fed.folder / "kits.toml").write_text(text.replace('west = "Clinic west"\n', ""))
    provision(fed, "--renew")
    third = fed.server(study, "--wait", "120", "--force")
    assert third.ends(300) == 0, third.said()
    running["north"].says("the server does not answer this client any more; connecting again")
