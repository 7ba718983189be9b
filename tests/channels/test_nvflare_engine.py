"""The engine as kits run it: what it loads, what it changes in NVFlare, what it leaves on disk."""

import json
import logging
import os
import shlex
import socket
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import pytest

pytest.importorskip("nvflare", reason="needs fedclust[nvflare]")
from fedclust.channels.nvflare import engine
from fedclust.channels.nvflare.logs import Tidying, roll, tidy
from fedclust.channels.nvflare.process import client_command, server_command, wait_until_served

from ..support.clock import Clock

PROBE = f"""
import importlib.util, json, sys

spec = importlib.util.spec_from_file_location("engine", {engine.__file__!r})
engine = importlib.util.module_from_spec(spec)
spec.loader.exec_module(engine)
"""
PROBE += """

def run_module(name, run_name, alter_sys):
    from nvflare.fuel.f3 import communicator, mpm
    from nvflare.fuel.f3.sfm import conn_manager
    from nvflare.private.fed.client import client_app_runner
    from nvflare.private.fed.server import job_runner
    from nvflare.private.fed.utils.fed_utils import fobs_initialize
    from nvflare.private.fed.app.client import client_train
    fobs_initialize()
    communicator.load_comm_drivers()
    drivers = communicator.driver_mgr
    print(json.dumps({
        "module": name,
        "heavy": [m for m in ("numpy", "scipy", "sklearn", "aiohttp") if m in sys.modules],
        "drivers": sorted(k for k in drivers.drivers),
        "wait": conn_manager.MAX_WAIT,
        "naps": [type(m.time).__name__ for m in (mpm, client_app_runner, job_runner)],
        "rest": sys.argv[1:],
    }))

engine.runpy.run_module = run_module
engine.main()
"""


def _command(words: str, ctx: object) -> str:
    return words


