"""federation.toml and the kits made from it."""

import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from fedclust import __version__
from fedclust.client.codec import encode
from fedclust.client.config import read_client_config
from fedclust.client.requests import Preflight
from fedclust.core import ConfigError
from fedclust.core.wire import pack, unpack
from fedclust.deploy.federation_file import read_federation
from fedclust.follow.endpoint import FollowingEndpoints

from ..support.federation_files import FEDERATION, written


def test_a_federation_file_is_read(tmp_path: Path) -> None:
    found = read_federation(written(tmp_path))
    assert found.settings.port == 8123
    assert list(found.clients) == ["north", "south"]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('name = "heart"', 'name = "my heart"', ":3: name must be letters"),
        ('server = "localhost"', 'server = "http://x"', ":4: server must be a host name"),
        ("ana@example.org", "ana", ":6: coordinator must be an e-mail"),
        ("port = 8123", "port = 99999", ":5: port must be at most"),
        ("port = 8123", "prot = 8123", "did you mean 'port'"),
        ("north =", '"north/east" =', "use letters, digits"),
        ("north =", "server =", "use letters, digits"),
        ('"North clinic"', "3", "client 'north': the description must be text"),
        (
            '[clients]\nnorth = "North clinic"\nsouth = "South clinic"',
            "",
            "\\[clients\\] is missing",
        ),
        ("[clients]", "[client]", "did you mean 'clients'"),
    ],
)
def test_a_wrong_federation_file_is_refused_with_its_line(
    old: str, new: str, says: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=says):
        read_federation(written(tmp_path, FEDERATION.replace(old, new)))


def snippet(kind: str) -> str:
    pages = sorted((Path(__file__).parents[2] / "docs").glob("deployment*.md"))
    text = "".join(page.read_text() for page in pages)
    (found,) = re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL)
    return str(found)


def test_the_files_that_the_documentation_shows_can_be_read(tmp_path: Path) -> None:
    assert list(read_federation(written(tmp_path, snippet("toml federation"))).clients)
    (tmp_path / "client.toml").write_text(snippet("toml client"))
    shown = read_client_config(tmp_path / "client.toml")
    for section in ("data", "consent", "output"):
        for key in vars(getattr(shown, section)):
            assert key in snippet("toml client")


