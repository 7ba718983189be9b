"""A revoked client is refused by the server's kit and by the other clients."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fedclust.cli import app
from fedclust.client.identities import read_peers
from fedclust.core import ConfigError
from fedclust.deploy.federation_file import read_federation
from fedclust.deploy.kits import provision

from ..support.federation_files import FEDERATION, written

pytest.importorskip("nvflare", reason="kits need fedclust[nvflare]")


def call(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, list(words), env={"COLUMNS": "300"})
    return done.exit_code, done.output


def test_a_revoked_client_is_refused_and_its_name_is_not_given_again(tmp_path: Path) -> None:
    file = written(tmp_path, FEDERATION + 'west = "West clinic"\n')
    kits = tmp_path / "federation-kits"
    provision(read_federation(file), kits)
    identity = (kits / "clients" / "west" / "identity.key").read_bytes()
    code, said = call("revoke", str(file), "west")
    assert code == 0, said
    assert "Revoked 'west'" in said
    assert "Delete the line of 'west'" in said
    assert f"Send {kits / 'peers.json'} to north, south" in said
    refused = json.loads((kits / "server" / "disabled_clients.json").read_text())
    assert refused == {"disabled_clients": ["west"]}
    assert set(read_peers(kits / "peers.json")) == {"north", "south"}
    assert not (kits / "clients" / "west").exists()
    assert (kits / "revoked" / "west" / "west" / "identity.key").read_bytes() == identity
    with pytest.raises(ConfigError, match="client 'west' was revoked; delete its line"):
        provision(read_federation(file), kits)
    again = written(tmp_path, FEDERATION + 'west2 = "West clinic"\n')
    assert provision(read_federation(again), kits).new == ["west2"]
    assert set(read_peers(kits / "peers.json")) == {"north", "south", "west2"}
    code, said = call("revoke", str(file), "north")
    assert code == 0, said
    refused = json.loads((kits / "server" / "disabled_clients.json").read_text())
    assert refused == {"disabled_clients": ["north", "west"]}


def test_mistakes_are_said_in_a_sentence(tmp_path: Path) -> None:
    file = written(tmp_path)
    kits = tmp_path / "federation-kits"
    provision(read_federation(file), kits)
    code, said = call("revoke", str(file), "east")
    assert code == 1
    assert "has no client 'east'; its clients are: north, south" in said
    (kits / "server" / "disabled_clients.json").write_text("{")
    code, said = call("revoke", str(file), "north")
    assert code == 1
    assert "disabled_clients.json: not readable" in said


def test_a_folder_without_kits_is_named(tmp_path: Path) -> None:
    file = written(tmp_path, FEDERATION)
    code, said = call("revoke", str(file), "west")
    assert code == 1
    assert "federation-kits has no kits; name the folder of the kits with --out" in said
