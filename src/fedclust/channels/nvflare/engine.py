"""Runs a module of NVFlare as its main module, with less to load and shorter waits.

The engine waits beside the data for days, and every job starts two processes or more. So this is
run as a file: the engine imports nothing of fedclust but two files beside it. It loads only the
drivers that kits use, and no NumPy unless a job needs it. A client reconnects within seconds, and
touches a file of its kit whenever the server has answered a heartbeat. Lines that repeat while no
server runs are thinned.

The arguments are the name of that file, the module, and the arguments of the module.
"""

import contextlib
import importlib.util
import logging
import os
import runpy
import shlex
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nvflare.app_common.decomposers import common_decomposers
from nvflare.app_common.job_launcher import client_process_launcher, server_process_launcher
from nvflare.fuel.f3 import mpm
from nvflare.fuel.f3.cellnet.core_cell import CoreCell
from nvflare.fuel.f3.cellnet.defs import MessageHeaderKey, ReturnCode
from nvflare.fuel.f3.sfm import conn_manager
from nvflare.private.defs import CellChannelTopic
from nvflare.private.fed.client import client_app_runner
from nvflare.private.fed.server import job_runner

_RECONNECT = 2  # seconds between two attempts at most
_BEAT = 6.0  # seconds for the answer to a heartbeat
_NAP = 0.25  # seconds between two looks for a job or a process, and before a process ends
_MOST, _WINDOW = 10, 600.0  # the same line is logged at most so often within so many seconds
_JOBS = ("worker_process", "runner_process")  # modules that run a job
_CLIENT, _SERVER = "client_train", "server_train"  # modules that run an engine
_NOISY = (
    "nvflare.fuel.f3.sfm.conn_manager",
    "nvflare.fuel.f3.drivers.grpc_driver.GrpcDriver",
    "nvflare.fuel.f3.cellnet.core_cell.CoreCell",
    "nvflare.private.fed.authenticator.Authenticator",
)


def main() -> None:
    """Run the module that the arguments name."""
    contact, module = sys.argv.pop(1), sys.argv.pop(1)
    _load_beside("drivers").load_few()
    if not module.endswith(_JOBS):  # a process that only forwards bytes
        common_decomposers.register = lambda: None
    conn_manager.MAX_WAIT = _RECONNECT
    CoreCell.send_request = _noting_heartbeats(CoreCell.send_request, contact)
    if module.endswith(_CLIENT):
        signs = _load_beside("signs")
        CoreCell.send_request = signs.with_signs(
            CoreCell.send_request, Path(), signs.end_to_register_again
        )
    elif module.endswith(_SERVER):
        _watch_clients()
    for hurried in (job_runner, client_app_runner, mpm):
        hurried.time = ShortNaps()
    client_process_launcher.generate_client_command = _launched_here(
        client_process_launcher.generate_client_command, contact
    )
    server_process_launcher.generate_server_command = _launched_here(
        server_process_launcher.generate_server_command, contact
    )
    for name in _NOISY:
        logging.getLogger(name).addFilter(Thinned())
    runpy.run_module(module, run_name="__main__", alter_sys=True)


class ShortNaps:
    """The module `time` for modules of the engine that would sleep longer between two looks."""

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)

    @staticmethod
    def sleep(seconds: float) -> None:
        """Sleep for some seconds, at most a nap."""
        time.sleep(min(seconds, _NAP))


def _load_beside(name: str) -> Any:
    """A file beside this one, without the packages around it."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    if spec is None or spec.loader is None:
        raise ImportError(f"{name}.py is missing")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _watch_clients() -> None:
    """Let the server take in the signs of clients, and refuse a kit that runs elsewhere."""
    from nvflare.private.fed.server.fed_server import FederatedServer

    signs = _load_beside("signs")
    clients = signs.Clients(Path(signs.REPORT))
    FederatedServer.register_client = clients.guarded(FederatedServer.register_client)
    FederatedServer.client_heartbeat = clients.guarded(FederatedServer.client_heartbeat)


def _launched_here(generate: Callable[[Any], str], contact: str) -> Callable[[Any], str]:
    """The command of a job process, which is started in the same way."""

    def generate_command(fl_ctx: Any) -> str:
        words = _quoted(_quoted(generate(fl_ctx), sys.executable), str(Path.cwd()))
        program, flag, module, *rest = shlex.split(words)
        if flag != "-m":
            raise RuntimeError(f"{program} {flag} {module}: not the command of a job")
        here = [program, "-P", "-u", str(Path(__file__).resolve()), contact]
        return shlex.join([*here, module, *rest])

    return generate_command


def _quoted(words: str, path: str) -> str:
    """A command with this path as one word: NVFlare does not quote the paths of kit and Python."""
    quoted = shlex.quote(path)
    return words if quoted in words else words.replace(path, quoted)


def _noting_heartbeats(send: Callable[..., Any], contact: str) -> Callable[..., Any]:
    """Send requests, and note when the server answers a heartbeat.

    A heartbeat that is lost with its connection does not hold up the next one for long.
    """

    def send_request(self: Any, *args: Any, **values: Any) -> Any:
        beats = values.get("topic") == CellChannelTopic.HEART_BEAT
        if beats:
            values["timeout"] = min(values.get("timeout") or _BEAT, _BEAT)
        reply = send(self, *args, **values)
        if beats and _is_ok(reply):
            with contextlib.suppress(OSError):  # a full disk does not end the connection
                _touch(contact)
        return reply

    return send_request


def _is_ok(reply: Any) -> bool:
    return reply is not None and reply.get_header(MessageHeaderKey.RETURN_CODE) == ReturnCode.OK


def _touch(name: str) -> None:
    """Set the time of a file in the current folder, which is the kit."""
    os.close(os.open(name, os.O_WRONLY | os.O_CREAT, 0o600))
    os.utime(name)


class Thinned(logging.Filter):
    """Lets a line of code log so often within some time, and then drops what it logs."""

    def __init__(self, most: int = _MOST, window: float = _WINDOW) -> None:
        super().__init__()
        self._most, self._window = most, window
        self._seen: defaultdict[tuple[str, int], list[float]] = defaultdict(list)

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is logged."""
        now, times = time.monotonic(), self._seen[record.pathname, record.lineno]
        times[:] = [one for one in times if now - one < self._window]
        if len(times) >= self._most:
            return False
        times.append(now)
        return True


if __name__ == "__main__":
    main()
