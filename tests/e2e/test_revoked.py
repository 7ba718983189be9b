"""A revoked kit cannot connect; the others go on without it."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .processes import PATIENCE, Federation, federation

pytest.importorskip("nvflare", reason="studies across machines need fedclust[nvflare]")
pytestmark = pytest.mark.e2e


@pytest.fixture
def fed(tmp_path: Path) -> Iterator[Federation]:
    with federation(tmp_path) as made:
        yield made


def test_a_revoked_kit_is_refused_and_learns_it(fed: Federation) -> None:
    copied = fed.folder / "west"  # the client has its own copy of the kit
    fed.kit("west").rename(copied)
    words = [sys.executable, "-m", "fedclust", "revoke", "kits.toml", "west", "--out", "kits"]
    done = subprocess.run(
        words, cwd=fed.folder, check=False, capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stdout + done.stderr
    study = fed.write_study('algorithm = "llf-cm"', min_clients=2)
    lines = study.read_text().splitlines()  # without [clients]: all that connect take part
    study.write_text("\n".join(line for line in lines if line != "[clients]" and "csv" not in line))
    revoked = fed.command("west", "client", str(copied))
    for client in ("north", "south"):
        fed.client(client)
    server = fed.server(study, "--grace", "8")
    assert server.ends() == 0, server.said()
    assert "connected: north, south" in server.said()
    assert "west" not in server.said()
    revoked.says("fedclust: the server refuses this kit, because the coordinator revoked it")
    assert revoked.ends() == 1
