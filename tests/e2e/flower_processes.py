"""Flower as real processes on this machine: a SuperLink over TLS, and SuperNodes with keys."""

import contextlib
import datetime
import ipaddress
import os
import ssl
import sys
import urllib.request
from pathlib import Path
from typing import Any, ClassVar

import psutil
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from fedclust.deploy.flower.folder import ENVIRONMENT

from .processes import Command, closed_at_the_end, free_port, tables, wait_for

CLIENTS = ("north", "south")
BIN = Path(sys.executable).parent
_PEM = serialization.Encoding.PEM


class FlowerCommand(Command):
    """A command of Flower."""

    program: ClassVar[tuple[str, ...]] = ()


class Flower:
    """Certificates, keys, data and a study in a folder, and the processes started on them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.commands: list[Command] = []
        write_certificates(folder)
        self.address = f"127.0.0.1:{self.port}"
        home = self.home("coordinator")
        (home / "config.toml").write_text(
            f'[superlink]\ndefault = "here"\n[superlink.here]\naddress = "{self.address}"\n'
            f'root-certificates = "{folder / "ca.crt"}"\n'
        )
        self.tables = {client: tables(200)[client] for client in CLIENTS}
        for client, table in self.tables.items():
            self.write_client(client, table)

    def home(self, name: str) -> Path:
        """A folder for all of Flower's own files."""
        home = self.folder / f"home-{name}"
        home.mkdir(exist_ok=True)
        return home

    def write_client(self, client: str, table: Any) -> None:
        kit = self.folder / client
        kit.mkdir()
        rows = [f"{client}{i},{a!r},{b!r}" for i, (a, b) in enumerate(table.tolist())]
        (kit / "people.csv").write_text("\n".join(["person,height,width", *rows]) + "\n")
        (kit / "client.toml").write_text('[data]\nfile = "people.csv"\nid = "person"\n')
        key = ec.generate_private_key(ec.SECP384R1())
        secret, public = kit / "key", kit / "key.pub"
        openssh = serialization.PrivateFormat.OpenSSH
        secret.write_bytes(key.private_bytes(_PEM, openssh, serialization.NoEncryption()))
        secret.chmod(0o600)
        encoding, form = serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
        public.write_bytes(key.public_key().public_bytes(encoding, form))

    def command(self, home: str, program: str, *words: str) -> FlowerCommand:
        log = self.folder / f"{home}-{len(self.commands)}.out"
        env = {
            **ENVIRONMENT,
            "FLWR_HOME": str(self.home(home)),
            "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.2",
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",  # Flower starts its own by name
            "PYTHONWARNINGS": "ignore",
        }
        made = FlowerCommand(log, str(BIN / program), *words, env=env)
        self.commands.append(made)
        return made

    def superlink(self, *more: str) -> FlowerCommand:
        files = {"ca-certfile": "ca.crt", "certfile": "server.crt", "keyfile": "server.key"}
        tls = [w for k, file in files.items() for w in (f"--ssl-{k}", str(self.folder / file))]
        where = ["--host", "127.0.0.1", "--port", str(self.port)]
        words = [*where, *tls, *(more or ("--enable-supernode-auth",))]
        words.append("--disable-runtime-dependency-installation")
        made = self.command("superlink", "flower-superlink", *words)
        wait_for(self.is_up, "the SuperLink", meanwhile=made.family)
        return made

    def is_up(self) -> bool:
        trusted = ssl.create_default_context(cafile=str(self.folder / "ca.crt"))
        try:
            url = f"https://{self.address}/health"
            with urllib.request.urlopen(url, timeout=5, context=trusted) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def start(self) -> None:
        """Start a SuperLink that knows the keys of all SuperNodes, and the SuperNodes."""
        self.superlink()
        keys = [str(self.folder / client / "key.pub") for client in CLIENTS]
        for done in [self.flwr("supernode", "register", key, "here") for key in keys]:
            assert done.ends() == 0, done.said()
        for client in CLIENTS:
            self.supernode(client)

    def run(self, app: Path, seconds: float, *more: str) -> str:
        """Run an app to its end and return its output."""
        ran = self.flwr("run", str(app), "here", "--stream", *more)
        assert ran.ends(seconds) == 0, ran.said()
        return ran.said()

    def supernode(self, client: str) -> FlowerCommand:
        kit = self.folder / client
        words = ["--superlink", self.address, "--root-certificates", str(self.folder / "ca.crt")]
        words += ["--auth-supernode-private-key", str(kit / "key")]
        words += ["--host", "127.0.0.1", "--port", str(free_port())]
        words += ["--node-config", f'fedclust-name="{client}" fedclust-kit="{kit}"']
        return self.command(client, "flower-supernode", *words)

    def flwr(self, *words: str) -> FlowerCommand:
        return self.command("coordinator", "flwr", *words)

    def close(self) -> None:
        """End all processes, including those that were started later."""
        for command in self.commands:
            command.family()
        for command in reversed(self.commands):
            command.stop()
        with contextlib.suppress(AssertionError):
            wait_for(lambda: not self.left(), "Flower's own end", 10)
        for process in self.left():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(self.left(), timeout=10)
        assert not self.left()

    def left(self) -> list[psutil.Process]:
        """Processes of this federation, recognised by their FLWR_HOME."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                home = process.environ().get("FLWR_HOME", "")
                if home.startswith(f"{self.folder}{os.sep}") and process.status() != "zombie":
                    found.append(process)
        return found


def flower(folder: Path) -> contextlib.AbstractContextManager[Flower]:
    """A Flower federation whose processes end with the block."""
    return closed_at_the_end(Flower(folder))


def write_certificates(folder: Path) -> None:
    """Write an authority valid for one day, and a server certificate for 127.0.0.1 signed by it."""
    ca_key, key = (ec.generate_private_key(ec.SECP384R1()) for _ in range(2))
    ca = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test authority")])
    host = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    use = x509.KeyUsage(True, *(False,) * 4, True, True, False, False)
    roots = [(x509.BasicConstraints(True, 0), True), (use, True)]
    for name, subject, its_key, extensions in (
        ("ca", ca, ca_key, roots),
        ("server", host, key, [(address, False)]),
    ):
        now = datetime.datetime.now(datetime.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(ca)
            .public_key(its_key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(days=1))
        )
        for extension, critical in extensions:
            builder = builder.add_extension(extension, critical)
        made = builder.sign(ca_key, hashes.SHA384())
        (folder / f"{name}.crt").write_bytes(made.public_bytes(_PEM))
        form = serialization.PrivateFormat.PKCS8
        secret = its_key.private_bytes(_PEM, form, serialization.NoEncryption())
        (folder / f"{name}.key").write_bytes(secret)
        (folder / f"{name}.key").chmod(0o600)
