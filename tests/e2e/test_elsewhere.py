"""Kits on other machines: unpacked by other programs, run by other users, behind a proxy."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("nvflare", reason="studies across machines need fedclust[nvflare]")
from ..support.proxy import proxy
from .processes import CLIENTS, Command, Federation, federation

pytestmark = pytest.mark.e2e

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
NOBODY, SOMEBODY = 65534, 65533


@pytest.fixture
def fed(tmp_path: Path) -> Iterator[Federation]:
    with federation(tmp_path) as made:
        yield made


def secure_study(folder: Path) -> Path:
    (folder / "study.toml").write_text(SECURE)
    return folder / "study.toml"


def owned(folder: Path, user: int) -> None:
    for path in (folder, *folder.rglob("*")):
        os.chown(path, user, user)


def can_run_python(user: int) -> bool:
    again = (
        "import os, sys; me = sys.executable; os.execv(me, [me, '-c', 'import fedclust, nvflare'])"
    )
    words = [*as_user(user), sys.executable, "-c", again]
    return subprocess.run(words, capture_output=True, check=False, env=BARE).returncode == 0


def as_user(user: int) -> list[str]:
    return ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]


# As for a service: no writable home folder.
BARE = {**os.environ, "HOME": "/nonexistent"}


class UserCommand(Command):
    """A command run by a user who owns only a kit."""

    def __init__(self, user: int, log: Path, *words: str) -> None:
        self.program = (*as_user(user), sys.executable, "-m", "fedclust")  # type: ignore[misc]
        super().__init__(log, *words, env={"HOME": "/nonexistent"})


@pytest.fixture
def common() -> Iterator[Path]:
    """A folder that all users may enter, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def unpacked(fed: Federation, client: str, user: int) -> Path:
    """Unpack a client's kit in the home of another user, with either of two programs."""
    home, packed = fed.folder / f"home-{client}", fed.folder / "kits" / "clients" / f"{client}.zip"
    home.mkdir(mode=0o700)
    if client == "north" or shutil.which("unzip") is None:
        shutil.unpack_archive(packed, home)  # forgets modes
    else:
        subprocess.run(["unzip", "-q", packed, "-d", home], check=True)
    for file in ("people.csv", "client.toml"):
        shutil.copy(fed.kit(client) / file, home / client / file)
    owned(home, user)
    return home / client


def test_kits_of_root_run_for_other_users_in_other_folders(common: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become other users")
    if shutil.which("setpriv") is None or not can_run_python(NOBODY):
        pytest.skip("other users cannot run this Python")
    users = dict(zip(CLIENTS, (NOBODY, NOBODY, SOMEBODY), strict=True))
    with federation(common) as fed:
        kits = {client: unpacked(fed, client, user) for client, user in users.items()}
        for client, user in users.items():
            log = fed.folder / f"{client}.out"
            fed.commands.append(UserCommand(user, log, "client", str(kits[client])))
        home = fed.folder / "home-server"
        home.mkdir(mode=0o700)
        for part in ("server", "admin"):
            shutil.copytree(fed.folder / "kits" / part, home / part)
        study = secure_study(home)
        owned(home, SOMEBODY)
        words = ("server", str(study), "--kits", str(home))
        server = UserCommand(SOMEBODY, fed.folder / "server.out", *words)
        fed.commands.append(server)
        assert server.ends() == 0, server.said()
        assert (home / "study-run" / "report.html").stat().st_uid == SOMEBODY
        assert not (home / "study-run" / "incidents.jsonl").exists()
        for client, kit in kits.items():
            (labels,) = (kit / "labels").glob("study-*.csv")
            assert labels.stat().st_uid == users[client]
            for key in (kit / "identity.key", kit / "startup" / "client.key"):
                assert key.stat().st_mode & 0o077 == 0


def test_a_client_behind_a_proxy_is_tunnelled_and_stays_known_by_its_certificate(
    fed: Federation,
) -> None:
    with proxy() as between:
        fed.client("north", env={"grpc_proxy": between.address})
        fed.client("south")
        fed.client("west")
        server = fed.server(secure_study(fed.folder))
        assert server.ends() == 0, server.said()
    assert set(between.asked) == {f"CONNECT localhost:{fed.port}"}
    assert list((fed.kit("north") / "labels").glob("study-*.csv"))
