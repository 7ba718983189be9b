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
    asks: tuple[str, Mapping[str, Any]],
    answers: tuple[str, Mapping[str, Any]],
    clients: Sequence[str],
    min_clients: int,
    wait: float = 30.0,
) -> None:
    """Write a job with the component `asks` at the server and `answers` at every client.

    Both are the path of a class and its arguments. The client's part is signed on submission, so
    the server cannot change it.
    """
    server = {
        "format_version": 2,
        "workflows": [{"id": "controller", "path": CONTROLLER, "args": {"wait": wait}}],
        "components": [{"id": STUDY, "path": asks[0], "args": dict(asks[1])}],
    }
    client = {
        "format_version": 2,
        "executors": [{"tasks": ["*"], "executor": {"path": EXECUTOR, "args": {}}}],
        "components": [{"id": SITE, "path": answers[0], "args": dict(answers[1])}],
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
