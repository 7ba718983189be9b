"""Kits: what the coordinator hands to the server's and the clients' people.

::

    kits/
      authority/         the federation's keys: stays with the coordinator, never handed out
      server/            runs on the server, by 'fedclust server'
      admin/             the coordinator's certificate, with which studies are submitted
      clients/<name>/    one for each client, and the same as <name>.zip
      peers.json         the clients' public identities; in every client's kit, too
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
from ..client.endpoint import Endpoints
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
from ..privacy.crypto import fresh_secret, signing_public
from ..settings import TomlFile
from .federation_file import Federation, FederationSettings
from .job import StudyRun
from .templates import client_letter, client_toml, coordinator_letter, server_letter

ABOUT = "fedclust.json"
ASKS, ANSWERS = (f"{kind.__module__}.{kind.__qualname__}" for kind in (StudyRun, Endpoints))


class Kit(NamedTuple):
    """A kit on disk, and what it says of itself."""

    folder: Path
    role: str
    name: str
    federation: FederationSettings


def read_kit(folder: Path, role: str) -> Kit:
    """The kit in a folder, which must be of that role."""
    if not folder.is_dir():
        zipped = f"{folder} is a file: unpack it, and give the folder that is in it"
        raise ConfigError(zipped if folder.exists() else f"there is no folder {folder}")
    if not os.access(folder, os.R_OK | os.X_OK):
        raise ConfigError(f"this user may not enter {folder}: the kit must be theirs (chown -R)")
    if not (folder / ABOUT).exists():
        found = sorted(_kits_below(folder, role))
        hint = f"; did you mean {' or '.join(found)}?" if found else ""
        raise ConfigError(f"{folder} is not a kit: there is no {ABOUT} in it{hint}")
    kit = _read(folder)
    if kit.role != role:
        raise ConfigError(f"{folder} is the kit of {kit.role} {kit.name!r}, not of a {role}")
    return kit


def _read(folder: Path) -> Kit:
    path = folder / ABOUT
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
        role, name, federation = about["role"], about["name"], dict(about["federation"])
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise ConfigError(f"{path}: not readable ({problem})") from None
    settings = TomlFile(path, {"federation": federation}).section(FederationSettings, "federation")
    return Kit(folder, role, name, settings)


def _kits_below(folder: Path, role: str) -> Iterator[str]:
    """Kits of a role in a folder of kits: people give the one for the other."""
    for about in (*folder.glob(f"*/{ABOUT}"), *folder.glob(f"*/*/{ABOUT}")):
        with contextlib.suppress(ConfigError):
            if _read(about.parent).role == role:
                yield str(about.parent)


class Made(NamedTuple):
    """What provisioning has done, and what is left for the coordinator to do."""

    new: list[str]  # whose kits were made
    outdated: list[str]  # clients whose kits have an older peers.json
    unknown: list[str]  # clients whose identities nobody knows


def provision(federation: Federation, folder: Path) -> Made:
    """Make the kits that are not there yet. Kits in use are not touched."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    made = _certified(federation, folder)
    places = _places(federation, folder)
    new = [name for name, (place, _) in places.items() if not place.exists()]
    identities = {name: fresh_secret() for name in new if name in federation.clients}
    before, peers = _enrolled(federation, folder, identities)
    unknown = [client for client in federation.clients if client not in peers]
    write_peers(folder / PEERS, peers)
    for name in new:
        place, role = places[name]
        scratch = place.with_name(f".{place.name}.unfinished")
        shutil.rmtree(scratch, ignore_errors=True)
        _fill(scratch, made[name], federation, name, role)
        if role == "client":
            write_secret(scratch / IDENTITY, identities[name])
            if not unknown:  # whom the list lacks would be refused
                write_peers(scratch / PEERS, peers)
        scratch.rename(place)
        if role == "client":
            _zipped(place, place.name)
    write_text(folder / "README.md", coordinator_letter(federation))
    kept = [client for client in federation.clients if client not in new]
    return Made(new, kept if peers != before else [], unknown)


def renew(federation: Federation, folder: Path) -> list[str]:
    """Give every kit a new certificate of the same authority; those of before hold until they end.

    What goes with a certificate is in `startup` and in `fedclust.json`, and nothing else changes;
    for clients both are also in `<name>-renewal.zip`, to be unpacked over a kit that is in use.
    """
    from ..channels.nvflare.provision import copy_kit, forget_certificates

    places = {n: p for n, p in _places(federation, folder).items() if p[0].exists()}
    if not places:
        raise ConfigError(f"{folder}: there are no kits to renew")
    forget_certificates(folder / "authority", federation.settings.name)
    made = _certified(federation, folder)
    for name, (place, role) in places.items():
        scratch = place.with_name(f".{place.name}.renewed")
        shutil.rmtree(scratch, ignore_errors=True)
        copy_kit(made[name], scratch)
        shutil.rmtree(place / "startup", ignore_errors=True)
        (scratch / "startup").rename(place / "startup")
        shutil.rmtree(scratch)
        _introduce(place, federation, name, role)
        if role == "client":
            _zipped(place, f"{place.name}-renewal", "startup", ABOUT)
    return list(places)


def _places(federation: Federation, folder: Path) -> dict[str, tuple[Path, str]]:
    """Where everybody's kit is, and its role."""
    admin, server = federation.settings.coordinator, federation.settings.server
    places = {server: (folder / "server", "server"), admin: (folder / "admin", "admin")}
    return places | {c: (folder / "clients" / c, "client") for c in federation.clients}


def _certified(federation: Federation, folder: Path) -> dict[str, Path]:
    """Everybody's certificates, where the authority keeps them."""
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


def _enrolled(
    federation: Federation, folder: Path, fresh: Mapping[str, bytes]
) -> tuple[Peers, Peers]:
    """Public identities before, and with the fresh ones; of those who left none."""
    before = read_peers(folder / PEERS) if (folder / PEERS).exists() else {}
    peers = {}
    for client in federation.clients:
        if client in fresh:
            peers[client] = signing_public(fresh[client])
        elif found := before.get(client) or read_public_identity(folder / "clients" / client):
            peers[client] = found
    return before, peers


def _fill(kit: Path, made: Path, federation: Federation, name: str, role: str) -> None:
    """All of a kit but for identities."""
    from ..channels.nvflare.provision import copy_kit, lock_client, lock_server

    copy_kit(made, kit)
    kit.chmod(0o700)
    _introduce(kit, federation, name, role)
    if role == "client":
        lock_client(kit, ANSWERS)
        write_text(kit / CLIENT_FILE, client_toml(name))
        write_text(kit / "README.md", client_letter(name, federation))
    elif role == "server":
        lock_server(kit, ASKS)
        write_text(kit / "README.md", server_letter(federation))


def _introduce(kit: Path, federation: Federation, name: str, role: str) -> None:
    """What the kit says of itself."""
    about = {"role": role, "name": name, "federation": asdict(federation.settings)}
    write_text(kit / ABOUT, json.dumps(about, indent=1))


def _zipped(kit: Path, name: str, *parts: str) -> None:
    """A kit, or parts of it, as a zip beside it that its owner alone can read."""
    target = kit.with_name(f"{name}.zip")
    target.unlink(missing_ok=True)
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT, 0o600))
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as out:
        out.write(kit, kit.name)  # its mode: what is beside the keys is nobody else's, either
        for file in sorted(kit.rglob("*")):
            inside = file.relative_to(kit)
            if not parts or inside.parts[0] in parts:
                out.write(file, Path(kit.name) / inside)
