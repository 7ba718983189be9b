"""A federation of real processes on this machine; all of them are ended afterwards."""

import contextlib
import fcntl
import itertools
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, ClassVar, Protocol, TypeVar

import numpy as np
import psutil

CLIENTS = ("north", "south", "west")
PATIENCE = float(os.environ.get("FEDCLUST_PATIENCE", "300"))  # seconds; a busy machine is slow
_PORTS = range(20_000, 30_000)  # below those that a system gives to connections by itself
_MOST_WORKERS = 16  # each of which has ports of its own
_LOCK = "fedclust-federation.lock"
_used = itertools.count()
_held: list[bool] = []


class _Closes(Protocol):
    def close(self) -> None: ...


Closing = TypeVar("Closing", bound=_Closes)


def free_port() -> int:
    """A port that nobody else takes before it is used: a federation needs seconds to begin."""
    number = re.sub(r"\D", "", os.environ.get("PYTEST_XDIST_WORKER", ""))
    own = _PORTS[int(number or 0) % _MOST_WORKERS :: _MOST_WORKERS]
    for n in _used:
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", own[(os.getpid() + n) % len(own)]))
            return int(probe.getsockname()[1])
    raise AssertionError("unreachable")


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """One federation of processes at a time, if possible: two would make each other wait."""
    if _held:  # by this test
        yield
        return
    with open(Path(tempfile.gettempdir()) / f"{os.getuid()}-{_LOCK}", "ab") as file:
        with contextlib.suppress(AssertionError):
            wait_for(lambda: _is_locked(file), "another federation")
        _held.append(True)
        try:
            yield
        finally:
            _held.clear()


def _is_locked(file: IO[bytes]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class Command:
    """A command in its own process, with its output; by default a fedclust command."""

    program: ClassVar[tuple[str, ...]] = (sys.executable, "-m", "fedclust")

    def __init__(self, log: Path, *words: str, env: dict[str, str] | None = None) -> None:
        self.log = log
        settings = {"OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1", "COLUMNS": "300"}
        with open(log, "wb") as out:
            self.process = subprocess.Popen(
                [*self.program, *words],
                stdout=out,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                env={**os.environ, **settings, **(env or {})},
                start_new_session=True,
            )
        self.seen: dict[int, psutil.Process] = {}
        self.family()

    def family(self) -> list[psutil.Process]:
        """The process and its descendants, including those whose parent has ended."""
        with contextlib.suppress(psutil.NoSuchProcess):
            parent = psutil.Process(self.process.pid)
            for member in (parent, *parent.children(recursive=True)):
                self.seen.setdefault(member.pid, member)
        return [p for p in self.seen.values() if p.is_running() and p.status() != "zombie"]

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def says(self, pattern: str, seconds: float = PATIENCE) -> str:
        """Wait until its output matches the pattern."""
        found = wait_for(
            lambda: re.search(pattern, self.said()), repr(pattern), seconds, self.family
        )
        return str(found[0])

    def ends(self, seconds: float = PATIENCE) -> int:
        """Wait for its end and return its exit status."""
        wait_for(lambda: self.process.poll() is not None, "its end", seconds, self.family)
        return int(self.process.returncode)

    def kill(self) -> None:
        """Kill all its processes at once, as in a power failure."""
        family = self.family()
        for member in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                member.kill()
        psutil.wait_procs(family, timeout=10)
        self.process.wait(timeout=10)

    def stop(self) -> None:
        """Terminate, wait, and kill the remaining processes by id; none may remain."""
        self.family()
        with contextlib.suppress(ProcessLookupError):
            if self.process.poll() is None:
                self.process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=25)
        left = self.family()
        for member in left:
            with contextlib.suppress(psutil.NoSuchProcess):
                member.kill()
        psutil.wait_procs(left, timeout=10)
        assert not self.family()


def wait_for(
    found: Callable[[], Any],
    what: str,
    seconds: float = PATIENCE,
    meanwhile: Callable[[], Any] = lambda: None,
) -> Any:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        meanwhile()
        if value := found():
            return value
        time.sleep(0.1)
    raise AssertionError(f"waited {seconds:g} s in vain for {what}")


