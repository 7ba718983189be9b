"""``python -m benchmarks.federation --clients 3 10 30``: rounds, memory and bytes by clients.

Each federation consists of real processes on this machine, made and run with the commands that
users run, and is measured from outside: events of `fedclust.log`, and the memory of processes (PSS,
in which shared pages count once). `--together 100` puts all clients into one process instead:
their endpoints, with kits and ledgers of their own, behind the bytes that a network would carry.
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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from fedclust.deploy.job import StudyJob
from fedclust.deploy.paths import OUTCOME, PROGRESS
from fedclust.follow.endpoint import FollowingEndpoint
from fedclust.study.phases import Phase

from .timing import row

ROUNDS = 20
ALGORITHM = "llf-fcm"
_TIMES = (("median", 0.5), ("95 %", 0.95))
TIERS = ("none", "secure")
CLIENT = '[data]\nfile = "data.csv"\n[consent]\nmax_clusters = 10_000\n'
PORT = 8_002  # of kits that are not connected


@dataclass(frozen=True)
class Size:
    """What a client has, and what is computed over it."""

    n_rows: int = 500
    n_columns: int = 5
    k: int = 4
    rounds: int = ROUNDS
    init: str = "auto"


def study(tier: str, n_clients: int, size: Size) -> str:
    """The text of a study."""
    bounds = "".join(f"x{i} = {{ low = -10, high = 10 }}\n" for i in range(size.n_columns))
    more = "max_queries = 900\n" if tier == "secure" else ""
    return (
        f'[clustering]\nalgorithm = "{ALGORITHM}"\nn_clusters = {size.k}\nfuzzifier = 1.5\n'
        f'init = "{size.init}"\n'
        f"max_rounds = {size.rounds}\ntol = 0.0\n[sampling]\nmin_clients = {n_clients}\n"
        f'[privacy]\ntier = "{tier}"\n{more}[outputs]\nreport = false\n[features]\n{bounds}'
    )


def make_kits(folder: Path, n_clients: int, size: Size, port: int = PORT) -> list[Path]:
    """The kits of a federation on this machine, each with a table; return those of clients."""
    names = [f"client{i:03}" for i in range(n_clients)]
    listed = "".join(f'{name} = "{name}"\n' for name in names)
    (folder / "federation.toml").write_text(
        f'[federation]\nname = "bench"\nserver = "localhost"\nport = {port}\n'
        f'coordinator = "ana@example.org"\n[clients]\n{listed}'
    )
    words = ["provision", str(folder / "federation.toml"), "--out", str(folder / "kits")]
    subprocess.run(
        [sys.executable, "-m", "fedclust", *words], check=True, stdout=subprocess.DEVNULL
    )
    kits = [folder / "kits" / "clients" / name for name in names]
    head, middles = ",".join(f"x{i}" for i in range(size.n_columns)), _middles(size)
    for number, kit in enumerate(kits):
        rng = np.random.default_rng(number)
        around = middles[rng.integers(len(middles), size=size.n_rows)]
        table = np.clip(around + rng.normal(size=(size.n_rows, size.n_columns)), -9, 9)
        (kit / "client.toml").write_text(CLIENT)
        np.savetxt(kit / "data.csv", table, delimiter=",", header=head, comments="", fmt="%.4f")
    return kits


def _middles(size: Size) -> Any:
    return np.random.default_rng(9).uniform(-6, 6, size=(size.k, size.n_columns))


@dataclass
class Measured:
    """What was measured in a study; memory in megabytes, times in seconds."""

    first: float = 0.0  # from the start of the command to the end of the first round
    cpu: float = 0.0  # of all clients and the server in the whole study
    rounds: list[float] = field(default_factory=list)
    sent: int = 0  # bytes in a round, by the server and by all clients
    received: int = 0
    memory: dict[str, float] = field(default_factory=dict)

    def take_rounds(
        self, lines: Sequence[Mapping[str, Any]], time_key: str, key: str, plan: str = ALGORITHM
    ) -> None:
        """Take the rounds of the clustering from lines with times."""
        found = [line for line in lines if line.get(key) == plan]
        when = [datetime.fromisoformat(line[time_key]).timestamp() for line in found]
        self.rounds = [b - a for a, b in pairwise(when)]
        self.sent, self.received = found[-1]["sent"], found[-1]["received"]


def pss(process: psutil.Process) -> float:
    """Megabytes of a process and all that it started."""
    total = 0.0
    with contextlib.suppress(psutil.Error):
        for member in (process, *process.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                total += member.memory_full_info().pss / 2**20
    return total


def run_processes(
    folder: Path, n_clients: int, size: Size, tiers: Sequence[str]
) -> dict[str, Measured]:
    """A study of each tier over clients that are processes."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    kits = make_kits(folder, n_clients, size, port)
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(_started(folder, "client", str(kit))) for kit in kits]
        _wait_until_idle(clients)
        idle = statistics.median(pss(client) for client in clients)
        found = {}
        for tier in tiers:
            found[tier] = _run_study(folder, tier, clients, size)
            found[tier].memory["idle"] = idle
    return found


