"""Check whether a kit can run; each failed check says what to do."""

import contextlib
import json
import os
import socket
import sys
from collections.abc import Iterator
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from .. import __version__
from ..client.config import CLIENT_FILE, ClientConfig, read_client_config
from ..client.consent import allow_split_columns
from ..client.identities import IDENTITY, PEERS, fingerprint, read_enrolment
from ..clustering.preparation import Column
from ..core import ConfigError, FedclustError
from ..core.device import check_device
from ..privacy.crypto import signing_public
from ..tiers import TIERS
from .damage import check_files
from .kits import CLIENT_COMPONENT, SERVER_COMPONENT, Kit, read_kit
from .run_client import RENEWAL_DAYS, find_readable_keys
from .system import check_system


class Check(NamedTuple):
    """The result of one check."""

    name: str
    ok: bool
    message: str


def examine_kit(folder: Path) -> list[Check]:
    """Run all checks on the kit of a client, of the server or of the coordinator."""
    kit = _read_any_kit(folder)
    checks = [_check_system(), _check_software(), _check_files(kit)]
    checks += [_check_certificate(kit), _check_keys(kit)]
    if kit.role == "client":
        more = [_check_policy(kit), *_check_identity(kit), *_check_client(kit)]
        more += [_check_server_name(kit), _check_connection(kit)]
    elif kit.role == "server":
        more = [_check_policy(kit), _check_server_name(kit), _check_port(kit)]
    else:
        more = [_check_server_name(kit)]
    return [*checks, *more]


def _read_any_kit(folder: Path) -> Kit:
    for role in ("server", "admin"):
        with contextlib.suppress(FedclustError):
            return read_kit(folder, role)
    return read_kit(folder, "client")


def _check_system() -> Check:
    try:
        notice = check_system()
    except FedclustError as error:
        return Check("system", False, str(error))
    return Check("system", notice is None, notice or sys.platform)


def _check_software() -> Check:
    try:
        version = metadata.version("nvflare")
    except metadata.PackageNotFoundError:
        return Check("software", False, "NVFlare is missing: pip install 'fedclust[nvflare]'")
    return Check("software", True, f"fedclust {__version__}, NVFlare {version}")


def _check_files(kit: Kit) -> Check:
    try:
        check_files(kit)
    except FedclustError as error:
        return Check("files", False, str(error))
    return Check("files", True, "settings of the engine are readable")


def _check_certificate(kit: Kit) -> Check:
    from ..channels.nvflare.certificates import days_left

    try:
        days = days_left(kit.folder / "startup", kit.role, kit.name)
    except PermissionError as error:
        return Check("certificate", False, _explain_permissions(Path(error.filename)))
    except (OSError, ValueError) as error:
        return Check("certificate", False, f"not usable: {error}")
    text = f"of {kit.name!r}, expires in {days} days"
    if days < RENEWAL_DAYS:
        return Check("certificate", False, f"{text}; ask the coordinator for a renewal")
    return Check("certificate", True, text)


def _check_keys(kit: Kit) -> Check:
    if readable := find_readable_keys(kit.folder):
        files = " ".join(map(str, readable))
        return Check("keys", False, f"other users can read them: chmod 600 {files}")
    return Check("keys", True, "readable only by their owner")


def _explain_permissions(file: Path) -> str:
    return (
        f"no permission to read {file}: run this command as the user who runs the client, and make "
        "that user the owner of the whole kit (chown -R)"
    )


def _check_identity(kit: Kit) -> Iterator[Check]:
    """Check that the clients know each other's identities without relying on the server."""
    try:
        identity, peers = read_enrolment(kit.folder)
    except FedclustError as error:
        yield Check("identity", False, str(error))
        return
    if peers is None:
        yield Check(
            "identity",
            not _requires_masks(kit),
            f"{PEERS} is missing: this client has to trust the server about the other clients, and "
            "the server could impersonate them; ask the coordinator for the file",
        )
        return
    if identity is not None and peers.get(kit.name) != signing_public(identity):
        text = f"{kit.folder / PEERS} lists a key for {kit.name!r} that does not match {IDENTITY}"
        yield Check("identity", False, f"{text}: other clients would reject this client")
    else:
        yield Check("identity", True, f"{IDENTITY} matches {PEERS}")
    others = sorted(set(peers) - {kit.name})
    text = f"{', '.join(others) or 'none'}; the fingerprint must be the same at every client"
    yield Check("peers", True, f"{text}: {fingerprint(peers)}")


