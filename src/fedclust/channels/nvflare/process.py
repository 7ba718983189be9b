"""NVFlare's processes: started with this Python, ended with all of their children."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil

_GRACE = 8.0  # seconds between asking and killing


def server_command(kit: Path) -> list[str]:
    """The command that runs a server kit."""
    return _command("server", kit, [])


def client_command(kit: Path, name: str) -> list[str]:
    """The command that runs a client kit."""
    return _command("client", kit, [f"uid={name}"])


def _command(role: str, kit: Path, words: Sequence[str]) -> list[str]:
    module = f"nvflare.private.fed.app.{role}.{role}_train"
    sets = ["secure_train=true", "org=fedclust", "config_folder=config", *words]
    where = ["-m", str(kit.resolve()), "-s", f"fed_{role}.json"]
    return [sys.executable, "-u", "-m", module, *where, "--set", *sets]


@contextlib.contextmanager
def running(command: Sequence[str], kit: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that lives as long as the block; its words go to console.log in the kit."""
    (kit / "transfer").mkdir(exist_ok=True)
    with open(kit / "console.log", "ab") as log:
        process = subprocess.Popen(
            command,
            cwd=kit,
            stdout=log,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "MALLOC_ARENA_MAX": "2"},
            start_new_session=True,
        )
    try:
        yield process
    finally:
        stop(process)


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a process and all it started: job processes have sessions of their own."""
    family = []
    with contextlib.suppress(psutil.NoSuchProcess):
        parent = psutil.Process(process.pid)
        family = [parent, *parent.children(recursive=True)]
    for member in family:
        with contextlib.suppress(psutil.NoSuchProcess):
            member.terminate()
    _, alive = psutil.wait_procs(family, timeout=_GRACE)
    for member in alive:
        with contextlib.suppress(psutil.NoSuchProcess):
            member.kill()
    psutil.wait_procs(alive, timeout=_GRACE)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=_GRACE)


def wait(process: subprocess.Popen[bytes]) -> int:
    """Its exit status; signals are acted upon in between."""
    while process.poll() is None:
        time.sleep(0.2)
    return int(process.returncode)