def _wait_until_idle(clients: Sequence[psutil.Process]) -> None:
    """Wait until the processes of all clients have started, and use no more memory."""
    before = -1.0
    while abs((now := sum(map(pss, clients))) - before) > len(clients):
        before = now
        time.sleep(4.0)


def _run_study(folder: Path, tier: str, clients: Sequence[psutil.Process], size: Size) -> Measured:
    path, kits = folder / f"{tier}.toml", folder / "kits"
    path.write_text(study(tier, len(clients), size))
    found, start = Measured(memory={"client": 0.0, "server": 0.0}), time.time()
    words = ("server", str(path), "--kits", str(kits), "--log-format", "json")
    with _started(folder, *words) as server:
        while server.is_running() and server.status() != psutil.STATUS_ZOMBIE:
            found.memory["server"] = max(found.memory["server"], pss(server))
            found.memory["client"] = max(found.memory["client"], pss(clients[0]))
            time.sleep(0.5)
    lines = [json.loads(line) for line in (kits / "server" / "fedclust.log").open()]
    lines = [line for line in lines if line["study"] == tier]
    if lines[-1]["event"] != "finished":
        raise SystemExit(f"{tier}: {lines[-1]}")
    first = next(line for line in lines if line["event"] == "round")
    found.first = datetime.fromisoformat(first["time"]).timestamp() - start
    found.take_rounds(lines, "time", "kind")
    return found


