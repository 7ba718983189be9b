"""What the doctor finds at the other end of the line."""

import contextlib
import re
import shutil
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("nvflare", reason="kits need fedclust[nvflare]")
from fedclust.channels.nvflare.certificates import check_handshake, proxy_for
from fedclust.deploy.federation_file import read_federation
from fedclust.deploy.kits import provision

from ..support.federation_files import written
from ..support.proxy import proxy


@pytest.fixture(scope="module")
def kits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("handshake")
    provision(read_federation(written(folder)), folder / "kits")
    provision(read_federation(written(folder)), folder / "others")
    return folder / "kits"


@contextlib.contextmanager
def listening(startup: Path) -> Iterator[int]:
    """A server that demands a certificate of its own authority, and then says a byte."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=startup / "rootCA.pem")
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(startup / "server.crt", startup / "server.key")

    def answer() -> None:
        with contextlib.suppress(OSError):
            connection, _ = listener.accept()
            with connection, context.wrap_socket(connection, server_side=True) as secure:
                secure.sendall(b"x")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        thread.join(timeout=10)


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("grpc_proxy", "https_proxy", "http_proxy", "no_grpc_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)


def test_both_sides_accept(kits: Path) -> None:
    with listening(kits / "server" / "startup") as port:
        assert check_handshake(kits / "clients" / "north" / "startup", "localhost", port) == ""


def test_a_server_of_another_federation_answers(kits: Path) -> None:
    with listening(kits.parent / "others" / "server" / "startup") as port:
        problem = check_handshake(kits / "clients" / "north" / "startup", "localhost", port)
    assert "no certificate of this federation" in problem
    assert "a proxy that intercepts TLS" in problem


def test_the_server_does_not_know_this_certificate(kits: Path, tmp_path: Path) -> None:
    shutil.copytree(kits.parent / "others" / "clients" / "north" / "startup", tmp_path / "startup")
    shutil.copy(kits / "server" / "startup" / "rootCA.pem", tmp_path / "startup")
    with listening(kits / "server" / "startup") as port:
        problem = check_handshake(tmp_path / "startup", "localhost", port)
    assert re.search("TLS handshake failed|does not accept|no connection", problem)


def test_no_server_answers(kits: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    problem = check_handshake(kits / "clients" / "north" / "startup", "localhost", port)
    assert problem == "no connection (Connection refused)"


def test_the_doctor_goes_through_the_proxy_that_grpc_takes(
    kits: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    north = kits / "clients" / "north" / "startup"
    with proxy() as between, listening(kits / "server" / "startup") as port:
        monkeypatch.setenv("grpc_proxy", between.address.replace("//", "//ana:p%40ss@"))
        assert check_handshake(north, "localhost", port) == ""
    assert between.asked == [f"CONNECT localhost:{port} YW5hOnBAc3M="]  # ana:p@ss
    problem = check_handshake(north, "localhost", port)
    assert problem.startswith("no connection (through the proxy 127.0.0.1:")


@pytest.mark.parametrize(
    ("environment", "found"),
    [
        ({}, None),
        ({"http_proxy": "http://a:1"}, "a"),
        ({"http_proxy": "http://a:1", "https_proxy": "http://b:1"}, "b"),
        ({"https_proxy": "http://b:1", "grpc_proxy": "http://c:1"}, "c"),
        ({"http_proxy": "http://a:1", "no_proxy": "x.org, example.org"}, None),
        ({"http_proxy": "http://a:1", "no_proxy": "example.org", "no_grpc_proxy": "x"}, "a"),
        ({"http_proxy": "http://a:1", "no_proxy": ","}, "a"),
    ],
)
def test_which_proxy_is_taken(environment: dict[str, str], found: str | None) -> None:
    chosen = proxy_for("fed.example.org", environment)
    assert (chosen and chosen.hostname) == found
