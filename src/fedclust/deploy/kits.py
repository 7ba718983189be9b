"""Kits: folders with certificates and settings for the server and for each client.

::

    kits/
      authority/         the keys that sign certificates; they stay with the coordinator
      server/            used by 'fedclust server'
      admin/             the coordinator's certificate, used to submit studies; has peers.json, too
      clients/<name>/    one kit per client; also packed as <name>.zip
      revoked/<name>/    what is left of the kits of revoked clients
      peers.json         the clients' public identities; copied into every client's kit
"""

import contextlib
import json
import os
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from ..client.config import CLIENT_FILE
from ..client.identities import (
    IDENTITY,
    PEERS,
    Peers,
    read_peers,
    read_public_identity,
    write_peers,
    write_secret,
)
from ..core import ConfigError
from ..core.files import write_text
from ..follow.endpoint import FollowingEndpoints
from ..privacy.crypto import fresh_secret, signing_public
from ..settings import TomlFile
from .federation_file import Federation, FederationSettings
from .job import StudyJob
from .revocation import refuse_revoked
from .templates import client_readme, client_toml, coordinator_readme, server_readme

ABOUT = "fedclust.json"
# Paths of the only fedclust classes that a job may name at the server and at a client.
SERVER_COMPONENT, CLIENT_COMPONENT = (
    f"{kind.__module__}.{kind.__qualname__}" for kind in (StudyJob, FollowingEndpoints)
)


class Kit(NamedTuple):
    """A kit on disk, and its own description of role, name and federation."""

    folder: Path
    role: str
    name: str
    federation: FederationSettings


def read_kit(folder: Path, role: str) -> Kit:
    """Read the kit in a folder; raise if its role is another."""
    if not folder.is_dir():
        if folder.exists():
            raise ConfigError(f"{folder} is a file, not a folder: unpack it and give the folder")
        raise ConfigError(f"there is no folder {folder}")
    if not os.access(folder, os.R_OK | os.X_OK):
        raise ConfigError(
            f"no permission to read {folder}: the kit must belong to this user (chown -R)"
        )
    if not (folder / ABOUT).exists():
        nearby = sorted(_find_kits_below(folder, role))
        hint = f"; did you mean {' or '.join(nearby)}?" if nearby else ""
        raise ConfigError(f"{folder} is not a kit: it has no {ABOUT}{hint}")
    kit = _read(folder)
    if kit.role != role:
        raise ConfigError(f"{folder} is a {kit.role} kit (of {kit.name!r}); a {role} kit is needed")
    return kit


