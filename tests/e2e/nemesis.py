"""Carries out a schedule of faults over real processes, as machines and people would react.

Services start a client again when it ends. The coordinator gives the same command with --resume
when it ends early. Nobody does anything else.
"""

import contextlib
import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from ..support.proxy import Proxy, proxy
from .disks import Clock, Disk
from .processes import CLIENTS, Command, Federation
from .schedules import Fault, Schedule, Setting, What, Where
from .studies_of_nemesis import SLOW, prepare

DEADLINE = 30.0  # of the studies; seconds
SILENT = 2 * DEADLINE  # a command that shows nothing for longer hangs
LONGEST = 600.0  # seconds for all
DONE = "Model, history and report:"
_RESTART = 2.0  # seconds until a service starts a client again, and a person a study
_STALLED = 12.0  # seconds without a round after which the next fault comes anyway
_NAMES = {
    Where.ENGINE: "client_train",
    Where.SERVER_ENGINE: "server_train",
    Where.JOB: "worker_process",
    Where.SERVER_JOB: "runner_process",
}


@dataclass
class Report:
    """How a schedule ended."""

    finished: bool = False
    problems: list[str] = field(default_factory=list)
    attempts: int = 0  # commands of the coordinator
    struck: list[str] = field(default_factory=list)
    longest_silence: float = 0.0
    seconds: float = 0.0


