"""Write a job: two configurations that name classes of fedclust. It contains no code."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import SITE, STUDY

_PACKAGE = __package__
CONTROLLER, EXECUTOR = f"{_PACKAGE}.server.StudyController", f"{_PACKAGE}.client.SiteExecutor"


def write_job(
    folder: Path,
    name: str,
    *,
    server: tuple[str, Mapping[str, Any]],
    client: tuple[str, Mapping[str, Any]],
    clients: Sequence[str],
    min_clients: int,
    wait: float = 30.0,
) -> None:
    """Write a job with the component `server` at the server and `client` at every client.

    A component is the path of a class and its arguments. The client's part is signed on
    submission, so the server cannot change it.
    """
    server_config = {
        "format_version": 2,
        "workflows": [{"id": "controller", "path": CONTROLLER, "args": {"wait": wait}}],
        "components": [{"id": STUDY, "path": server[0], "args": dict(server[1])}],
    }
    client_config = {
        "format_version": 2,
        "executors": [{"tasks": ["*"], "executor": {"path": EXECUTOR, "args": {}}}],
        "components": [{"id": SITE, "path": client[0], "args": dict(client[1])}],
    }
    meta = {
        "name": name,
        "min_clients": min_clients,
        "deploy_map": {"server": ["server"], "client": list(clients)},
    }
    _write(folder / "meta.json", meta)
    _write(folder / "server" / "config" / "config_fed_server.json", server_config)
    _write(folder / "client" / "config" / "config_fed_client.json", client_config)


def _write(path: Path, content: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1))
