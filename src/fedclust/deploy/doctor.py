"""Look whether a kit can run: every check at once, each with what to do."""

import contextlib
import json
import os
import socket
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
from ..core import FedclustError
from ..privacy.crypto import signing_public
from ..tiers import TIERS
from .kits import ANSWERS, ASKS, Kit, read_kit
from .run_client import FEW_DAYS, loose_keys


class Check(NamedTuple):
    """One thing that was looked at."""

    what: str
    good: bool
    says: str


def examine_kit(folder: Path) -> list[Check]:
    """All checks of a client's, the server's or the coordinator's kit."""
    kit = _any(folder)
    checks = [_installed(), _certificate(kit), _private(kit)]
    if kit.role == "client":
        more = [_policy(kit), *_identity(kit), *_client(kit), _resolves(kit), _reachable(kit)]
    elif kit.role == "server":
        more = [_policy(kit), _resolves(kit), _port_free(kit)]
    else:
        more = [_resolves(kit)]
    return [*checks, *more]


def _any(folder: Path) -> Kit:
    for role in ("server", "admin"):
        with contextlib.suppress(FedclustError):
            return read_kit(folder, role)
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
        days = days_left(kit.folder / "startup", kit.role, kit.name)
    except PermissionError as problem:
        return Check("certificate", False, _not_mine(Path(problem.filename)))
    except (OSError, ValueError) as problem:
        return Check("certificate", False, f"not usable: {problem}")
    words = f"of {kit.name!r}, ends in {days} days"
    if days < FEW_DAYS:
        return Check("certificate", False, f"{words}: ask the coordinator for a renewal")
    return Check("certificate", True, words)


def _private(kit: Kit) -> Check:
    if loose := loose_keys(kit.folder):
        return Check("keys", False, f"others can read them: chmod 600 {' '.join(map(str, loose))}")
    return Check("keys", True, "readable by their owner alone")


def _not_mine(file: Path) -> str:
    return (
        f"{file} belongs to another user than the one who asks: run this as the user of the "
        "client, to whom the whole kit has to belong (chown -R)"
    )


def _identity(kit: Kit) -> Iterator[Check]:
    """Whether the client is known to the others, and they to it, but by the server."""
    try:
        identity, peers = read_enrolment(kit.folder)
    except FedclustError as problem:
        yield Check("identity", False, str(problem))
        return
    if peers is None:
        yield Check(
            "identity",
            not _hides(kit),
            f"there is no {PEERS}: the server is believed about who the other clients are, and "
            "could pose as them; ask the coordinator for it",
        )
        return
    if identity is not None and peers.get(kit.name) != signing_public(identity):
        words = f"{kit.folder / PEERS} has another one for {kit.name!r} than {IDENTITY} is"
        yield Check("identity", False, f"{words}: the others would refuse this client")
    else:
        yield Check("identity", True, "the one by which the others know this client")
    others = sorted(set(peers) - {kit.name})
    words = f"{', '.join(others) or 'nobody'}; all lists must have the same fingerprint"
    yield Check("peers", True, f"{words}: {fingerprint(peers)}")


def _hides(kit: Kit) -> bool:
    """Whether this client demands to be hidden among others, and so has to know them."""
    with contextlib.suppress(FedclustError):
        return TIERS[read_client_config(kit.folder / CLIENT_FILE).consent.privacy].masks
    return False


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
        file = read_client_config(kit.folder / CLIENT_FILE)
        files = file.open_files(kit.name)
    except FedclustError as problem:
        yield Check("data", False, str(problem))
        return
    names = dict.fromkeys((*files.numbers, *file.consent.columns))
    problems, counted = files.check([Column(name) for name in names])
    words = f"{counted.rows:,} rows, {counted.complete:,} of them without gaps"
    yield Check("data", counted.rows > 0, f"{words}; numbers in {', '.join(files.numbers)}")
    for one in problems:
        usable = one.code == "not-numeric" or not one.blocking  # words may be categories
        yield Check(one.column or "data", usable, one.text)
    if file.consent.split_columns:
        yield _split_columns(file)
    for what, name in asdict(file.output).items():
        place = file.place(name)
        near = next(p for p in (place, *place.parents) if p.exists())
        if os.access(near, os.W_OK):
            yield Check(what, True, f"written to {place}")
        else:
            yield Check(what, False, f"this user cannot write {place}")


def _split_columns(file: ClientConfig) -> Check:
    try:
        allow_split_columns(file)
    except FedclustError as problem:
        return Check("split columns", False, str(problem))
    return Check("split columns", True, f"allowed; records are found by {file.data.id!r}")


def _resolves(kit: Kit) -> Check:
    host = kit.federation.server
    try:
        address = socket.gethostbyname(host)
    except OSError:
        return Check("server's name", False, f"{host!r} is not known here: DNS, or /etc/hosts")
    return Check("server's name", True, f"{host} is {address}")


def _reachable(kit: Kit) -> Check:
    from ..channels.nvflare.certificates import check_handshake

    host, port = kit.federation.server, kit.federation.port
    try:
        trouble = check_handshake(kit.folder / "startup", host, port)
    except (OSError, ValueError) as problem:
        return Check("connection", False, f"the certificates are not readable ({problem})")
    if trouble:
        hint = "is the server running, and does the firewall let connections out?"
        return Check("connection", False, f"{host}, port {port}: {trouble}; {hint}")
    return Check("connection", True, f"{host}, port {port}: both sides accept each other")


def _port_free(kit: Kit) -> Check:
    from ..channels.nvflare.process import is_free

    port = kit.federation.port
    if not is_free(port):
        return Check("port", False, f"{port} is taken; is a server running already?")
    return Check("port", True, f"{port} is free")
