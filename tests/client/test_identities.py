"""Who the clients are, as kits tell them: a server that poses as somebody is refused."""

import json
import os
import re
import shutil
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from typer.testing import CliRunner

pytest.importorskip("nvflare", reason="kits need fedclust[nvflare]")
from fedclust.channels import RemoteChannel
from fedclust.cli import app
from fedclust.client.endpoint import ClientEndpoint
from fedclust.client.identities import (
    fingerprint,
    read_enrolment,
    read_peers,
    renew_identity,
)
from fedclust.core import ConfigError, TooFewClients
from fedclust.deploy.federation_file import read_federation
from fedclust.deploy.kits import provision, read_kit
from fedclust.privacy.crypto import fresh_secret, signing_public
from fedclust.study.read import read_study

from ..support.federation_files import FEDERATION, written
from ..support.in_process import NAMES, InProcess, rows, run_across

SECURE = """
[clustering]
algorithm = "llf-cm"
n_clusters = 3
[features]
height = { low = -20, high = 40 }
width = { low = -20, high = 40 }
[sampling]
min_clients = 3
"""
THREE = FEDERATION + 'west = "West clinic"\n'


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("federation")
    provision(read_federation(written(folder, THREE)), folder / "kits")
    for name, table in rows().items():
        kit = folder / "kits" / "clients" / name
        lines = ["height,width", *(f"{a},{b}" for a, b in table)]
        (kit / "data.csv").write_text("\n".join(lines) + "\n")
    return folder / "kits"


@pytest.fixture
def kits(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "kits")
    return tmp_path / "kits"


def clustered(kits: Path, names: Mapping[str, Path] | None = None) -> list[str]:
    """A secure study over the sites of kits; what clients said in refusal."""
    folder = kits.parent
    (folder / "s.toml").write_text(SECURE)
    places = names or {name: kits / "clients" / name for name in NAMES}
    sites = {name: ClientEndpoint(place, name, "s") for name, place in places.items()}
    said: list[str] = []
    remote = RemoteChannel(
        InProcess(sites),
        run="run",
        about={"study": "s"},
        quorum=3,
        record=lambda incident: said.append(
            f"{incident.client}: {incident.what.removeprefix('refused: ')}"
        ),
    )
    try:
        run_across(read_study(folder / "s.toml", files=False), remote, folder / "run")
    except TooFewClients:
        assert said
    return said


def test_every_kit_has_a_secret_of_its_own_and_the_public_halves_of_all(made: Path) -> None:
    peers = read_peers(made / "peers.json")
    assert set(peers) == set(NAMES)
    for name in NAMES:
        kit = made / "clients" / name
        found = read_enrolment(kit)
        assert found.peers == peers
        assert found.identity is not None
        assert signing_public(found.identity) == peers[name]
        assert stat.S_IMODE((kit / "identity.key").stat().st_mode) == 0o600
        secret = (kit / "identity.key").read_text().strip()
        others = [path for path in made.rglob("*") if path.is_file() and kit not in path.parents]
        assert not any(secret.encode() in p.read_bytes() for p in others if p.suffix != ".zip")
        with zipfile.ZipFile(made / "clients" / f"{name}.zip") as packed:
            mode = packed.getinfo(f"{name}/identity.key").external_attr >> 16
        assert stat.S_IMODE(mode) == 0o600


def test_clients_that_know_each_other_are_clustered_under_masks(kits: Path) -> None:
    assert clustered(kits) == []


def test_a_server_that_poses_as_the_others_is_refused(kits: Path) -> None:
    posing = {"north": kits / "clients" / "north"}
    for name in ("south", "west"):
        posing[name] = kits.parent / f"posing-{name}"
        shutil.copytree(kits / "clients" / name, posing[name])
        renew_identity(posing[name], name)  # their own secrets it has not
        (posing[name] / "peers.json").unlink()  # and it does not care
    said = clustered(kits, posing)
    assert "north: 'south' is not who it was at enrolment: peers.json has another identity" in said
    assert not any(line.startswith(("south", "west")) for line in said)
    left = (kits / "clients" / "north" / "disclosures.jsonl").read_text().splitlines()
    plans = {json.loads(line).get("plan") for line in left}
    assert plans == {None, "key-exchange"}  # its offer of a key, and nothing about its rows


def test_without_a_list_the_server_is_believed(kits: Path) -> None:
    for name in NAMES:
        (kits / "clients" / name / "peers.json").unlink()
        (kits / "clients" / name / "identity.key").unlink()
    assert clustered(kits) == []


def test_a_client_that_joins_later_is_refused_until_the_new_list_is_there(kits: Path) -> None:
    later = FEDERATION.replace('south = "South clinic"', 'west = "West clinic"')
    early = kits.parent / "early"
    provision(read_federation(written(kits.parent, later)), early)
    before = (early / "clients" / "north" / "peers.json").read_bytes()
    done = provision(read_federation(written(kits.parent, later + 'south = "South"\n')), early)
    assert done == (["south"], ["north", "west"], [])
    assert (early / "clients" / "north" / "peers.json").read_bytes() == before
    for name in NAMES:
        shutil.copy(kits / "clients" / name / "data.csv", early / "clients" / name)
    said = clustered(early)
    missing = (
        "'south' is not among the peers that this client knows from enrolment: its peers.json "
        "has to be brought up to date"
    )
    assert {f"north: {missing}", f"west: {missing}"} <= set(said)
    for name in ("north", "west"):
        shutil.copy(early / "peers.json", early / "clients" / name)
    assert clustered(early) == []


