"""``python -m benchmarks.federation``: cost of a study in addition to NVFlare itself.

Real processes on this machine, mutual TLS. A study alternates with a job that only sends as many
bytes in both directions, with one server and the same clients. It runs once as
``fedclust[nvflare]`` installs it, and once with ``fedclust[fast]``: numba is fast, but large. Set
``TMPDIR=/dev/shm`` to measure without the disk, which all clients share only here.

With ``--clients 3 10 30``, ``--together 100``, ``--large`` or ``--columns 1000000``, see
`benchmarks.scale`.
"""

import argparse
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

from .scale import CLIENT, TIERS, Size, print_columns, print_processes, print_together
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
    """A server, its clients, and two kinds of jobs."""

    def __init__(self, folder: Path, session: Session, clients: Sequence[psutil.Process]) -> None:
        self.folder, self._session, self._clients = folder, session, clients
        self._n = 0

    def study(self) -> dict[str, Any]:
        """Run the study; return seconds per round and until the first, memory and bytes."""
        job, out = self._new_paths()
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
        begin, memory, result = self._wait_for(job, out)
        last = [one for one in result["rounds"] if one["plan"] == "llf-fcm"]
        first = result["rounds"][0]["end"] - begin
        sizes = {name: last[0][name] for name in ("down", "up")}
        return {"ends": [one["end"] for one in last], "first": first, "memory": memory, **sizes}

    def null(self, down: int, up: int) -> dict[str, Any]:
        """Run the job that does nothing but exchange bytes."""
        job, out = self._new_paths()
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
        begin, memory, result = self._wait_for(job, out)
        return {**result, "first": result["ends"][1] - begin, "memory": memory}

    def _new_paths(self) -> tuple[Path, Path]:
        self._n += 1
        job = self.folder / f"job{self._n}"
        return job, job.with_suffix(".json")

    def _wait_for(self, job: Path, out: Path) -> tuple[float, float, dict[str, Any]]:
        begin, peak = time.time(), 0.0
        id = self._session.submit(job)
        while not out.exists():
            peak = max(peak, *(_job_memory(client) for client in self._clients))
            time.sleep(0.1)
        result = json.loads(out.read_text())
        while not (status := self._session.status(id)).startswith("FINISHED"):
            time.sleep(0.5)
        assert status == "FINISHED:COMPLETED", status
        return begin, peak, result


def _change(file: Path, **entries: Any) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), **entries}))


def _job_memory(client: psutil.Process) -> float:
    """Megabytes of a client's job process; 0 if there is none."""
    with contextlib.suppress(psutil.Error):
        for child in client.children(recursive=True):
            if any("worker_process" in argument for argument in child.cmdline()):
                return float(child.memory_info().rss) / 2**20
    return 0.0


@contextlib.contextmanager
def federation(folder: Path, *, fast: bool) -> Iterator[Federation]:
    """Provision, allow both apps in the kits, and start all processes."""
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


def _fedclust(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "fedclust", *arguments], check=True, stdout=-3)


def rows() -> Any:
    """A client's rows."""
    return np.random.default_rng(0).normal(size=(N_ROWS, N_FEATURES))


@contextlib.contextmanager
def _client(kit: Path) -> Iterator[psutil.Process]:
    head = ",".join(f"x{i}" for i in range(N_FEATURES))
    np.savetxt(kit / "data.csv", rows(), delimiter=",", header=head, comments="")
    (kit / "client.toml").write_text(CLIENT)  # a new kit refuses studies without masks
    command = [sys.executable, "-m", "fedclust", "client", str(kit)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        yield psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait(timeout=30)


def local_compute() -> float:
    """Seconds of the step itself, summed over clients, because they share this machine."""
    data = Data.of(rows())
    plan = Plan(make("llf-fcm", K, init=data.X[:K] + 0.1, fuzzifier=1.5))
    state = plan.algorithm.start(Schema(N_FEATURES), plan.rng("server", -1))
    request = Request(0, ("a",), plan.algorithm.broadcast(state))
    step = best_of({"step": lambda: respond(plan, request, "a", data)})["step"]
    return N_CLIENTS * step


def record_on_disk() -> float:
    """Seconds to write a line to disk; a client writes two lines per message."""
    seconds = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(100):
            start = time.perf_counter()
            write_disclosure(Path(folder) / "log", b"", {"what": {"weight": [K]}})
            seconds.append(time.perf_counter() - start)
            time.sleep(0.01)
    return statistics.median(seconds)


def measure(*, fast: bool) -> dict[str, dict[str, Any]]:
    """Alternate both apps; return seconds of rounds and until the first, and memory."""
    results: dict[str, dict[str, Any]] = {
        app: {"rounds": [], "first": [], "memory": 0.0} for app in ("null", "study")
    }
    with tempfile.TemporaryDirectory() as folder, federation(Path(folder), fast=fast) as made:
        sizes = made.study()  # the first job is slower; it gives the sizes
        for _ in range(BLOCKS):
            blocks = {"null": made.null(sizes["down"], sizes["up"]), "study": made.study()}
            for app, block in blocks.items():
                results[app]["rounds"] += np.diff(block["ends"]).tolist()
                results[app]["first"].append(block["first"])
                results[app]["memory"] = max(results[app]["memory"], block["memory"])
    results["study"] |= {name: sizes[name] for name in ("down", "up")}
    return results


def table(*, fast: bool) -> list[str]:
    """Costs of both apps, and the targets."""
    results, compute = measure(fast=fast), local_compute()
    null, study = results["null"], results["study"]
    seconds = {app: statistics.median(results[app]["rounds"]) for app in results}
    firsts = {app: statistics.median(results[app]["first"]) for app in results}
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
            "a client's job process, peak memory",
            f"{null['memory']:.0f} MB",
            f"{study['memory']:.0f} MB",
            f"{more:+.0f} MB",
            verdict(more, 30.0),
        ),
        row("a line on this disk; a client writes two per round", "", *_disk(), ""),
    ]


def _disk() -> tuple[str, str]:
    seconds = record_on_disk()
    return f"{1e3 * seconds:.1f} ms", f"{2 * N_CLIENTS} per round on one disk"


def main() -> None:
    """Measure what the options ask for; without options, the cost in addition to NVFlare."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--clients", type=int, nargs="+", help="numbers of clients, as processes")
    parser.add_argument("--together", type=int, nargs="+", help="numbers of clients in one process")
    parser.add_argument("--tiers", nargs="+", default=TIERS, help="tiers of the studies")
    parser.add_argument("--large", action="store_true", help="1,000 clusters of 1,000 columns")
    parser.add_argument("--columns", type=int, help="number of records whose columns are split")
    options = parser.parse_args()
    if options.clients:
        print_processes(options.clients, Size(), options.tiers)
    for n in options.together or ():
        print_together(n, Size(), options.tiers)
    if options.large:
        print_together(3, Size(1_500, 1_000, 1_000, rounds=3, init="uniform"), ("none",))
    if options.columns:
        print_columns(options.columns)
    if not (options.clients or options.together or options.large or options.columns):
        for fast in (False, True):
            print(f"\n{'with' if fast else 'without'} fedclust[fast]\n", flush=True)
            print("\n".join(table(fast=fast)), flush=True)


if __name__ == "__main__":
    main()
