"""``python -m benchmarks.federation``: what a study costs above NVFlare itself.

Real processes on this machine, mutual TLS. A job that does nothing but send as many bytes both ways
and a study take turns in one server and the same clients. Once as ``fedclust[nvflare]`` installs
it, once with ``fedclust[fast]``: numba is quick, and large. ``TMPDIR=/dev/shm`` in front shows the
same without the disk, which all clients share here and none does elsewhere.
"""

import contextlib
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from fedclust.algorithms import make
from fedclust.channels.nvflare.job import write_job
from fedclust.channels.nvflare.process import running, server_command
from fedclust.channels.nvflare.provision import lock_server
from fedclust.channels.nvflare.session import Session
from fedclust.client.disclosures import write_disclosure
from fedclust.core import Data, Plan, Request, Schema, respond
from fedclust.deploy.kits import CLIENT_COMPONENT, SERVER_COMPONENT

from .timing import best_of, row, verdict

BLOCKS, ROUNDS = 3, 30
N_CLIENTS, N_ROWS, N_FEATURES, K = 3, 500, 8, 7
CONTROLLER = "benchmarks.nvflare_null_server.NullController"
EXECUTOR = "benchmarks.nvflare_null_client.NullExecutor"
TIMED = "benchmarks.timed_study.TimedStudy"
ROOT = Path(__file__).parent.parent
STUDY = f"""
[clustering]
algorithm = "llf-fcm"
n_clusters = {K}
fuzzifier = 1.5
max_rounds = {ROUNDS + 1}
tol = 0.0
[sampling]
min_clients = {N_CLIENTS}
[privacy]
tier = "none"
[outputs]
report = false
"""
NAMES = [f"client{i}" for i in range(N_CLIENTS)]


class Federation:
    """A server, its clients, and jobs of two kinds for them."""

    def __init__(self, folder: Path, session: Session, clients: Sequence[psutil.Process]) -> None:
        self.folder, self._session, self._clients = folder, session, clients
        self._n = 0

    def study(self) -> dict[str, Any]:
        """Run the study: seconds per round and to the first, memory, bytes."""
        job, out = self._place()
        work = job.with_name(f"{job.name}-work")
        work.mkdir()
        settings = {
            "out": str(out),
            "study": str(self.folder / "study.toml"),
            "folder": str(job.with_name(f"{job.name}-run")),
            "work": str(work),
            "run": job.name,
            "deadline": 60.0,
            "force": False,
            "resume": False,
        }
        server, client = (TIMED, settings), (CLIENT_COMPONENT, {"study": "study"})
        write_job(job, "study", server=server, client=client, clients=NAMES, min_clients=N_CLIENTS)
        begin, memory, said = self._finished(job, out)
        last = [one for one in said["rounds"] if one["plan"] == "llf-fcm"]
        first = said["rounds"][0]["end"] - begin
        sizes = {name: last[0][name] for name in ("down", "up")}
        return {"ends": [one["end"] for one in last], "first": first, "memory": memory, **sizes}

    def nothing(self, down: int, up: int) -> dict[str, Any]:
        """Run the job that does nothing with as many bytes."""
        job, out = self._place()
        write_job(
            job, "null", server=("", {}), client=("", {}), clients=NAMES, min_clients=N_CLIENTS
        )
        settings = {"out": str(out), "rounds": ROUNDS, "down": down, "up": up}
        controller = {"id": "controller", "path": CONTROLLER, "args": settings}
        executor = {"tasks": ["*"], "executor": {"path": EXECUTOR, "args": {}}}
        _change(job / "server" / "config" / "config_fed_server.json", workflows=[controller])
        _change(job / "client" / "config" / "config_fed_client.json", executors=[executor])
        for file in job.glob("*/config/*.json"):
            _change(file, components=[])
        begin, memory, said = self._finished(job, out)
        return {**said, "first": said["ends"][1] - begin, "memory": memory}

    def _place(self) -> tuple[Path, Path]:
        self._n += 1
        job = self.folder / f"job{self._n}"
        return job, job.with_suffix(".json")

    def _finished(self, job: Path, out: Path) -> tuple[float, float, dict[str, Any]]:
        begin, most = time.time(), 0.0
        id = self._session.submit(job)
        while not out.exists():
            most = max(most, *(_job_memory(client) for client in self._clients))
            time.sleep(0.1)
        said = json.loads(out.read_text())
        while not (status := self._session.status(id)).startswith("FINISHED"):
            time.sleep(0.5)
        assert status == "FINISHED:COMPLETED", status
        return begin, most, said


def _change(file: Path, **entries: Any) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), **entries}))


def _job_memory(client: psutil.Process) -> float:
    """Megabytes of a client's job process; nothing while there is none."""
    with contextlib.suppress(psutil.Error):
        for one in client.children(recursive=True):
            if any("worker_process" in word for word in one.cmdline()):
                return float(one.memory_info().rss) / 2**20
    return 0.0


