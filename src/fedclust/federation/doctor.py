"""Look whether a kit can run: every check at once, each with what to do."""

import contextlib
import json
import os
import socket
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from .. import __version__
from ..core import FedclustError
from ..data.files import read_table
from .client_file import CLIENT_FILE, read_client_file
from .kits import ANSWERS, ASKS, Kit, read_kit

_FEW_DAYS = 30


class Check(NamedTuple):
    """One thing that was looked at."""

    what: str
    good: bool
    says: str


def examine_kit(folder: Path) -> list[Check]:
    """All checks of a client's or the server's kit."""
    kit = _either(folder)
    checks = [_installed(), _certificate(kit), _private(kit), _policy(kit)]
    if kit.role == "client":
        return [*checks, *_client(kit), _resolves(kit), _reachable(kit)]
    return [*checks, _resolves(kit), _port_free(kit)]


def _either(folder: Path) -> Kit:
    with contextlib.suppress(FedclustError):
        return read_kit(folder, "server")
    return read_kit(folder, "client")


def _installed() -> Check:
    try:
        found = metadata.version("nvflare")
    except metadata.PackageNotFoundError:
        return Check("software", False, "NVFlare is missing: pip install 'fedclust[nvflare]'")
    return Check("software", True, f"fedclust {__version__}, NVFlare {found}")


def _certificate(kit: Kit) -> Check:
    from ..channels.nvflare.certificates import days_left

    try:
        days = days_left(kit.folder / "startup", kit.role)
    except (OSError, ValueError) as problem:
        return Check("certificate", False, f"not usable: {problem}; ask for a new kit")
    if days < 0:
        return Check("certificate", False, f"ended {-days} days ago; ask for a new kit")
    return Check("certificate", days >= _FEW_DAYS, f"of {kit.name!r}, ends in {days} days")


def _private(kit: Kit) -> Check:
    loose = [k.name for k in (kit.folder / "startup").glob("*.key") if k.stat().st_mode & 0o077]
    if loose:
        return Check("key", False, f"others can read {', '.join(loose)}: chmod 600")
    return Check("key", True, "readable by its owner alone")


def _policy(kit: Kit) -> Check:
    """Whether the kit still lets in no code and nobody."""
    from ..channels.nvflare.job import CONTROLLER, EXECUTOR
    from ..channels.nvflare.provision import POLICY

    local = kit.folder / "local"
    classes = {"client": [EXECUTOR, ANSWERS], "server": [CONTROLLER, ASKS]}[kit.role]
    try:
        resources = json.loads((local / "resources.json").read_text())
        rights = json.loads((local / "authorization.json").read_text())
    except (OSError, ValueError) as problem:
        return Check("policy", False, f"not readable ({problem}); ask for a new kit")
    same = resources.get("class_allow_list") == classes and rights == POLICY
    if not same or resources.get("class_list_enforcement_mode") != "enforce":
        return Check("policy", False, f"{local} was changed: it lets in more than fedclust")
    return Check("policy", True, "only fedclust's own classes, no code, no reading of files")


def _client(kit: Kit) -> Iterator[Check]:
    try:
        file = read_client_file(kit.folder / CLIENT_FILE)
        files = file.files()
        table = read_table(files, file.data["gaps"], file.data["id"])
    except FedclustError as problem:
        yield Check("data", False, str(problem))
        return
    n = len(next(iter(table.values())))
    yield Check("data", n > 0, f"{n:,} rows, columns {', '.join(table)}")
    id = file.data["id"]
    if id is not None and id not in table:
        yield Check("id", False, f"there is no column {id!r}")
    for what in ("labels", "disclosures"):
        place = file.place(file.output[what])
        near = next(p for p in (place, *place.parents) if p.exists())
        yield Check(what, os.access(near, os.W_OK), f"written to {place}")


def _resolves(kit: Kit) -> Check:
    host = kit.federation["server"]
    try:
        address = socket.gethostbyname(host)
    except OSError:
        return Check("server's name", False, f"{host!r} is not known here: DNS, or /etc/hosts")
    return Check("server's name", True, f"{host} is {address}")


def _reachable(kit: Kit) -> Check:
    from ..channels.nvflare.certificates import shake_hands

    host, port = kit.federation["server"], kit.federation["port"]
    with _no_trouble() as trouble:
        trouble.append(shake_hands(kit.folder / "startup", host, port))
    if trouble[0]:
        return Check(
            "connection",
            False,
            f"{host}, port {port}: {trouble[0]}; is the server running, and does the firewall let "
            "connections out?",
        )
    return Check("connection", True, f"{host}, port {port}: both sides accept each other")


@contextlib.contextmanager
def _no_trouble() -> Iterator[list[str]]:
    found: list[str] = []
    try:
        yield found
    except (OSError, ValueError) as problem:
        found.append(f"the certificates are not readable ({problem})")


def _port_free(kit: Kit) -> Check:
    from ..channels.nvflare.process import is_free

    port = kit.federation["port"]
    if not is_free(port):
        return Check("port", False, f"{port} is taken; is a server running already?")
    return Check("port", True, f"{port} is free")
