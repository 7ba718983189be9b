"""federation.toml: who takes part, and where the server is."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..study.file import read_tables
from ..study.keys import Key

FEDERATION: Mapping[str, Key] = {
    "name": Key("text", "a name for certificates: letters, digits, underscores"),
    "server": Key("text", "the host name that clients connect to"),
    "addresses": Key("texts", "more names or addresses of the server", default=()),
    "port": Key("whole", "the server's one open port", default=8002, low=1, high=65535),
    "coordinator": Key("text", "who may submit studies: an e-mail address"),
}
_FITS = {
    "name": (r"[A-Za-z0-9_]{1,60}", "letters, digits and underscores"),
    "server": (r"[A-Za-z0-9.-]+", "a host name"),
    "coordinator": (r"[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}", "an e-mail address"),
}
_CLIENT = r"[A-Za-z0-9_-]+"


@dataclass(frozen=True)
class Federation:
    """A federation file, checked."""

    path: Path
    clients: Mapping[str, str]  # name -> who that is, in words
    federation: Mapping[str, Any]


def read_federation(path: Path) -> Federation:
    """The federation that a file describes."""
    sections, given, lines = read_tables(path, {"federation": FEDERATION}, ("clients",))
    found, clients = sections["federation"], given["clients"]
    for name, (pattern, words) in _FITS.items():
        if not re.fullmatch(pattern, found[name]):
            raise lines.error(("federation", name), f"{name} must be {words}, got {found[name]!r}")
    if not clients:
        raise lines.error(("clients",), 'no [clients]: give each a line, such as north = "Clinic"')
    taken = {"server", "admin", found["server"]}
    for name, words in clients.items():
        if not re.fullmatch(_CLIENT, name) or name in taken:
            raise lines.error(
                ("clients", name),
                f"client {name!r}: choose a name of letters, digits, - and _, not the server's",
            )
        if not isinstance(words, str):
            raise lines.error(("clients", name), f"client {name!r}: say in words who that is")
    return Federation(path, dict(clients), found)
