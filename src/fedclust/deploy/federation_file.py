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
    addresses: Annotated[tuple[str, ...], Key("more names or addresses of the server")] = ()
    port: Annotated[int, Key("the only open port of the server", low=1, high=65535)] = 8002
    coordinator: Annotated[
        str,
        Key("e-mail address of who may submit studies", pattern=_EMAIL, form="an e-mail address"),
    ]


@dataclass(frozen=True)
class Federation:
    """A federation file, checked."""

    path: Path
    clients: Mapping[str, str]  # name -> description
    settings: FederationSettings


def read_federation(path: Path) -> Federation:
    """The federation that a file describes."""
    file = TomlFile.read(path, ("clients", "federation"))
    settings = file.section(FederationSettings, "federation")
    clients = file.tables.get("clients")
    if not clients:
        raise file.error(("clients",), 'no [clients]: give each a line, such as north = "Clinic"')
    taken = {"server", "admin", settings.server}
    for name, description in clients.items():
        if not re.fullmatch(_CLIENT, name) or name in taken:
            raise file.error(
                ("clients", name),
                f"client {name!r}: choose a name of letters, digits, - and _, not the server's",
            )
        if not isinstance(description, str):
            raise file.error(
                ("clients", name), f'client {name!r}: give a description, such as "Clinic"'
            )
    return Federation(path, dict(clients), settings)
