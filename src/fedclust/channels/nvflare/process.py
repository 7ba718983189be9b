"""NVFlare's processes: started with this Python, ended with all of their children."""

import contextlib
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil

from ...core import ConfigError

_MARK = "process.json"
_PR_SET_PDEATHSIG = 1  # of prctl
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


def is_free(port: int) -> bool:
    """Whether nobody listens on a port of this machine."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True


@contextlib.contextmanager
def running(
    command: Sequence[str], kit: Path, *, alone: bool = True
) -> Iterator[subprocess.Popen[bytes]]:
    """A process that lives as long as the block; its words go to console.log in the kit.

    Where this process is killed, it goes on alone, or ends as well.
    """
    _not_twice(kit)
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
            preexec_fn=None if alone else _end_with_parent,
        )
    started = psutil.Process(process.pid).create_time()
    (kit / _MARK).write_text(json.dumps({"pid": process.pid, "started": started}))
    try:
        yield process
    finally:
        stop(process)


def _end_with_parent() -> None:
    """Have the system end this process if the command that started it is killed (Linux)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _not_twice(kit: Path) -> None:
    """Refuse a kit that runs: two processes with one certificate would push each other out."""
    try:
        mark = json.loads((kit / _MARK).read_text())
        running = psutil.Process(mark["pid"]).create_time() == mark["started"]
    except (OSError, ValueError, KeyError, TypeError, psutil.Error):
        return
    if running:
        raise ConfigError(f"{kit} runs already, as process {mark['pid']}; end that one first")


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