class Federation:
    """Kits, data and a study in a folder, and the processes started on them."""

    def __init__(self, folder: Path, n_rows: int = 300) -> None:
        self.folder, self.port = folder, free_port()
        self.commands: list[Command] = []
        self.write_kits("kits", self.port)
        self.tables = tables(n_rows)
        for client, table in self.tables.items():
            self.write_data(client, table)

    def write_kits(self, name: str, port: int) -> None:
        clients = "".join(f'{client} = "Clinic {client}"\n' for client in CLIENTS)
        (self.folder / f"{name}.toml").write_text(
            f'[federation]\nname = "{name}"\nserver = "localhost"\nport = {port}\n'
            f'coordinator = "ana@example.org"\n[clients]\n{clients}'
        )
        done = subprocess.run(
            [sys.executable, "-m", "fedclust", "provision", f"{name}.toml", "--out", name],
            cwd=self.folder,
            check=False,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def kit(self, client: str) -> Path:
        return self.folder / "kits" / "clients" / client

    def write_data(self, client: str, table: Any) -> None:
        rows = [f"{client}{i},{a!r},{b!r}" for i, (a, b) in enumerate(table.tolist())]
        text = "\n".join(["person,height,width", *rows]) + "\n"
        (self.kit(client) / "people.csv").write_text(text)
        (self.kit(client) / "client.toml").write_text(
            '[data]\nfile = "people.csv"\nid = "person"\n'
        )

    def write_study(
        self,
        clustering: str,
        *,
        k: int = 3,
        min_clients: int = 3,
        privacy: str = 'tier = "none"',
        features: str = "",
    ) -> Path:
        files = "".join(f'{c} = "{self.kit(c) / "people.csv"}"\n' for c in CLIENTS)
        path = self.folder / "study.toml"
        path.write_text(
            f"[clients]\n{files}[clustering]\nn_clusters = {k}\n"
            f"{clustering}\n[sampling]\nmin_clients = {min_clients}\n"
            f"[privacy]\n{privacy}\n{features}"
        )
        return path

    def command(self, name: str, *words: str, env: dict[str, str] | None = None) -> Command:
        log = self.folder / f"{name}-{len(self.commands)}.out"
        self.commands.append(Command(log, *words, env=env))
        return self.commands[-1]

    def client(self, name: str, env: dict[str, str] | None = None) -> Command:
        return self.command(name, "client", str(self.kit(name)), env=env)

    def clients(self, *names: str) -> dict[str, Command]:
        """Start clients after the server, and one after another: programs that start are slow."""
        self.commands[-1].says("connected: none yet")
        started = {}
        for name in names:
            started[name] = self.client(name)
            started[name].says("connecting to")
        return started

    def server(self, study: Path, *words: str) -> Command:
        kits = str(self.folder / "kits")
        return self.command("server", "server", str(study), "--kits", kits, *words)

    def run_here(self, study: Path, out: str = "here") -> Path:
        """Run the same study in one process: the expected result."""
        from fedclust.study import read_study
        from fedclust.study.run import run_study

        local = self.folder / f"{out}-study" / study.name  # with what client.toml says elsewhere
        local.parent.mkdir(exist_ok=True)
        text, outputs = study.read_text(), '[outputs]\nlabels = "csv"\nlabels_in = "run"\n'
        if "[data]\n" not in text:
            text += "[data]\n"
        local.write_text(text.replace("[data]\n", '[data]\nid = "person"\n') + outputs)
        run_study(read_study(local), self.folder / out)
        return self.folder / out

    def close(self) -> None:
        for command in self.commands:
            command.family()
        for command in reversed(self.commands):
            command.stop()


def results_of(folder: Path) -> tuple[Any, ...]:
    """The results of a run, except for times and for the id column, which is a client's own."""
    model = json.loads((folder / "model.json").read_text())
    profile = json.loads((folder / "profile.json").read_text())
    model |= {"created": "", "run_id": "", "id_column": None, "study_hash": ""}
    return model, profile, (folder / "history.jsonl").read_text()


@contextlib.contextmanager
def closed_at_the_end(made: Closing) -> Iterator[Closing]:
    """End all processes when the block ends, also after an error."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)  # else 'finally' would be skipped
    try:
        with alone(), contextlib.closing(made):
            yield made
    finally:
        signal.signal(signal.SIGTERM, before)


def federation(folder: Path) -> contextlib.AbstractContextManager[Federation]:
    """A federation whose processes end with the block."""
    return closed_at_the_end(Federation(folder))


def tables(n: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    centers = np.array([[0.0, 10.0], [5.0, 20.0], [9.0, 2.0]])
    return {
        name: rng.normal(centers[rng.choice(3, n, p=np.roll([0.6, 0.3, 0.1], i))], 1.5)
        for i, name in enumerate(CLIENTS)
    }
