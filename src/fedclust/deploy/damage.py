"""Damaged files of a kit: named with what to do, before a process starts that would not say it."""

import json
from pathlib import Path
from typing import Any

from ..core import ConfigError
from .kits import Kit

_STARTUP = {
    "client": "startup/fed_client.json",
    "server": "startup/fed_server.json",
    "admin": "startup/fed_admin.json",
}
_LOCAL = ("local/resources.json", "local/authorization.json", "local/log_config.json")
_REMEDY = "unpack the kit again, or ask the coordinator for a renewal"


def check_files(kit: Kit) -> None:
    """Raise if a settings file of the engine is missing or damaged."""
    startup = kit.folder / _STARTUP[kit.role]
    found = _read(startup)
    for name in _LOCAL if kit.role != "admin" else ():
        _read(kit.folder / name)
    f = kit.federation
    expected = f"{f.server}:{f.port}"
    if kit.role != "admin" and _find_target(found) != expected:
        raise ConfigError(
            f"{startup} is damaged: it does not name the server {expected}, as fedclust.json does; "
            f"{_REMEDY}"
        )


def _read(path: Path) -> dict[str, Any]:
    """The content of a JSON file."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{path} is missing; {_REMEDY}") from None
    except ValueError:
        found = None
    if not isinstance(found, dict) or not found:
        raise ConfigError(f"{path} is damaged: it is not the JSON that a kit has; {_REMEDY}")
    return found


def _find_target(settings: dict[str, Any]) -> str:
    """The address in the settings of a client or a server; empty if there is none."""
    try:
        return str(settings["servers"][0]["service"]["target"])
    except (KeyError, IndexError, TypeError):
        return ""