@contextlib.contextmanager
def federation(folder: Path, *, fast: bool) -> Iterator[Federation]:
    """Provision, unlock the kits for the two apps, start everybody."""
    _write(folder)
    os.environ["PYTHONPATH"] = os.pathsep.join([str(folder), str(ROOT), str(ROOT / "src")])
    hidden = "" if fast else 'import sys\nsys.modules["numba"] = None  # as if not installed\n'
    (folder / "sitecustomize.py").write_text(hidden)
    kits = folder / "kits"
    _fedclust("provision", str(folder / "federation.toml"), "--out", str(kits))
    lock_server(kits / "server", SERVER_COMPONENT)
    for kit in (kits / "server", *(kits / "clients" / name for name in NAMES)):
        resources = kit / "local" / "resources.json"
        allowed = json.loads(resources.read_text())["class_allow_list"]
        _change(resources, class_allow_list=[*allowed, CONTROLLER, EXECUTOR, TIMED])
    with contextlib.ExitStack() as stack:
        server = kits / "server"
        stack.enter_context(running(server_command(server), server))
        clients = [stack.enter_context(_client(kits / "clients" / name)) for name in NAMES]
        session = stack.enter_context(Session(kits / "admin", "ana@example.org", seconds=60.0))
        while len(session.clients()) < N_CLIENTS:
            time.sleep(0.2)
        yield Federation(folder, session, clients)


def _write(folder: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    clients = "".join(f'{name} = "{name}"\n' for name in NAMES)
    (folder / "federation.toml").write_text(
        f'[federation]\nname = "bench"\nserver = "localhost"\nport = {port}\n'
        f'coordinator = "ana@example.org"\n[clients]\n{clients}'
    )
    (folder / "study.toml").write_text(STUDY)


def _fedclust(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "fedclust", *words], check=True, stdout=-3)


def rows() -> Any:
    """A client's rows."""
    return np.random.default_rng(0).normal(size=(N_ROWS, N_FEATURES))


@contextlib.contextmanager
def _client(kit: Path) -> Iterator[psutil.Process]:
    head = ",".join(f"x{i}" for i in range(N_FEATURES))
    np.savetxt(kit / "data.csv", rows(), delimiter=",", header=head, comments="")
    words = [sys.executable, "-m", "fedclust", "client", str(kit)]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        yield psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait(timeout=30)


def local_compute() -> float:
    """Seconds of the step itself, of all clients one after the other: they share this machine."""
    data = Data.of(rows())
    plan = Plan(make("llf-fcm", K, init=data.X[:K] + 0.1, fuzzifier=1.5))
    state = plan.algorithm.start(Schema(N_FEATURES), plan.rng("server", -1))
    request = Request(0, ("a",), plan.algorithm.broadcast(state))
    step = best_of({"step": lambda: respond(plan, request, "a", data)})["step"]
    return N_CLIENTS * step


def record_on_disk() -> float:
    """Seconds of a line that is on disk before anything goes on: a client writes two a message."""
    seconds = []
    with tempfile.TemporaryDirectory() as place:
        for _ in range(100):
            start = time.perf_counter()
            write_disclosure(Path(place) / "log", b"", {"what": {"weight": [K]}})
            seconds.append(time.perf_counter() - start)
            time.sleep(0.01)
    return statistics.median(seconds)


def measured(*, fast: bool) -> dict[str, dict[str, Any]]:
    """Both apps in turns: seconds of all rounds and to the first, memory of a job process."""
    found: dict[str, dict[str, Any]] = {
        app: {"rounds": [], "first": [], "memory": 0.0} for app in ("null", "study")
    }
    with tempfile.TemporaryDirectory() as place, federation(Path(place), fast=fast) as made:
        sizes = made.study()  # the first job of all is slower; it tells the sizes
        for _ in range(BLOCKS):
            blocks = {"null": made.nothing(sizes["down"], sizes["up"]), "study": made.study()}
            for app, block in blocks.items():
                found[app]["rounds"] += np.diff(block["ends"]).tolist()
                found[app]["first"].append(block["first"])
                found[app]["memory"] = max(found[app]["memory"], block["memory"])
    found["study"] |= {name: sizes[name] for name in ("down", "up")}
    return found


def table(*, fast: bool) -> list[str]:
    """What each costs, and the promises."""
    found, compute = measured(fast=fast), local_compute()
    null, study = found["null"], found["study"]
    seconds = {app: statistics.median(found[app]["rounds"]) for app in found}
    firsts = {app: statistics.median(found[app]["first"]) for app in found}
    ratio = seconds["study"] / (seconds["null"] + compute)
    later, more = firsts["study"] - firsts["null"], study["memory"] - null["memory"]
    n = len(study["rounds"])
    return [
        row(
            f"{N_CLIENTS} clients, {N_ROWS} x {N_FEATURES} rows, median of {n} rounds",
            "nothing",
            "study",
            "difference",
            "target",
        ),
        row(*["---"] * 5),
        row(
            f"a round: {study['down']} bytes out, {study['up']} back",
            f"{1e3 * seconds['null']:.1f} ms",
            f"{1e3 * seconds['study']:.1f} ms",
            f"{ratio:.2f} times nothing and {1e3 * compute:.1f} ms of computing",
            verdict(ratio, 1.25),
        ),
        row(
            "submission to the end of the first round",
            f"{firsts['null']:.1f} s",
            f"{firsts['study']:.1f} s",
            f"{later:+.1f} s",
            verdict(later, 1.0),
        ),
        row(
            "a client's job process, most memory",
            f"{null['memory']:.0f} MB",
            f"{study['memory']:.0f} MB",
            f"{more:+.0f} MB",
            verdict(more, 30.0),
        ),
        row("a line on this disk; a client writes two a round", "", *_disk(), ""),
    ]


def _disk() -> tuple[str, str]:
    alone = record_on_disk()
    return f"{1e3 * alone:.1f} ms", f"{2 * N_CLIENTS} a round on one disk"


if __name__ == "__main__":
    for fast in (False, True):
        print(f"\n{'with' if fast else 'without'} fedclust[fast]\n", flush=True)
        print("\n".join(table(fast=fast)), flush=True)