def _requires_masks(kit: Kit) -> bool:
    """Whether this client requires a tier that masks sums, for which it must know its peers."""
    with contextlib.suppress(FedclustError):
        return TIERS[read_client_config(kit.folder / CLIENT_FILE).consent.privacy].masks
    return False


def _check_policy(kit: Kit) -> Check:
    """Check that the kit still admits no code and gives no remote access."""
    from ..channels.nvflare.job import CONTROLLER, EXECUTOR
    from ..channels.nvflare.provision import POLICY

    local = kit.folder / "local"
    classes = {"client": [EXECUTOR, CLIENT_COMPONENT], "server": [CONTROLLER, SERVER_COMPONENT]}[
        kit.role
    ]
    try:
        resources = json.loads((local / "resources.json").read_text())
        rights = json.loads((local / "authorization.json").read_text())
    except (OSError, ValueError) as error:
        return Check("policy", False, f"not readable ({error}); ask the coordinator for a new kit")
    if not isinstance(resources, dict):
        return Check("policy", False, "not readable; ask the coordinator for a new kit")
    same = resources.get("class_allow_list") == classes and rights == POLICY
    if not same or resources.get("class_list_enforcement_mode") != "enforce":
        return Check(
            "policy", False, f"{local} was changed and allows more than fedclust; ask for a new kit"
        )
    return Check("policy", True, "only classes of fedclust, no code, no remote access to files")


def _check_client(kit: Kit) -> Iterator[Check]:
    try:
        file = read_client_config(kit.folder / CLIENT_FILE)
        files = file.open_files(kit.name)
    except FedclustError as error:
        yield Check("data", False, str(error))
        return
    allowed = file.consent.columns
    numbers = [name for name in files.numbers if not allowed or name in allowed]
    problems, counted = files.check([Column(name) for name in allowed or numbers])
    text = f"{counted.rows:,} rows, {counted.complete:,} of them without missing values"
    yield Check("data", counted.rows > 0, f"{text}; numeric: {', '.join(numbers)}")
    for path, reading in files.readings.items():
        if reading.text:
            yield Check("data", True, f"{path.name}: {reading.text}")
    for one in problems:
        # Text may be categories, and numbers can be derived from dates.
        usable = one.code in ("not-numeric", "dates") or not one.blocking
        yield Check(one.column or "data", usable, one.text)
    if file.consent.split_columns:
        yield _split_columns(file)
    yield _device(file)
    for setting, name in asdict(file.output).items():
        target = file.place(name)
        nearest = next(p for p in (target, *target.parents) if p.exists())
        if os.access(nearest, os.W_OK):
            yield Check(setting, True, f"written to {target}")
        else:
            yield Check(setting, False, f"no permission to write {target}")


def _device(file: ClientConfig) -> Check:
    try:
        return Check("device", True, f"steps run on the {check_device(file.compute.device)}")
    except ConfigError as error:
        return Check("device", False, str(error))


def _split_columns(file: ClientConfig) -> Check:
    try:
        allow_split_columns(file)
    except FedclustError as error:
        return Check("split columns", False, str(error))
    return Check("split columns", True, f"allowed; records are matched by {file.data.id!r}")


def _check_server_name(kit: Kit) -> Check:
    host = kit.federation.server
    try:
        address = socket.gethostbyname(host)
    except OSError:
        return Check("server name", False, f"cannot resolve {host!r}: check DNS or /etc/hosts")
    return Check("server name", True, f"{host} is {address}")


def _check_connection(kit: Kit) -> Check:
    from ..channels.nvflare.certificates import check_handshake

    host, port = kit.federation.server, kit.federation.port
    try:
        failure = check_handshake(kit.folder / "startup", host, port)
    except (OSError, ValueError) as error:
        return Check("connection", False, f"the certificates are not readable ({error})")
    if failure:
        hint = "is the server running, and does the firewall allow outgoing connections?"
        return Check("connection", False, f"{host}, port {port}: {failure}; {hint}")
    return Check("connection", True, f"{host}, port {port}: mutual TLS works")


def _check_port(kit: Kit) -> Check:
    from ..channels.nvflare.process import is_free

    port = kit.federation.port
    if not is_free(port):
        return Check("port", False, f"{port} is in use; is a server already running?")
    return Check("port", True, f"{port} is free")
