"""Start NVFlare processes with this Python, and stop them with all their children."""

import contextlib
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import psutil

from ...core import ConfigError
from .causes import CONSOLE

CONTACT = "contact"  # in a client's kit: its time is that of the latest answered heartbeat
_ENGINE = Path(__file__).with_name("engine.py")
_PID_FILE = "process.json"
_PR_SET_PDEATHSIG = 1  # of prctl
_GRACE = 8.0  # seconds between terminate and kill
_PROBE = 0.05  # seconds between two attempts to reach a server that starts
_HEARTBEAT = 2  # seconds; a client that reconnects can be used from its next heartbeat on


def server_command(kit: Path) -> list[str]:
    """Command that runs a server kit."""
    return _command("server", kit, [])


def client_command(kit: Path, name: str) -> list[str]:
    """Command that runs a client kit."""
    return _command("client", kit, [f"uid={name}", f"heart_beat_interval={_HEARTBEAT}"])


def _command(role: str, kit: Path, settings: Sequence[str]) -> list[str]:
    module = f"nvflare.private.fed.app.{role}.{role}_train"
    program = [sys.executable, "-P", "-u", str(_ENGINE), CONTACT, module]
    all_settings = ["secure_train=true", "org=fedclust", "config_folder=config", *settings]
    location = ["-m", str(kit.resolve()), "-s", f"fed_{role}.json"]
    return [*program, *location, "--set", *all_settings]


def is_free(port: int) -> bool:
    """Whether a port of this machine is free."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True


def wait_until_served(port: int, seconds: float) -> None:
    """Wait until something accepts connections to a port of this machine, or time is over."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1.0):
            return
        time.sleep(_PROBE)


def created(pid: int) -> float:
    """When a process of this machine was created."""
    return float(psutil.Process(pid).create_time())


def is_running(pid: int, started: float) -> bool:
    """Whether the process with this id that was created at this time still runs."""
    try:
        return created(pid) == started
    except psutil.Error:
        return False


@contextlib.contextmanager
def running(
    command: Sequence[str], kit: Path, *, alone: bool = True
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process for the duration of the block; its output goes to console.log in the kit.

    If this process is killed, the started one continues (``alone``) or ends as well.
    """
    _refuse_second_start(kit)
    (kit / "transfer").mkdir(exist_ok=True)
    with open(kit / CONSOLE, "ab") as log:
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
    recorded = {"pid": process.pid, "started": created(process.pid)}
    (kit / _PID_FILE).write_text(json.dumps(recorded))
    try:
        yield process
    finally:
        stop(process)


def _end_with_parent() -> None:
    """Let the system end this process if its parent is killed (Linux)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


@contextlib.contextmanager
def adopting(kit: Path) -> Iterator[None]:
    """Stop the process that runs on a kit when the block ends; a killed command has left it."""
    left = _find_running(kit)
    try:
        yield
    finally:
        if left is not None and left == _find_running(kit):
            _stop_family(left)


def _refuse_second_start(kit: Path) -> None:
    """Refuse a kit that is running: two processes with one certificate disconnect each other."""
    if (pid := _find_running(kit)) is not None:
        raise ConfigError(f"{kit} is already running as process {pid}; stop it first")


def _find_running(kit: Path) -> int | None:
    """The process that runs on a kit, if it is known."""
    try:
        recorded = json.loads((kit / _PID_FILE).read_text())
        pid = int(recorded["pid"])
        return pid if is_running(pid, recorded["started"]) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def stop(process: subprocess.Popen[bytes]) -> None:
    """Stop a process and all its children."""
    _stop_family(process.pid)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=_GRACE)


def _stop_family(pid: int) -> None:
    """Stop a process and all its children; job processes have sessions of their own."""
    family = []
    with contextlib.suppress(psutil.NoSuchProcess):
        parent = psutil.Process(pid)
        family = [parent, *parent.children(recursive=True)]
    for member in family:
        with contextlib.suppress(psutil.NoSuchProcess):
            member.terminate()
    _, alive = psutil.wait_procs(family, timeout=_GRACE)
    for member in alive:
        with contextlib.suppress(psutil.NoSuchProcess):
            member.kill()
    psutil.wait_procs(alive, timeout=_GRACE)


def wait(process: subprocess.Popen[bytes], meanwhile: Callable[[], object] = lambda: None) -> int:
    """Wait for the exit status; signals are handled in the meantime."""
    while process.poll() is None:
        meanwhile()
        time.sleep(0.2)
    return int(process.returncode)