def test_a_client_that_left_is_no_longer_listed_and_known_when_it_comes_back(kits: Path) -> None:
    peers = read_peers(kits / "peers.json")
    fewer = FEDERATION.replace('south = "South clinic"\n', "")
    done = provision(read_federation(written(kits.parent, fewer)), kits)
    assert done == ([], ["north"], [])
    assert set(read_peers(kits / "peers.json")) == {"north"}
    provision(read_federation(written(kits.parent, THREE)), kits)
    assert read_peers(kits / "peers.json") == peers


def test_a_kit_that_was_lost_is_made_anew_with_another_identity(kits: Path) -> None:
    before = read_peers(kits / "peers.json")
    shutil.rmtree(kits / "clients" / "north")
    (kits / "clients" / "west" / "identity.key").unlink()  # handed out, and forgotten here
    done = provision(read_federation(written(kits.parent, THREE)), kits)
    assert done == (["north"], ["south", "west"], [])
    after = read_peers(kits / "peers.json")
    assert {name for name in NAMES if after[name] != before[name]} == {"north"}


def command(*words: object) -> str:
    shown = CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "400"})
    return shown.output


def test_the_coordinator_is_told_to_hand_the_list_round(kits: Path) -> None:
    file = written(kits.parent, THREE + 'east = "East clinic"\n')
    shown = command("provision", file, "--out", kits)
    assert "Made 1 kits" in shown
    assert re.search(r"send .*peers\.json to north, south, west, to replace", shown)
    assert "Whenever it changes, send it to all clients" in (kits / "README.md").read_text()
    assert "peers.json to" not in command("provision", file, "--out", kits)


def test_an_identity_that_the_coordinator_never_knew(kits: Path) -> None:
    north = kits / "clients" / "north"
    old = (north / "identity.key").read_text()
    shown = command("client", north, "--new-identity")
    line = re.search(r'^"north": "([0-9a-f]{64})"$', shown, re.MULTILINE)
    assert line
    assert (north / "identity.key").read_text() != old
    assert stat.S_IMODE((north / "identity.key").stat().st_mode) == 0o600
    assert (north / "identity.key").read_text().strip() not in shown
    assert "south: 'north' is not who it was at enrolment" in "\n".join(clustered(kits))
    listed = json.loads((kits / "peers.json").read_text()) | {"north": line[1]}
    for folder in (kits, *(kits / "clients" / name for name in NAMES)):
        (folder / "peers.json").write_text(json.dumps(listed))
    assert clustered(kits) == []
    assert provision(read_federation(written(kits.parent, THREE)), kits) == ([], [], [])
    assert read_peers(kits / "peers.json")["north"].hex() == line[1]  # the hand-made line is kept


def test_kits_of_before_there_were_identities_can_be_brought_up_to_date(kits: Path) -> None:
    (kits / "peers.json").unlink()
    for name in NAMES:
        (kits / "clients" / name / "peers.json").unlink()
        (kits / "clients" / name / "identity.key").unlink()
    file = written(kits.parent, THREE + 'east = "East clinic"\n')
    shown = command("provision", file, "--out", kits)
    assert "No identity is known for north, south, west" in shown
    assert not (kits / "clients" / "east" / "peers.json").exists()
    lines: dict[str, str] = {}
    for name in NAMES:
        shown = command("client", kits / "clients" / name, "--new-identity")
        lines |= re.findall(r'^"(\w+)": "([0-9a-f]{64})"$', shown, re.MULTILINE)
    listed = json.loads((kits / "peers.json").read_text()) | lines
    (kits / "peers.json").write_text(json.dumps(listed))
    for name in (*NAMES, "east"):
        shutil.copy(kits / "peers.json", kits / "clients" / name)
    assert clustered(kits) == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not readable"),
        ("[]", "not readable"),
        ('{"north": 3}', "not readable"),
        ('{"north": "zz"}', "not readable"),
        ('{"north": "00ff"}', "the identity of 'north' must be 64 hexadecimal digits"),
    ],
)
def test_a_list_that_is_none_is_refused(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "peers.json").write_text(text)
    with pytest.raises(ConfigError, match=says):
        read_enrolment(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root can read every file")
def test_a_secret_of_another_user_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "identity.key").write_text(fresh_secret().hex())
    (tmp_path / "identity.key").chmod(0)
    with pytest.raises(ConfigError, match=r"identity.key: not readable \(Permission denied\)"):
        read_enrolment(tmp_path)
    (tmp_path / "kit").mkdir(mode=0)
    with pytest.raises(ConfigError, match=r"this user may not enter"):
        read_kit(tmp_path / "kit", "client")


def test_lists_that_differ_have_other_fingerprints() -> None:
    a, b = bytes(32), bytes([1] * 32)
    assert fingerprint({"x": a, "y": b}) == fingerprint({"y": b, "x": a})
    assert len({fingerprint(p) for p in ({"x": a, "y": b}, {"x": b, "y": a}, {"x": a}, {})}) == 4
    assert re.fullmatch(r"([0-9a-f]{4} ){7}[0-9a-f]{4}", fingerprint({"x": a}))
