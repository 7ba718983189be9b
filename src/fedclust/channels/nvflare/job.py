"""A job: two configurations that name fedclust's own classes. No code travels with it."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import SITE, STUDY

HERE = __package__
CONTROLLER, EXECUTOR = f"{HERE}.server.StudyController", f"{HERE}.client.SiteExecutor"


def write_job(
    folder: Path,
    name: str,
    *,
    asks: str,
    arguments: Mapping[str, Any],
    answers: str,
    clients: Sequence[str],
    min_clients: int,
    wait: float = 30.0,
) -> None:
    """Write a job of the component `asks` at the server and `answers` at every client."""
    server = {
        "format_version": 2,
        "workflows": [{"id": "controller", "path": CONTROLLER, "args": {"wait": wait}}],
        "components": [{"id": STUDY, "path": asks, "args": dict(arguments)}],
    }
    client = {
        "format_version": 2,
        "executors": [{"tasks": ["*"], "executor": {"path": EXECUTOR, "args": {}}}],
        "components": [{"id": SITE, "path": answers, "args": {}}],
    }
    meta = {
        "name": name,
        "min_clients": min_clients,
        "deploy_map": {"asks": ["server"], "answers": list(clients)},
    }
    _write(folder / "meta.json", meta)
    _write(folder / "asks" / "config" / "config_fed_server.json", server)
    _write(folder / "answers" / "config" / "config_fed_client.json", client)


def _write(path: Path, content: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1))
