"""Kits: what the coordinator hands to the server's and the clients' people.

::

    kits/
      authority/         the federation's keys: stays with the coordinator, never handed out
      server/            runs on the server, by 'fedclust server'
      admin/             the coordinator's certificate, with which studies are submitted
      clients/<name>/    one for each client, and the same as <name>.zip
"""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..core import ConfigError
from ..core.files import write_text
from .client_file import CLIENT_FILE
from .driver import StudyRun
from .federation_file import Federation
from .letters import client_letter, client_toml, coordinator_letter, server_letter
from .site import Sites

ABOUT = "fedclust.json"
ASKS, ANSWERS = (f"{kind.__module__}.{kind.__qualname__}" for kind in (StudyRun, Sites))


class Kit(NamedTuple):
    """A kit on disk, and what it says of itself."""

    folder: Path
    role: str
    name: str
    federation: Mapping[str, Any]


def read_kit(folder: Path, role: str) -> Kit:
    """The kit in a folder, which must be of that role."""
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        kit = Kit(folder, about["role"], about["name"], about["federation"])
    except FileNotFoundError:
        raise ConfigError(f"{folder} is not a kit: there is no {ABOUT} in it") from None
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise ConfigError(f"{folder / ABOUT}: not readable ({problem})") from None
    if kit.role != role:
        raise ConfigError(f"{folder} is the kit of {kit.role} {kit.name!r}, not of a {role}")
    return kit


def provision(federation: Federation, folder: Path) -> list[str]:
    """Make the kits that are not there yet; names of the new ones. Kits in use are not touched."""
    from ..channels.nvflare.provision import copy_kit, lock_client, lock_server, make_kits

    settings = federation.federation
    admin, server = settings["coordinator"], settings["server"]
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    made = make_kits(
        folder / "authority",
        name=settings["name"],
        server=server,
        addresses=settings["addresses"],
        port=settings["port"],
        admin=admin,
        clients=federation.clients,
    )
    new = []
    places = {server: (folder / "server", "server"), admin: (folder / "admin", "admin")}
    places |= {c: (folder / "clients" / c, "client") for c in federation.clients}
    for name, (place, role) in places.items():
        if place.exists():
            continue
        scratch = place.with_name(f".{place.name}.unfinished")
        shutil.rmtree(scratch, ignore_errors=True)
        copy_kit(made[name], scratch)
        about = {"role": role, "name": name, "federation": dict(settings)}
        write_text(scratch / ABOUT, json.dumps(about, indent=1))
        if role == "client":
            lock_client(scratch, ANSWERS)
            write_text(scratch / CLIENT_FILE, client_toml(name))
            write_text(scratch / "README.md", client_letter(name, federation))
        elif role == "server":
            lock_server(scratch, ASKS)
            write_text(scratch / "README.md", server_letter(federation))
        scratch.rename(place)
        if role == "client":
            shutil.make_archive(str(place), "zip", place.parent, place.name)
            place.with_suffix(".zip").chmod(0o600)
        new.append(name)
    write_text(folder / "README.md", coordinator_letter(federation))
    return new