def _read(folder: Path) -> Kit:
    path = folder / ABOUT
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
        role, name, federation = about["role"], about["name"], dict(about["federation"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{path}: not readable ({error}); unpack the kit again") from None
    settings = TomlFile(path, {"federation": federation}).section(FederationSettings, "federation")
    return Kit(folder, role, name, settings)


def _find_kits_below(folder: Path, role: str) -> Iterator[str]:
    """Kits of a role inside this folder, in case a user gave the folder that holds all kits."""
    for about in (*folder.glob(f"*/{ABOUT}"), *folder.glob(f"*/*/{ABOUT}")):
        with contextlib.suppress(ConfigError):
            if _read(about.parent).role == role:
                yield str(about.parent)


class Provisioned(NamedTuple):
    """The kits that were made, and the clients for which the coordinator has to act."""

    new: list[str]  # names on the new kits
    outdated: list[str]  # clients whose kits have an older peers.json
    unknown: list[str]  # clients without a known identity


def provision(federation: Federation, folder: Path) -> Provisioned:
    """Make the kits that do not exist yet; existing kits do not change."""
    refuse_revoked(federation, folder)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    certificates = _make_certificates(federation, folder)
    kits = _kit_paths(federation, folder)
    new = [name for name, (kit, _) in kits.items() if not kit.exists()]
    identities = {name: fresh_secret() for name in new if name in federation.clients}
    before, peers = _collect_peers(federation, folder, identities)
    unknown = [client for client in federation.clients if client not in peers]
    write_peers(folder / PEERS, peers)
    for name in new:
        kit, role = kits[name]
        scratch = kit.with_name(f".{kit.name}.unfinished")
        shutil.rmtree(scratch, ignore_errors=True)
        _write_kit(scratch, certificates[name], federation, name, role)
        if role == "client":
            write_secret(scratch / IDENTITY, identities[name])
            if not unknown:  # clients that are not listed would be rejected
                write_peers(scratch / PEERS, peers)
        scratch.rename(kit)
        if role == "client":
            _zip_kit(kit, kit.name)
    write_peers(kits[federation.settings.coordinator][0] / PEERS, peers)
    write_text(folder / "README.md", coordinator_readme(federation))
    kept = [client for client in federation.clients if client not in new]
    return Provisioned(new, kept if peers != before else [], unknown)


def known_clients(folder: Path) -> frozenset[str]:
    """The clients of a federation, as far as a folder with kits knows them."""
    for path in (folder / PEERS, folder / "admin" / PEERS):
        if path.exists():
            return frozenset(read_peers(path))
    return frozenset()


def renew(federation: Federation, folder: Path) -> list[str]:
    """Give every kit a new certificate; old certificates stay valid until they expire.

    Only `startup/` and `fedclust.json` change. For clients, both are also packed as
    `<name>-renewal.zip`, to be unpacked over a kit that is in use.
    """
    from ..channels.nvflare.provision import copy_kit, forget_certificates

    kits = {n: p for n, p in _kit_paths(federation, folder).items() if p[0].exists()}
    if not kits:
        raise ConfigError(f"{folder} has no kits to renew; make them without --renew")
    forget_certificates(folder / "authority", federation.settings.name)
    certificates = _make_certificates(federation, folder)
    for name, (kit, role) in kits.items():
        scratch = kit.with_name(f".{kit.name}.renewed")
        shutil.rmtree(scratch, ignore_errors=True)
        copy_kit(certificates[name], scratch)
        shutil.rmtree(kit / "startup", ignore_errors=True)
        (scratch / "startup").rename(kit / "startup")
        shutil.rmtree(scratch)
        _write_description(kit, federation, name, role)
        if role == "client":
            _zip_kit(kit, f"{kit.name}-renewal", "startup", ABOUT)
    return list(kits)


def _kit_paths(federation: Federation, folder: Path) -> dict[str, tuple[Path, str]]:
    """Path and role of each kit, by the name in its certificate."""
    admin, server = federation.settings.coordinator, federation.settings.server
    kits = {server: (folder / "server", "server"), admin: (folder / "admin", "admin")}
    return kits | {c: (folder / "clients" / c, "client") for c in federation.clients}


def _make_certificates(federation: Federation, folder: Path) -> dict[str, Path]:
    """Make missing certificates; return the authority's folder for each name."""
    from ..channels.nvflare.provision import make_kits

    settings = federation.settings
    return make_kits(
        folder / "authority",
        name=settings.name,
        server=settings.server,
        addresses=settings.addresses,
        port=settings.port,
        admin=settings.coordinator,
        clients=federation.clients,
    )


def _collect_peers(
    federation: Federation, folder: Path, new: Mapping[str, bytes]
) -> tuple[Peers, Peers]:
    """The public identities before, and those of the present clients with the new ones."""
    before = read_peers(folder / PEERS) if (folder / PEERS).exists() else {}
    peers = {}
    for client in federation.clients:
        if client in new:
            peers[client] = signing_public(new[client])
        elif known := before.get(client) or read_public_identity(folder / "clients" / client):
            peers[client] = known
    return before, peers


def _write_kit(kit: Path, certificate: Path, federation: Federation, name: str, role: str) -> None:
    """Write a kit, except for identities."""
    from ..channels.nvflare.provision import copy_kit, lock_client, lock_server

    copy_kit(certificate, kit)
    kit.chmod(0o700)
    _write_description(kit, federation, name, role)
    if role == "client":
        lock_client(kit, CLIENT_COMPONENT)
        write_text(kit / CLIENT_FILE, client_toml(name))
        write_text(kit / "README.md", client_readme(name, federation))
    elif role == "server":
        lock_server(kit, SERVER_COMPONENT)
        write_text(kit / "README.md", server_readme(federation))


def _write_description(kit: Path, federation: Federation, name: str, role: str) -> None:
    """Write the kit's description of itself."""
    about = {"role": role, "name": name, "federation": asdict(federation.settings)}
    write_text(kit / ABOUT, json.dumps(about, indent=1))


def _zip_kit(kit: Path, name: str, *parts: str) -> None:
    """Pack a kit, or parts of it, as a zip file beside it that only its owner can read."""
    target = kit.with_name(f"{name}.zip")
    target.unlink(missing_ok=True)
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT, 0o600))
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as out:
        out.write(kit, kit.name)  # keeps the mode of the folder: only its owner may enter
        for file in sorted(kit.rglob("*")):
            inside = file.relative_to(kit)
            if not parts or inside.parts[0] in parts:
                out.write(file, Path(kit.name) / inside)