def test_a_kit_may_lie_in_a_folder_with_spaces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine of NVFlare does not quote the folder that it writes into the command of a job."""
    kit = tmp_path / "Jane's new machine"
    kit.mkdir()
    monkeypatch.chdir(kit)
    python = f"{tmp_path}/my python"
    monkeypatch.setattr(sys, "executable", python)
    module = "nvflare.private.fed.app.client.worker_process"
    words = f"{python} -m {module} -m {kit} --startup {kit}/startup --set x=1"
    for given in (
        words,
        words.replace(f"-m {kit}", f"-m {shlex.quote(str(kit))}").replace(f"{kit}/startup", "y"),
    ):
        launched = engine._launched_here(partial(_command, given), "contact")
        made = shlex.split(launched(None))
        assert made[0] == python
        assert made[made.index(module) :][:3] == [module, "-m", str(kit)]
    made = shlex.split(engine._launched_here(partial(_command, words), "contact")(None))
    assert made[-4:] == ["--startup", f"{kit}/startup", "--set", "x=1"]


def probe(module: str) -> dict[str, object]:
    words = [sys.executable, "-c", PROBE, "contact", module, "-m", "KIT"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def test_the_engine_loads_no_more_than_it_needs() -> None:
    """Kits use gRPC between machines and TCP within one; a process that waits computes nothing."""
    found = probe("nvflare.private.fed.app.client.client_train")
    assert found["heavy"] == []
    assert {"grpc", "grpcs", "tcp"} <= set(found["drivers"])  # type: ignore[call-overload]
    assert found["wait"] == 2
    assert found["naps"] == ["ShortNaps"] * 3
    assert found["rest"] == ["-m", "KIT"]


def test_a_job_can_decode_arrays() -> None:
    assert probe("nvflare.private.fed.app.client.worker_process")["heavy"] == ["numpy"]


def test_job_processes_are_started_in_the_same_way() -> None:
    words = "python -m nvflare.private.fed.app.client.worker_process -m '/a kit' --set x=1"
    made = engine._launched_here(partial(_command, words), "contact")(None)
    here = str(Path(engine.__file__).resolve())
    assert made == (
        f"python -P -u {here} contact nvflare.private.fed.app.client.worker_process -m '/a kit' "
        "--set x=1"
    )
    with pytest.raises(RuntimeError, match="not the command of a job"):
        engine._launched_here(lambda ctx: "python job.py x", "contact")(None)


@pytest.mark.parametrize("command", [client_command(Path("k"), "north"), server_command(Path("k"))])
def test_no_file_of_a_kit_is_imported(command: list[str]) -> None:
    """With -P, a data file such as numpy.py in the current folder is no module."""
    assert command[1:3] == ["-P", "-u"]
    assert Path(command[3]).samefile(engine.__file__)


def test_what_the_engine_changes_exists_in_this_version() -> None:
    from nvflare.app_common.decomposers import common_decomposers
    from nvflare.app_common.job_launcher import client_process_launcher, server_process_launcher
    from nvflare.fuel.f3 import communicator
    from nvflare.fuel.f3.cellnet.core_cell import CoreCell
    from nvflare.fuel.f3.sfm import conn_manager

    assert callable(common_decomposers.register)
    assert callable(client_process_launcher.generate_client_command)
    assert callable(server_process_launcher.generate_server_command)
    assert callable(communicator.load_comm_drivers)
    assert callable(CoreCell.send_request)
    assert conn_manager.MAX_WAIT > conn_manager.INIT_WAIT > 0
    for name in engine._NOISY:
        module = name if name.endswith("conn_manager") else name.rpartition(".")[0]
        assert __import__(module)


class Reply:
    def __init__(self, code: str) -> None:
        self.code = code

    def get_header(self, name: str) -> str:
        return self.code


def test_only_an_answered_heartbeat_is_a_contact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for reply, topic, noted in (
        (None, "heart_beat", False),
        (Reply("comm_error"), "heart_beat", False),
        (Reply("ok"), "get_task", False),
        (Reply("ok"), "heart_beat", True),
    ):
        send = engine._noting_heartbeats(
            lambda self, *args, __reply=reply, **kw: __reply, "contact"
        )
        assert send(None, topic=topic) is reply
        assert (tmp_path / "contact").exists() == noted
    os.utime(tmp_path / "contact", (0, 0))
    send(None, topic="heart_beat")
    assert time.time() - (tmp_path / "contact").stat().st_mtime < 60


def test_a_lost_heartbeat_holds_up_the_next_one_for_seconds_only(tmp_path: Path) -> None:
    """Its connection may be gone, as when a second machine uses the same kit."""
    waits: list[float | None] = []
    send = engine._noting_heartbeats(
        lambda self, *args, **kw: waits.append(kw.get("timeout")), str(tmp_path / "contact")
    )
    for topic, timeout in (("heart_beat", 30.0), ("heart_beat", 2.0), ("get_task", 30.0)):
        send(None, topic=topic, timeout=timeout)
    send(None, topic="heart_beat")
    assert waits == [6.0, 2.0, 30.0, 6.0]


def test_modules_of_the_engine_can_look_more_often(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    naps = engine.ShortNaps()
    naps.sleep(1.0)
    naps.sleep(0.1)
    assert slept == [0.25, 0.1]
    assert naps.monotonic() <= time.monotonic()
    assert vars(engine)["job_runner"].time is time, "only in a process of the engine"


def test_lines_that_repeat_are_thinned(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, thinned = Clock(), engine.Thinned(most=3, window=60.0)
    monkeypatch.setattr(engine, "time", clock)

    def passes(line: int) -> bool:
        return thinned.filter(logging.LogRecord("x", logging.INFO, "f.py", line, "m", (), None))

    assert [passes(1) for _ in range(5)] == [True, True, True, False, False]
    assert passes(2)
    clock.sleep(59.0)
    assert not passes(1)
    clock.sleep(1.0)
    assert passes(1)


def test_a_log_that_is_open_for_appending_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "console.log"
    with open(path, "ab", buffering=0) as engine_output:
        for number in range(100):
            engine_output.write(b"line %d\n" % number)
            roll(path, 100, 3)
    files = sorted(tmp_path.iterdir(), reverse=True)
    assert [file.name for file in files] == [f"console.log{x}" for x in (".3", ".2", ".1", "")]
    assert all(file.stat().st_size < 120 for file in files)
    lines = "".join(file.read_text() for file in files).splitlines()
    assert lines == [f"line {n}" for n in range(100 - len(lines), 100)]


def test_folders_of_old_jobs_are_removed_and_nothing_else(tmp_path: Path) -> None:
    jobs = [tmp_path / f"{n:08x}-0000-4000-8000-000000000000" for n in range(5)]
    for age, folder in enumerate(jobs):
        (folder / "app_north").mkdir(parents=True)
        os.utime(folder, (1e9 - age, 1e9 - age))
    others = [tmp_path / "labels", tmp_path / "ffffffff-0000-4000-8000-000000000000"]
    for folder in others:  # the second has the name of a job, but is the owner's
        folder.mkdir()
        os.utime(folder, (0, 0))
    tidy(tmp_path, jobs=2)
    assert [folder for folder in jobs if folder.exists()] == jobs[:2]
    assert all(folder.exists() for folder in others)


def test_tidying_does_what_else_is_due_and_fails_for_nothing(tmp_path: Path) -> None:
    done: list[int] = []
    tidying = Tidying(tmp_path / "gone", lambda: done.append(1))
    tidying()
    tidying()
    assert done == [1, 1]


def test_a_server_that_starts_is_reached_as_soon_as_it_listens() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        port = server.getsockname()[1]
        start = time.monotonic()
        wait_until_served(port, 0.3)  # bound, but not yet listening
        assert time.monotonic() - start >= 0.3
        start = time.monotonic()
        threading.Timer(0.3, server.listen).start()
        wait_until_served(port, 300.0)
        assert 0.3 <= time.monotonic() - start < 150
