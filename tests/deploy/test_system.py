"""Where a kit runs, and how it is packaged: systems, the container file and the service."""

import os
import re
import shlex
import sys
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fedclust.cli import app
from fedclust.core import ConfigError
from fedclust.deploy.system import check_system

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "deployment-client.md").read_text()


def test_linux_is_supported_macos_is_not_tested_and_windows_cannot_run_a_kit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    assert check_system() is None
    monkeypatch.setattr(sys, "platform", "darwin")
    assert "this system (darwin) is not tested" in str(check_system())
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(os, "name", "nt")
    with pytest.raises(ConfigError, match="a kit runs on Linux, not on win32.*file locks"):
        check_system()


def test_a_client_on_another_system_ends_with_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("nvflare", reason="clients need fedclust[nvflare]")
    from .test_commands import client_kit

    def refuse() -> None:
        raise ConfigError("a kit runs on Linux")

    kit = client_kit(tmp_path)
    monkeypatch.setattr("fedclust.deploy.run_client.check_system", refuse)
    done = CliRunner().invoke(app, ["client", str(kit)])
    assert done.exit_code == 1
    assert "fedclust: a kit runs on Linux" in done.output
    assert "connecting" not in done.output


def instructions() -> list[tuple[str, str]]:
    """The instructions of the container file, with continued lines joined."""
    (text,) = re.findall(r"```dockerfile\n(.*?)```", PAGE, re.DOTALL)
    lines = [line for line in text.replace("\\\n", " ").splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith("#")]
    return [(line.split(" ", 1)[0], line.split(" ", 1)[1]) for line in lines]


def test_the_container_file_is_well_formed() -> None:
    """Each instruction exists, the base is a version that is supported, and root runs nothing."""
    found = instructions()
    known = {"FROM", "RUN", "USER", "ENTRYPOINT", "CMD", "ENV", "WORKDIR", "VOLUME", "HEALTHCHECK"}
    names = [name for name, _ in found]
    assert set(names) <= known
    assert names[0] == "FROM"
    assert names.count("ENTRYPOINT") == names.count("CMD") == 1
    base = re.fullmatch(r"python:(3\.\d+)-slim", found[0][1])
    assert base, "a base with a version"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert f"Programming Language :: Python :: {base[1]}" in project["classifiers"]
    user = [words for name, words in found if name == "USER"]
    made = " ".join(words for name, words in found if name == "RUN")
    assert len(user) == 1
    assert re.search(rf"useradd .*\b{user[0]}\b", made), "the user exists"
    assert names.index("USER") < names.index("ENTRYPOINT")


def test_the_container_file_installs_what_exists() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (install,) = (words for name, words in instructions() if "pip install" in words)
    assert "--no-cache-dir" in install
    (extras,) = re.findall(r'"fedclust\[([\w,]+)\]"', install)
    assert set(extras.split(",")) <= set(project["optional-dependencies"])


def test_the_container_runs_a_command_of_the_package() -> None:
    found = dict(instructions())
    entry, words = (tomllib.loads(f"x = {found[name]}")["x"] for name in ("ENTRYPOINT", "CMD"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert entry == [next(iter(project["scripts"]))]
    shown = CliRunner().invoke(app, [words[0], "--help"])
    assert shown.exit_code == 0, shown.output
    volumes = re.findall(r"--volume \./north:(\S+)", PAGE)
    assert volumes
    assert {volume.split(":")[0] for volume in volumes} == {words[1]}


def test_the_container_commands_have_options_that_exist() -> None:
    """What comes after the image in `podman run` is a command of fedclust."""
    lines = [line for line in PAGE.splitlines() if line.startswith("$ podman run")]
    assert len(lines) >= 2
    for line in lines:
        words = shlex.split(line[2:])
        for needed in ("--read-only", "--cap-drop=all"):
            assert needed in words
        after = words[words.index("fedclust-client") + 1 :]
        if after:
            assert CliRunner().invoke(app, [after[0], "--help"]).exit_code == 0


def test_the_service_runs_a_command_with_options_that_exist() -> None:
    (unit,) = re.findall(r"```ini\n(.*?)```", PAGE, re.DOTALL)
    (start,) = re.findall(r"^ExecStart=(.*)$", unit, re.MULTILINE)
    _, name, kit, *options = shlex.split(start)
    text = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "200"}).output
    assert all(option in text for option in options if option.startswith("--"))
    (writable,) = re.findall(r"^ReadWritePaths=(.*)$", unit, re.MULTILINE)
    assert writable == kit
