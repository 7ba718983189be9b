"""The app folder for `flwr run`: it names fedclust's apps and contains no code."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from ... import __version__
from ...core import ConfigError
from ...core.files import write_text
from ...settings import Key, TomlFile, settings_of

# Environment for Flower's commands on every machine: no telemetry, no update check, and no
# installation at run time. Only the SuperLink reads the last one; SuperNodes never install.
ENVIRONMENT: Mapping[str, str] = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
}


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """The run configuration of the Flower app."""

    study: Annotated[str, Key("the study file, on the SuperLink's machine")]
    out: Annotated[str, Key("the run's folder, on the same machine; empty: beside the study")] = ""
    deadline: Annotated[float, Key("seconds to wait for a client's reply", low=1.0)] = 120.0
    min_clients: Annotated[
        int, Key("minimum number of clients at the start; the study may need more", low=1)
    ] = 1
    wait: Annotated[
        float, Key("maximum seconds to wait for them, and for their owners' approval", low=0.0)
    ] = 600.0
    grace: Annotated[
        float, Key("seconds to wait for the others, once enough are connected", low=0.0)
    ] = 10.0
    kits: Annotated[str, Key("in a simulation: a folder with one kit per client")] = ""
    resume: Annotated[bool, Key("continue an interrupted run")] = False
    force: Annotated[bool, Key("replace an existing run")] = False


def read_run_settings(config: Mapping[str, Any]) -> RunSettings:
    """Check the configuration of a run; paths must be absolute."""
    where = ("tool", "flwr", "app", "config")
    tables: Mapping[str, Any] = config
    for name in reversed(where):
        tables = {name: tables}
    settings = TomlFile(Path("app"), tables).section(RunSettings, *where)
    for name in ("study", "out", "kits"):
        path = getattr(settings, name)
        if path and not Path(path).is_absolute():
            raise ConfigError(f"{name} = {path!r} must be an absolute path")
    return settings


def write_app(folder: Path, given: Mapping[str, Any]) -> None:
    """Write the app folder; `given` holds the settings that differ from their defaults."""
    if folder.exists():
        raise ConfigError(f"{folder} exists already; choose a new folder")
    settings = read_run_settings(given)
    lines = "".join(
        f"{one.name} = {json.dumps(getattr(settings, one.name))}  # {one.key.help}\n"
        for one in settings_of(RunSettings)
    )
    folder.mkdir(parents=True)
    write_text(folder / "pyproject.toml", _PROJECT.format(version=__version__, settings=lines))
    write_text(folder / "README.md", _README)


_PROJECT = """\
# 'flwr run' sends this file and no code. Install fedclust[flower] on every machine, and keep Flower
# from installing anything at run time.

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

_README = """\
# A clustering study over Flower

`flwr run . CONNECTION` runs the study that `pyproject.toml` names, over the connected
SuperNodes. Any setting can be changed for one run: `--run-config 'resume=true'`.
"""