def test_the_service_that_the_documentation_shows_is_one(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd is not installed")
    unit = tmp_path / "fedclust-north.service"
    unit.write_text(snippet("ini").replace("/opt/fedclust/bin/fedclust", sys.executable))
    words = ["systemd-analyze", "verify", "--man=no", str(unit)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    about = [line for line in done.stderr.splitlines() if unit.name in line]
    assert about == [], done.stderr


@pytest.fixture(scope="module")
def kits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("nvflare", reason="kits need fedclust[nvflare]")
    from fedclust.deploy.kits import provision

    folder = tmp_path_factory.mktemp("federation")
    made = provision(read_federation(written(folder)), folder / "kits")
    assert made == (["localhost", "ana@example.org", "north", "south"], [], [])
    return folder / "kits"


def test_a_kit_as_it_comes_allows_few_queries_and_only_tiers_in_which_sums_leave(
    kits: Path, tmp_path: Path
) -> None:
    """An owner who changes one line allows studies of other tiers; the refusal names the line."""
    kit = shutil.copytree(kits / "clients" / "north", tmp_path / "north")
    (kit / "data.csv").write_text("age\n" + "\n".join(str(30 + i) for i in range(40)))
    consent = read_client_config(kit / "client.toml").consent
    assert (consent.privacy, consent.max_queries) == ("secure", 50)
    kind, header, arrays = encode(Preflight(None, "llf-cm"))
    about = {"id": "1", "run": "a1b2", "about": {"study": "s"}, "version": __version__}
    asked = pack({"kind": kind, **header, **about}, arrays)

    def reply() -> dict[str, Any]:
        endpoint = FollowingEndpoints("s").open(kit, "north")
        return dict(unpack(endpoint.answer(asked, "ana@example.org")).header)

    refused = reply()
    assert refused["code"] == "consent"
    assert 'client.toml has privacy = "secure"' in refused["why"]
    assert "sets this one line" in refused["why"]
    file = kit / "client.toml"
    file.write_text(file.read_text().replace('privacy = "secure"', 'privacy = "none"'))
    assert "why" not in reply()


def test_each_participant_has_a_kit_of_its_own(kits: Path) -> None:
    from fedclust.deploy.kits import read_kit

    assert read_kit(kits / "server", "server").name == "localhost"
    assert read_kit(kits / "admin", "admin").name == "ana@example.org"
    north = read_kit(kits / "clients" / "north", "client")
    assert north.federation.port == 8123
    assert "North clinic" in (north.folder / "README.md").read_text()
    with pytest.raises(ConfigError, match="client kit .of 'north'.; a server kit is needed"):
        read_kit(kits / "clients" / "north", "server")
    with pytest.raises(ConfigError, match=r"is not a kit: .* did you mean .*/kits/server\?$"):
        read_kit(kits, "server")
    with pytest.raises(ConfigError, match=r"did you mean .*/north or .*/south\?$"):
        read_kit(kits, "client")
    with pytest.raises(ConfigError, match=r"is not a kit: it has no fedclust.json$"):
        read_kit(kits / "authority", "client")
    with pytest.raises(ConfigError, match="there is no folder"):
        read_kit(kits / "nowhere", "client")
    with pytest.raises(ConfigError, match=r"north.zip is a file, not a folder"):
        read_kit(kits / "clients" / "north.zip", "client")
    names = zipfile.ZipFile(kits / "clients" / "north.zip").namelist()
    assert {"north/client.toml", "north/startup/client.key", "north/README.md"} <= set(names)
    assert not any("south" in name for name in names)


def test_the_kit_that_is_handed_out_can_be_filled_in(kits: Path) -> None:
    file = read_client_config(kits / "clients" / "north" / "client.toml")
    assert file.data.file == "data.csv"
    with pytest.raises(ConfigError, match="there is no file data.csv"):
        file.files()


def test_keys_are_private_and_the_authority_is_not_handed_out(kits: Path) -> None:
    for key in kits.rglob("*.key"):
        assert key.stat().st_mode & 0o077 == 0
    assert (kits / "clients" / "north.zip").stat().st_mode & 0o077 == 0
    inside = [p.name for p in (kits / "clients").rglob("*")]
    assert "cert.json" not in inside


def test_a_site_lets_in_no_code_and_lets_nobody_read(kits: Path) -> None:
    local = kits / "clients" / "north" / "local"
    resources = json.loads((local / "resources.json").read_text())
    assert resources["class_allow_list"] == [
        "fedclust.channels.nvflare.client.SiteExecutor",
        "fedclust.follow.endpoint.FollowingEndpoints",
    ]
    assert resources["class_list_enforcement_mode"] == "enforce"
    assert resources["allow_log_streaming"] is False
    assert not any("log" in component["id"] for component in resources["components"])
    rights = json.loads((local / "authorization.json").read_text())["permissions"]
    assert list(rights) == ["project_admin"]
    for right in ("byoc", "shell_commands", "operate", "download_job"):
        assert rights["project_admin"][right] == "none"


def test_a_client_that_is_added_gets_a_kit_and_nobody_elses_changes(
    kits: Path, tmp_path: Path
) -> None:
    from fedclust.deploy.kits import provision

    mine = tmp_path / "kits"
    shutil.copytree(kits, mine)
    before = (mine / "clients" / "north" / "startup" / "client.crt").read_bytes()
    (mine / "clients" / "north" / "client.toml").write_text("# mine\n")
    more = read_federation(written(tmp_path, FEDERATION + 'west = "West clinic"\n'))
    assert provision(more, mine).new == ["west"]
    assert (mine / "clients" / "north" / "startup" / "client.crt").read_bytes() == before
    assert (mine / "clients" / "north" / "client.toml").read_text() == "# mine\n"
    roots = {path.read_bytes() for path in mine.glob("clients/*/startup/rootCA.pem")}
    assert len(roots) == 1


def test_certificates_are_renewed_and_nothing_else_is(kits: Path, tmp_path: Path) -> None:
    from fedclust.deploy.kits import provision, renew

    mine, federation = tmp_path / "kits", read_federation(written(tmp_path))
    shutil.copytree(kits, mine)
    before = {p: p.read_bytes() for p in mine.rglob("*") if p.is_file()}
    assert renew(federation, mine) == ["localhost", "ana@example.org", "north", "south"]
    parts = [p for p in mine.rglob("*") if p.is_file() and "authority" not in p.parts]
    changed = {p.relative_to(mine) for p in parts if before.get(p) != p.read_bytes()}
    pairs = {"server": "server", "admin": "client", "clients/north": "client"}
    pairs["clients/south"] = "client"
    expected = {Path(k) / "startup" / f"{n}.{e}" for k, n in pairs.items() for e in ("crt", "key")}
    zips = {Path("clients") / f"{name}-renewal.zip" for name in ("north", "south")}
    assert changed == expected | zips
    assert all(p.stat().st_mode & 0o077 == 0 for p in mine.rglob("*.key"))
    assert all((mine / z).stat().st_mode & 0o077 == 0 for z in zips)
    # The kit that north has used for a year, and the zip unpacked over it.
    used = tmp_path / "used" / "north"
    shutil.copytree(kits / "clients" / "north", used)
    shutil.unpack_archive(mine / "clients" / "north-renewal.zip", used.parent)
    renewed = (mine / "clients" / "north" / "startup" / "client.crt").read_bytes()
    assert (used / "startup" / "client.crt").read_bytes() == renewed
    from fedclust.channels.nvflare.certificates import days_left

    assert days_left(used / "startup", "client") >= 359  # of the same root, with its own key
    assert provision(federation, mine).new == []


def test_a_server_that_moves_is_told_with_the_renewal(kits: Path, tmp_path: Path) -> None:
    from fedclust.deploy.kits import read_kit, renew

    mine = tmp_path / "kits"
    shutil.copytree(kits, mine)
    moved = read_federation(written(tmp_path, FEDERATION.replace("8123", "8200")))
    renew(moved, mine)
    shutil.rmtree(mine / "clients" / "north")
    shutil.copytree(kits / "clients" / "north", mine / "clients" / "north")
    shutil.unpack_archive(mine / "clients" / "north-renewal.zip", mine / "clients")
    north = read_kit(mine / "clients" / "north", "client")
    assert north.federation.port == 8200
    assert "localhost:8200" in (north.folder / "startup" / "fed_client.json").read_text()


def test_what_cannot_be_renewed_is_said_in_a_sentence(kits: Path, tmp_path: Path) -> None:
    from fedclust.deploy.kits import renew

    federation = read_federation(written(tmp_path))
    with pytest.raises(ConfigError, match="has no kits to renew"):
        renew(federation, tmp_path / "kits")
    shutil.copytree(kits / "server", tmp_path / "kits" / "server")
    with pytest.raises(ConfigError, match="cannot read the keys of the authority"):
        renew(federation, tmp_path / "kits")


def test_a_kit_that_was_moved_stores_where_it_is(kits: Path, tmp_path: Path) -> None:
    from fedclust.channels.nvflare.provision import lock_server
    from fedclust.deploy.kits import SERVER_COMPONENT

    shutil.copytree(kits / "server", tmp_path / "moved")
    lock_server(tmp_path / "moved", SERVER_COMPONENT)
    text = (tmp_path / "moved" / "local" / "resources.json").read_text()
    assert str(tmp_path / "moved" / "store") in text
    assert "/tmp/nvflare" not in text


def test_what_cannot_be_provisioned_is_said_in_a_sentence(tmp_path: Path) -> None:
    pytest.importorskip("nvflare", reason="kits need fedclust[nvflare]")
    from fedclust.deploy.kits import provision

    bad = read_federation(written(tmp_path, FEDERATION.replace("localhost", "-x-")))
    with pytest.raises(ConfigError, match="creating kits failed"):
        provision(bad, tmp_path / "kits")


@pytest.mark.parametrize("text", ["{", "[]", '{"role": "client"}'])
def test_a_damaged_kit_is_refused(text: str, tmp_path: Path) -> None:
    from fedclust.deploy.kits import read_kit

    (tmp_path / "fedclust.json").write_text(text)
    with pytest.raises(ConfigError, match="not readable"):
        read_kit(tmp_path, "client")