@contextlib.contextmanager
def _started(folder: Path, *words: str) -> Iterator[psutil.Process]:
    """A command as `fedclust[nvflare]` installs it, without numba."""
    (folder / "hide").mkdir(exist_ok=True)
    (folder / "hide" / "sitecustomize.py").write_text('import sys\nsys.modules["numba"] = None\n')
    path = os.pathsep.join([str(folder / "hide"), *filter(None, [os.environ.get("PYTHONPATH")])])
    process = psutil.Popen(
        [sys.executable, "-m", "fedclust", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": path},
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(psutil.Error):
            process.terminate()
        process.wait(timeout=60)


class Together:
    """A transport to endpoints in this process."""

    def __init__(self, kits: Sequence[Path], study: str) -> None:
        self._sites = {kit.name: FollowingEndpoint(kit, kit.name, study) for kit in kits}

    def clients(self) -> list[str]:
        """Names of the clients."""
        return list(self._sites)

    def exchange(
        self, clients: Sequence[str], request: bytes, seconds: float
    ) -> Iterator[tuple[str, bytes | str]]:
        """Each client's reply, one after the other."""
        for client in clients:
            yield client, self._sites[client].answer(request, "ana@example.org")


def run_together(
    folder: Path, n_clients: int, size: Size, tiers: Sequence[str]
) -> dict[str, Measured]:
    """A study of each tier over clients in this process."""
    kits, found = make_kits(folder, n_clients, size), {}
    process = psutil.Process()
    for tier in tiers:
        path, work = folder / f"{tier}.toml", folder / f"{tier}-work"
        path.write_text(study(tier, n_clients, size))
        work.mkdir()
        transport = Together(kits, tier)
        job = StudyJob(
            str(path), str(folder / f"{tier}-run"), str(work), f"{tier}0run", 600.0, False, False
        )
        start = time.process_time()
        job.run(transport, transport.clients())
        took = time.process_time() - start
        outcome = json.loads((work / OUTCOME).read_text())
        if not outcome["done"]:
            raise SystemExit(f"{tier}: {outcome}")
        found[tier] = one = Measured()
        one.take_rounds([json.loads(line) for line in (work / PROGRESS).open()], "when", "plan")
        one.cpu = took
        one.memory = {"all": process.memory_full_info().pss / 2**20}
    return found


def run_columns(folder: Path, n_records: int, k: int) -> Measured:
    """A study over the columns of two owners, in this process."""
    names, rng = ("left", "right"), np.random.default_rng(0)
    which = rng.integers(k, size=n_records)
    for name in names:
        kit = folder / name
        kit.mkdir()
        (kit / "client.toml").write_text(
            '[data]\nfile = "data.csv"\nid = "id"\nsecret = "the same for all owners"\n'
            "[consent]\nsplit_columns = true\n"
        )
        values = rng.uniform(-6, 6, size=(k, 2))[which] + rng.normal(size=(n_records, 2))
        table = np.column_stack([np.arange(n_records), np.clip(values, -9, 9)])
        head = f"id,{name}0,{name}1"
        np.savetxt(kit / "data.csv", table, "%d,%.3f,%.3f", header=head, comments="")
    path, work = folder / "columns.toml", folder / "work"
    work.mkdir()
    path.write_text(
        f'[data]\nsplit = "columns"\n[clustering]\nalgorithm = "lossless"\nn_clusters = {k}\n'
        f"max_rounds = {ROUNDS}\n[sampling]\nmin_clients = 2\n"
        '[privacy]\ntier = "none"\n[outputs]\nreport = false\nlabels = "none"\n'
    )
    transport, start = Together([folder / name for name in names], "columns"), time.process_time()
    StudyJob(str(path), str(folder / "run"), str(work), "columns0run", 600.0, False, False).run(
        transport, names
    )
    outcome = json.loads((work / OUTCOME).read_text())
    if not outcome["done"]:
        raise SystemExit(str(outcome))
    found = Measured(cpu=time.process_time() - start)
    lines = [json.loads(line) for line in (work / PROGRESS).open()]
    last = [line for line in lines if line.get("phase") == Phase.CLUSTERING][-1]["plan"]
    found.take_rounds(lines, "when", "plan", last)
    found.memory = {"all": psutil.Process().memory_full_info().pss / 2**20}
    return found


def _quantile(values: Sequence[float], at: float) -> str:
    return f"{1e3 * float(np.quantile(values, at)):.0f} ms"


def print_processes(counts: Sequence[int], size: Size, tiers: Sequence[str]) -> None:
    """The table for clients that are processes."""
    print(f"\n{size.n_rows} x {size.n_columns} rows a client, k = {size.k}; {_load()}\n")
    print(
        row("clients", "tier", "until the first round", "round, median", "95 %", "server sends",
            "clients send", "idle client", "client in a job", "server")
    )  # fmt: skip
    print(row(*["---"] * 10), flush=True)
    for n in counts:
        with tempfile.TemporaryDirectory() as folder:
            for tier, one in run_processes(Path(folder), n, size, tiers).items():
                memory = [f"{one.memory[who]:.0f} MB" for who in ("idle", "client", "server")]
                times = [_quantile(one.rounds, q) for q in (0.5, 0.95)]
                sizes = [f"{value:,} B" for value in (one.sent, one.received)]
                print(row(str(n), tier, f"{one.first:.1f} s", *times, *sizes, *memory), flush=True)
    print(f"\nat the end: {_load()}")


def print_together(n_clients: int, size: Size, tiers: Sequence[str]) -> None:
    """The table for clients in one process."""
    print(f"\n{size.n_rows} x {size.n_columns} rows a client, k = {size.k}; {_load()}\n")
    heads = ("round, median", "95 %", "CPU of the study", "server sends", "clients send")
    print(row("clients", "tier", *heads, "memory of all"))
    print(row(*["---"] * 8), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for tier, one in run_together(Path(folder), n_clients, size, tiers).items():
            sizes = [f"{value:,} B" for value in (one.sent, one.received)]
            times = [_quantile(one.rounds, q) for q in (0.5, 0.95)]
            more = (f"{one.cpu:.1f} s", *sizes, f"{one.memory['all']:.0f} MB")
            print(row(str(n_clients), tier, *times, *more), flush=True)


def print_columns(n_records: int, k: int = 4) -> None:
    """A line for split columns."""
    print(f"\n2 owners of 2 columns of {n_records:,} records, k = {k}; {_load()}\n", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        one = run_columns(Path(folder), n_records, k)
    times = ", ".join(f"{name} {_quantile(one.rounds, q)}" for name, q in _TIMES)
    print(f"round: {times}; CPU of the study {one.cpu:.0f} s; a round sends {one.sent:,} B and")
    print(f"receives {one.received:,} B; memory of all in one process {one.memory['all']:.0f} MB")


def _load() -> str:
    return f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
