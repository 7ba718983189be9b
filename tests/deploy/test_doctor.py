"""`fedclust doctor` on kits in every state."""

import json
import re
import shutil
import time
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nvflare", reason="kits need fedclust[nvflare]")
from fedclust.client.identities import fingerprint, read_peers, renew_identity, write_peers
from fedclust.deploy.doctor import examine_kit
from fedclust.deploy.federation_file import read_federation
from fedclust.deploy.kits import provision

from ..support.federation_files import FEDERATION, written

THREE = FEDERATION + 'west = "West clinic"\n'


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("federation")
    provision(read_federation(written(folder, THREE)), folder / "kits")
    return folder / "kits"


@pytest.fixture
def kits(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "kits")
    for client in ("north", "south"):
        (tmp_path / "kits/clients" / client / "data.csv").write_text("age,weight\n1,2\n3,4\n")
    return tmp_path / "kits"


class TestDoctor:
    """`fedclust doctor` on a kit in every state."""

    @pytest.fixture
    def kit(self, kits: Path, tmp_path: Path) -> Path:
        shutil.copytree(kits / "clients" / "north", tmp_path / "north")
        (tmp_path / "north" / "data.csv").write_text("age,weight\n1,2\n3,4\n")
        return tmp_path / "north"

    def bad(self, kit: Path) -> dict[str, str]:
        return {check.name: check.message for check in examine_kit(kit) if not check.ok}

    def test_all_is_well_but_for_the_server_that_is_not_there(self, kit: Path) -> None:
        found = self.bad(kit)
        assert list(found) == ["connection"]
        assert "is the server running" in found["connection"]

    def test_the_server_kit(self, kits: Path, tmp_path: Path) -> None:
        import socket

        server = tmp_path / "server"
        shutil.copytree(kits / "server", server)
        with socket.socket() as taken:
            taken.bind(("", 0))
            port = taken.getsockname()[1]
            for file in (server / "fedclust.json", server / "startup" / "fed_server.json"):
                file.write_text(file.read_text().replace("8123", str(port)))
            taken.listen()
            assert "is in use" in self.bad(server)["port"]
        assert self.bad(server) == {}

    def test_data_that_is_not_there(self, kit: Path) -> None:
        (kit / "data.csv").unlink()
        assert "there is no file" in self.bad(kit)["data"]

    def test_an_id_that_is_not_there(self, kit: Path) -> None:
        (kit / "client.toml").write_text('[data]\nfile = "data.csv"\nid = "patient"\n')
        assert self.bad(kit)["patient"] == "the id column does not exist"

    def test_what_columns_hold(self, kit: Path) -> None:
        (kit / "data.csv").write_text("age,weight,town\n1,2,a\nnan,2,b\n5,x,a\n7,4,b\n")
        allowed = 'columns = ["age", "town", "bmi"]'
        (kit / "client.toml").write_text(f'[data]\nfile = "data.csv"\n[consent]\n{allowed}\n')
        found = {check.name: check for check in examine_kit(kit)}
        assert "town" not in self.bad(kit)  # words can be categories
        assert self.bad(kit)["bmi"] == "the column does not exist"
        said = [check.message for check in examine_kit(kit) if check.name == "data"]
        assert "4 rows, 3 of them without missing values; numeric: age" in said
        assert found["town"].message.startswith("is not numeric (0 of 4 values are numbers;")

    def test_owners_of_columns_have_an_id_and_a_secret(self, kit: Path) -> None:
        text = '[data]\nfile = "data.csv"\nid = "age"\n{}[consent]\nsplit_columns = true\n'
        (kit / "client.toml").write_text(text.format(""))
        assert "needs secret under [data]" in self.bad(kit)["split columns"]
        (kit / "client.toml").write_text(text.format('secret = "short"\n'))
        assert "16" in self.bad(kit)["data"]  # client.toml itself is refused
        (kit / "client.toml").write_text(text.format('secret = "only the three of us"\n'))
        assert "split columns" not in self.bad(kit)

    def test_a_key_that_others_can_read(self, kit: Path) -> None:
        (kit / "startup" / "client.key").chmod(0o644)
        assert "chmod 600" in self.bad(kit)["keys"]

    def test_a_policy_that_was_loosened(self, kit: Path) -> None:
        path = kit / "local" / "resources.json"
        path.write_text(path.read_text().replace('"enforce"', '"warn"'))
        assert "allows more than fedclust" in self.bad(kit)["policy"]
        path.write_text("{")
        assert "not readable" in self.bad(kit)["policy"]

    @pytest.mark.parametrize(
        "name", ["startup/fed_client.json", "local/resources.json", "local/log_config.json"]
    )
    def test_damaged_settings_of_the_engine(self, kit: Path, name: str) -> None:
        path = kit / name
        whole = path.read_bytes()
        for damaged in (whole[: len(whole) // 2], b"", b"[]", b"\xff" + whole):
            path.write_bytes(damaged)
            text = self.bad(kit)["files"]
            assert text.startswith(f"{path} is damaged: it is not the JSON that a kit has")
            assert text.endswith("unpack the kit again, or ask the coordinator for a renewal")
        path.unlink()
        assert self.bad(kit)["files"].startswith(f"{path} is missing; ")

    def test_settings_that_name_another_server(self, kit: Path) -> None:
        path = kit / "startup" / "fed_client.json"
        path.write_text(path.read_text().replace("8123", "8124"))
        assert "it does not name the server" in self.bad(kit)["files"]
        path.write_text('{"servers": []}')
        assert "it does not name the server" in self.bad(kit)["files"]

    @pytest.mark.parametrize("name", ["client.crt", "client.key", "rootCA.pem"])
    def test_damaged_certificates_and_keys_are_named(self, kit: Path, name: str) -> None:
        path = kit / "startup" / name
        whole = path.read_bytes()
        for damaged in (whole[: len(whole) // 2], b"", bytes(whole[:99])):
            path.write_bytes(damaged)
            text = self.bad(kit)["certificate"]
            assert f"{name} is damaged; unpack the kit again" in text
            assert "http" not in text
        path.unlink()
        assert f"{name} is missing; unpack the kit again" in self.bad(kit)["certificate"]
        for place in range(150, 400, 50):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
            assert "http" not in self.bad(kit).get("certificate", "")

    def test_a_foreign_authority_or_key(self, kit: Path, kits: Path, tmp_path: Path) -> None:
        south = kits / "clients" / "south" / "startup"
        shutil.copy(south / "client.key", kit / "startup" / "client.key")
        assert "does not match the certificate" in self.bad(kit)["certificate"]
        shutil.copy(south / "client.crt", kit / "startup" / "rootCA.pem")
        assert "not signed" in self.bad(kit)["certificate"]
        (kit / "startup" / "client.crt").write_text("no certificate")
        found = self.bad(kit)
        assert "not usable" in found["certificate"]
        assert "connection" in found

    def test_a_certificate_of_another_kit(self, kit: Path, kits: Path) -> None:
        shutil.rmtree(kit / "startup")
        shutil.copytree(kits / "clients" / "south" / "startup", kit / "startup")
        assert "it belongs to 'south'; startup/ is from another kit" in self.bad(kit)["certificate"]

    def test_a_server_without_a_name(self, kit: Path) -> None:
        about = json.loads((kit / "fedclust.json").read_text())
        about["federation"]["server"] = "no-such-host.invalid"
        (kit / "fedclust.json").write_text(json.dumps(about))
        assert "cannot resolve" in self.bad(kit)["server name"]

    @pytest.mark.parametrize(
        ("days", "says"),
        [
            (-1, "not valid before .* check this machine's clock"),
            (331, "expires in 28 days; ask the coordinator for a renewal"),
            (361, "it expired on .*; ask the coordinator for a renewal"),
        ],
    )
    def test_a_certificate_out_of_its_time(
        self, kit: Path, days: int, says: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from fedclust.channels.nvflare import certificates

        class Later(datetime):
            @classmethod
            def now(cls, tz: tzinfo | None = None) -> "Later":
                return cls.fromtimestamp(time.time() + days * 86_400, tz)

        monkeypatch.setattr(certificates, "datetime", Later)
        assert re.search(says, self.bad(kit)["certificate"])

    def test_software_that_is_missing(self, kit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        from importlib import metadata

        def missing(name: str) -> str:
            raise metadata.PackageNotFoundError

        monkeypatch.setattr(metadata, "version", missing)
        assert "pip install" in self.bad(kit)["software"]


class TestIdentities:
    """What `fedclust doctor` says of identities."""

    def found(self, kit: Path) -> dict[str, Any]:
        return {check.name: check for check in examine_kit(kit)}

    def test_a_client_that_is_known_and_knows_the_others(self, kits: Path) -> None:
        found = self.found(kits / "clients" / "north")
        assert found["identity"].ok
        assert found["peers"].ok
        assert "south, west" in found["peers"].message
        assert fingerprint(read_peers(kits / "peers.json")) in found["peers"].message

    def test_a_client_that_believes_the_server(self, kits: Path) -> None:
        north = kits / "clients" / "north"
        (north / "peers.json").unlink()
        assert not self.found(north)["identity"].ok  # a kit requires masks, which it cannot have
        (north / "client.toml").write_text('[data]\nfile = "data.csv"\n')
        found = self.found(north)
        assert found["identity"].ok
        assert "has to trust the server about the other clients" in found["identity"].message
        assert "peers" not in found
        (north / "client.toml").write_text("not toml")
        assert self.found(north)["identity"].ok

    def test_a_secret_that_is_missing_or_not_the_listed_one(self, kits: Path) -> None:
        north = kits / "clients" / "north"
        listed = read_peers(north / "peers.json")
        renew_identity(north, "north")
        write_peers(north / "peers.json", listed)
        assert "that does not match identity.key" in self.found(north)["identity"].message
        (north / "identity.key").unlink()
        assert "identity.key is missing" in self.found(north)["identity"].message
        (north / "identity.key").write_text("no key")
        assert "must hold 64 hexadecimal digits" in self.found(north)["identity"].message

    def test_a_secret_that_others_can_read(self, kits: Path) -> None:
        north = kits / "clients" / "north"
        (north / "identity.key").chmod(0o640)
        keys = self.found(north)["keys"]
        assert not keys.ok
        assert f"chmod 600 {north / 'identity.key'}" in keys.message

    def test_the_coordinators_kit(self, kits: Path) -> None:
        found = self.found(kits / "admin")
        assert set(found) == {"system", "software", "files", "certificate", "keys", "server name"}
        assert all(check.ok for check in found.values())
