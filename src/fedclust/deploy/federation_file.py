"""federation.toml: the clients of a federation, and the address of its server."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ..settings import Key, TomlFile

_CLIENT = r"[A-Za-z0-9_-]+"
_EMAIL = r"[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}"


@dataclass(frozen=True, kw_only=True)
class FederationSettings:
    """[federation]: its name, its server and its coordinator."""

    name: Annotated[
        str,
        Key(
            "name in the certificates: letters, digits, underscores",
            pattern=r"[A-Za-z0-9_]{1,60}",
            form="letters, digits and underscores",
        ),
    ]
    server: Annotated[
        str,
        Key("host name that clients connect to", pattern=r"[A-Za-z0-9.-]+", form="a host name"),
    ]
    addresses: Annotated[tuple[str, ...], Key("other host names or addresses of the server")] = ()
    port: Annotated[int, Key("the only open port of the server", low=1, high=65535)] = 8002
    coordinator: Annotated[
        str,
        Key(
            "e-mail address of the person who submits studies",
            pattern=_EMAIL,
            form="an e-mail address",
        ),
    ]


@dataclass(frozen=True)
class Federation:
    """A checked federation file."""

    path: Path
    clients: Mapping[str, str]  # name -> description
    settings: FederationSettings


def read_federation(path: Path) -> Federation:
    """Read and check a federation file."""
    file = TomlFile.read(path, ("clients", "federation"))
    settings = file.section(FederationSettings, "federation")
    clients = file.tables.get("clients")
    if not clients:
        raise file.error(
            ("clients",), '[clients] is missing: add a line per client, such as north = "Clinic"'
        )
    reserved = {"server", "admin", settings.server}
    for name, description in clients.items():
        if not re.fullmatch(_CLIENT, name) or name in reserved:
            raise file.error(
                ("clients", name),
                f"client {name!r}: use letters, digits, - and _, and not the name of the server",
            )
        if not isinstance(description, str):
            raise file.error(
                ("clients", name),
                f'client {name!r}: the description must be text, such as "Clinic"',
            )
    return Federation(path, dict(clients), settings)