class Nemesis:
    """A federation, the faults that hit it, and those who start what has ended."""

    def __init__(self, fed: Federation, schedule: Schedule, stack: contextlib.ExitStack) -> None:
        self.fed, self.schedule, self.report = fed, schedule, Report()
        self._proxies: dict[str, Proxy] = {c: stack.enter_context(proxy()) for c in CLIENTS}
        self._clocks: dict[str, Clock] = {}
        self._disks: dict[str, Disk] = {}
        self._ended: dict[str, float] = {}  # when the command of a client was seen to have ended
        self._frozen = False  # the server's command, by us
        self._clients: dict[str, Command] = {}
        self._server: Command | None = None
        self._heals: list[tuple[float, Callable[[], object]]] = []
        self._prepare(stack)

    def _prepare(self, stack: contextlib.ExitStack) -> None:
        self.out = self.fed.folder / "server-disk" / "study-run"
        self.out.parent.mkdir()
        for fault in self.schedule.faults:
            who = "server" if fault.at_server else fault.client
            if fault.what is What.CLOCK and who not in self._clocks:
                self._clocks[who] = Clock(self.fed.folder, who)
        self.study = prepare(self.fed, self.schedule.setting)
        for fault in self.schedule.faults:
            who = "server" if fault.at_server else fault.client
            if fault.what is What.DISK and who not in self._disks:
                folder = self.out.parent if who == "server" else self.fed.kit(who)
                self._disks[who] = Disk(folder)
                stack.callback(self._disks[who].close)

    # What machines and people do

    def _environment(self, who: str) -> dict[str, str]:
        found = self._clocks[who].environment() if who in self._clocks else {}
        if who in CLIENTS:
            folder = self.fed.folder / "slow"
            folder.mkdir(exist_ok=True)
            (folder / "sitecustomize.py").write_text(SLOW)
            path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
            found |= {"PYTHONPATH": path, "grpc_proxy": self._proxies[who].address}
        return found

    def _start_client(self, name: str) -> None:
        self._clients[name] = self.fed.client(name, env=self._environment(name))
        self._ended.pop(name, None)

    def _start_server(self) -> None:
        words = ["--kits", str(self.fed.folder / "kits"), "--out", str(self.out)]
        words += ["--deadline", f"{DEADLINE:g}", "--wait", "60", "--grace", "15"]
        if self.out.with_name(f".{self.out.name}.federation").exists():
            words.append("--resume")
        env = self._environment("server")
        self._server = self.fed.command("server", "server", str(self.study), *words, env=env)
        self.report.attempts += 1
        self._heard, self._shown, self._frozen = time.monotonic(), "", False

    def run(self) -> Report:
        """Carry out the schedule; the report says what became of the study."""
        begin = time.monotonic()
        for name in CLIENTS:
            self._start_client(name)
        self._start_server()
        faults = list(self.schedule.faults)
        self._lines, self._since = 0, begin
        while not self.report.finished and not self.report.problems:
            now = time.monotonic()
            self._look(now)
            self._tend(now)
            self._heal(now)
            if faults and self._is_due(faults[0], now):
                self._strike(faults.pop(0), now)
                self._lines, self._since = 0, now
            if now - begin > LONGEST:
                self.report.problems.append(f"not finished after {LONGEST:g} s")
            time.sleep(0.1)
        for _, heal in self._heals:
            heal()
        self.report.seconds = time.monotonic() - begin
        return self.report

    def _is_due(self, fault: Fault, now: float) -> bool:
        """After so many rounds, or when there are none for a while."""
        if "submitted to" not in self._all_said():
            return False
        return self._lines >= fault.after or now - self._since > _STALLED

    def _all_said(self) -> str:
        return "".join(c.said() for c in self.fed.commands if c.log.name.startswith("server"))

    def _look(self, now: float) -> None:
        """Take in what the server shows; if it shows nothing for too long, it hangs."""
        assert self._server is not None
        shown = self._server.said()
        if shown != self._shown:
            new = shown[len(self._shown) :]
            self._lines += new.count(" replies")
            self._shown, self._heard = shown, now
        if self._frozen or self._server.process.poll() is not None:
            self._heard = now
        silent = now - self._heard
        self.report.longest_silence = max(self.report.longest_silence, silent)
        if silent > SILENT:
            last = shown.splitlines()[-1:] or ["nothing"]
            self.report.problems.append(f"hangs: silent for {silent:.0f} s after {last[0]!r}")

    def _tend(self, now: float) -> None:
        for name, client in self._clients.items():
            if client.process.poll() is None:
                continue
            if now - self._ended.setdefault(name, now) > _RESTART:
                client.stop()
                self._start_client(name)
        server = self._server
        assert server is not None
        code = server.process.poll()
        if code is not None and DONE in server.said():
            self.report.finished = True
        elif code is not None and now - self._ended.setdefault("server", now) > _RESTART:
            self._ended.pop("server")
            server.stop()
            self._check_words(server, code)
            self._start_server()

    def _check_words(self, server: Command, code: int) -> None:
        said = server.said()
        if "Traceback" in said:
            self.report.problems.append(f"the server's console has a traceback: {said[-2000:]}")
        elif code >= 0 and not said.strip():
            self.report.problems.append(f"the server ended with {code}, without a word")

    def _heal(self, now: float) -> None:
        due = [entry for entry in self._heals if entry[0] <= now]
        for entry in due:
            self._heals.remove(entry)
            entry[1]()

    # Faults

    def _strike(self, fault: Fault, now: float) -> None:
        heal = {
            What.KILL: self._kill,
            What.STOP: self._stop,
            What.CUT: self._cut,
            What.MUTE: self._cut,
            What.DISK: self._fill,
            What.CLOCK: self._turn,
        }[fault.what](fault)
        self.report.struck.append(f"{time.strftime('%H:%M:%S')} {fault}")
        if heal is not None:
            self._heals.append((now + fault.seconds, heal))

    def _hit(self, fault: Fault) -> tuple[Command, list[psutil.Process]]:
        """The command that a fault hits, and the processes; none if there is no such process."""
        assert self._server is not None
        command = self._server if fault.at_server else self._clients[fault.client]
        family = command.family()
        if fault.where in (Where.SERVER, Where.CLIENT):
            return command, family
        found = []
        for member in family:
            with contextlib.suppress(psutil.Error):
                if _NAMES[fault.where] in " ".join(member.cmdline()):
                    found.append(member)
        return command, found

    def _kill(self, fault: Fault) -> None:
        command, members = self._hit(fault)
        if fault.where in (Where.SERVER, Where.CLIENT):
            command.kill()
            return
        for member in members:
            with contextlib.suppress(psutil.NoSuchProcess):
                member.kill()

    def _stop(self, fault: Fault) -> Callable[[], object]:
        _, members = self._hit(fault)
        for member in members:
            with contextlib.suppress(psutil.NoSuchProcess):
                member.send_signal(signal.SIGSTOP)
        self._frozen = self._frozen or fault.where is Where.SERVER

        def wake() -> None:
            for member in members:
                with contextlib.suppress(psutil.NoSuchProcess):
                    member.send_signal(signal.SIGCONT)
            if fault.where is Where.SERVER:
                self._frozen = False

        return wake

    def _cut(self, fault: Fault) -> Callable[[], object]:
        hit = list(CLIENTS) if fault.at_server else [fault.client]
        for name in hit:
            one = self._proxies[name]
            one.cut() if fault.what is What.CUT else one.mute()

        def heal() -> None:
            for name in hit:
                self._proxies[name].heal()

        return heal

    def _fill(self, fault: Fault) -> Callable[[], object]:
        disk = self._disks["server" if fault.at_server else fault.client]
        disk.fill()
        return disk.free

    def _turn(self, fault: Fault) -> Callable[[], object]:
        clock = self._clocks["server" if fault.at_server else fault.client]
        clock.set(fault.shift)
        if fault.where is Where.CLIENT:  # a machine that starts with a wrong clock
            self._clients[fault.client].kill()
        return lambda: clock.set(0)


@contextlib.contextmanager
def nemesis(folder: Path, schedule: Schedule) -> Iterator[Nemesis]:
    """A federation that ends with the block, with its disks."""
    from .processes import closed_at_the_end

    with contextlib.ExitStack() as stack:
        fed = stack.enter_context(closed_at_the_end(Federation(folder)))
        yield Nemesis(fed, schedule, stack)


def tracebacks(fed: Federation) -> list[str]:
    """Commands whose console shows a traceback."""
    return [c.log.name for c in fed.commands if "Traceback" in c.said()]


def noises(kit: Path) -> list[str]:
    """Steps of the log of disclosures that left with two different contents."""
    seen: dict[tuple[object, ...], str] = {}
    twice = []
    for text in (kit / "disclosures.jsonl").read_text().splitlines():
        line = json.loads(text)
        if "refused" in line or line.get("kind") != "round":
            continue
        place = tuple(line.get(key) for key in ("run", "plan", "round", "step"))
        if seen.setdefault(place, line["sha256"]) != line["sha256"]:
            twice.append(str(place))
    return twice


__all__ = ["Nemesis", "Setting", "nemesis", "noises", "tracebacks"]
