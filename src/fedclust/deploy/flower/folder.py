"""A folder that `flwr run` takes: it names fedclust's own apps, and carries no code."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ... import __version__
from ...core import ConfigError
from ...core.files import write_text
from ...study.file import Lines, checked
from ...study.keys import Key

# What Flower's commands should be told wherever they run: say nothing to its makers, and install
# nothing at run time. Only the SuperLink reads the last one; SuperNodes install nothing by default.
ENVIRONMENT: Mapping[str, str] = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
}
SETTINGS: Mapping[str, Key] = {
    "study": Key("text", "the study file, where the SuperLink runs"),
    "out": Key("text", "the run's folder there; empty: beside the study", default=""),
    "deadline": Key("number", "seconds for a client's answer", default=120.0, low=1.0),
    "min-clients": Key(
        "whole", "fewest clients to begin with; the study may demand more", default=1, low=1
    ),
    "wait": Key("number", "most seconds to wait for them", default=600.0, low=0.0),
    "grace": Key("number", "seconds for the others, once enough are there", default=10.0, low=0.0),
    "kits": Key("text", "in a simulation: a folder with one for each client", default=""),
    "resume": Key("flag", "continue a run that was interrupted", default=False),
    "force": Key("flag", "replace a run that is there", default=False),
}


def settings_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """What a run's configuration says, checked; paths must not depend on where a process is."""
    found = checked(config, SETTINGS, ("tool", "flwr", "app", "config"), Lines(Path("app"), ""))
    for name in ("study", "out", "kits"):
        if found[name] and not Path(found[name]).is_absolute():
            raise ConfigError(f"{name} = {found[name]!r} must be a whole path, from / on")
    return found


def write_app(folder: Path, given: Mapping[str, Any]) -> None:
    """Write the folder; `given` are settings that differ from their defaults."""
    if folder.exists():
        raise ConfigError(f"{folder} is there already; give a folder that is not")
    found = settings_of(given)
    lines = "".join(
        f"{name} = {json.dumps(found[name])}  # {key.help}\n" for name, key in SETTINGS.items()
    )
    folder.mkdir(parents=True)
    write_text(folder / "pyproject.toml", _PROJECT.format(version=__version__, settings=lines))
    write_text(folder / "README.md", _LETTER)


_PROJECT = """\
# 'flwr run' sends this file and no code. Everybody installs fedclust[flower] themselves, and keeps
# Flower from installing anything at run time.

[project]
name = "fedclust-study"
version = "{version}"
description = "A clustering study over Flower"
license = "Apache-2.0"
dependencies = []

[tool.flwr.app]
publisher = "fedclust"

[tool.flwr.app.components]
serverapp = "fedclust.deploy.flower.server:app"
clientapp = "fedclust.deploy.flower.client:app"

[tool.flwr.app.config]
{settings}"""

_LETTER = """\
# A clustering study over Flower

`flwr run . CONNECTION` runs the study that `pyproject.toml` names, over the SuperNodes that are
connected. Any setting can be changed for one run: `--run-config 'resume=true'`.
"""
