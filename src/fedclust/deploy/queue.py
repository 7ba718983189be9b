"""The studies of a federation: one runs at a time, others wait in line, all are on record.

::

    admin/queue/000007.json   a study that runs or waits; the lowest number runs
    admin/studies.jsonl       one line for each study that has ended
"""

import contextlib
import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from ..core import ConfigError
from ..core.files import append_line, lock, write_text

_QUEUE, _LOCK, _HISTORY = "queue", "lock", "studies.jsonl"
_POLL_INTERVAL = 0.5
OnMessage = Callable[[str], object]


class Outcome(StrEnum):
    """How a study ended."""

    FINISHED = "finished"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


@dataclass(frozen=True)
class Ticket:
    """A study that runs or waits, and the process of its command."""

    number: int
    study: str
    folder: str
    since: str
    pid: int
    started: float  # when the process was created: process ids are used again


@dataclass(frozen=True)
class Entry:
    """A study that has ended."""

    study: str
    folder: str
    since: str
    until: str
    outcome: Outcome
    why: str = ""


@contextlib.contextmanager
def take_turn(admin: Path, study: str, folder: Path, on_message: OnMessage) -> Iterator[None]:
    """Wait until all earlier studies of these kits have ended; record how this one ends."""
    mine = _enter(admin, study, folder)
    try:
        _wait(admin, mine, on_message)
        yield
    except BaseException as problem:
        failed = isinstance(problem, Exception)
        _record(admin, mine, Outcome.FAILED if failed else Outcome.INTERRUPTED, problem)
        raise
    else:
        _record(admin, mine, Outcome.FINISHED)
    finally:
        _path(admin, mine.number).unlink(missing_ok=True)


def list_queue(admin: Path) -> list[Ticket]:
    """The study that runs, and those that wait for it, in order."""
    from ..channels.nvflare.process import is_running

    tickets = []
    for path in sorted((admin / _QUEUE).glob("*.json")):
        with contextlib.suppress(OSError, ValueError, TypeError):
            ticket = Ticket(**json.loads(path.read_text(encoding="utf-8")))
            if is_running(ticket.pid, ticket.started):
                tickets.append(ticket)
    return tickets


def read_history(admin: Path) -> list[Entry]:
    """The studies that have ended, the latest last; lines that cannot be read are left out."""
    path = admin / _HISTORY
    entries = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        with contextlib.suppress(ValueError, TypeError, KeyError):
            found = json.loads(line)
            entries.append(Entry(**{**found, "outcome": Outcome(found["outcome"])}))
    return entries


def cancel(admin: Path, study: str) -> list[Ticket]:
    """Interrupt the commands that run this study or wait to run it; they can be resumed."""
    tickets = [ticket for ticket in list_queue(admin) if ticket.study == study]
    if not tickets:
        others = ", ".join(ticket.study for ticket in list_queue(admin)) or "none"
        raise ConfigError(f"no study {study!r} runs or waits on these kits; there are: {others}")
    for ticket in reversed(tickets):  # those that wait first, or they would start
        os.kill(ticket.pid, signal.SIGTERM)
    return tickets


def _enter(admin: Path, study: str, folder: Path) -> Ticket:
    """Take the next number, and remove the tickets of processes that have died."""
    from ..channels.nvflare.process import created

    queue = admin / _QUEUE
    queue.mkdir(exist_ok=True, mode=0o700)
    with open(queue / _LOCK, "ab") as file:
        lock(file)  # numbers are taken one after another, so nobody can enter in front
        alive = list_queue(admin)
        for path in queue.glob("*.json"):
            if path not in {_path(admin, ticket.number) for ticket in alive}:
                path.unlink(missing_ok=True)
        number = max((ticket.number for ticket in alive), default=0) + 1
        pid = os.getpid()
        mine = Ticket(number, study, str(folder), _now(), pid, created(pid))
        write_text(_path(admin, number), json.dumps(asdict(mine)))
    return mine


def _wait(admin: Path, mine: Ticket, on_message: OnMessage) -> None:
    before = None
    while ahead := [ticket for ticket in list_queue(admin) if ticket.number < mine.number]:
        if (first := ahead[0].study) != before:
            on_message(
                f"waiting for the study {first!r}, which runs on the same kits; list or cancel "
                f"studies with: fedclust studies --kits {admin.parent}"
            )
            before = first
        time.sleep(_POLL_INTERVAL)


def _record(
    admin: Path, mine: Ticket, outcome: Outcome, problem: BaseException | None = None
) -> None:
    why = str(problem) if outcome is Outcome.FAILED else ""
    entry = Entry(mine.study, mine.folder, mine.since, _now(), outcome, why)
    with contextlib.suppress(OSError):  # a full disk must not hide the problem itself
        append_line(admin / _HISTORY, json.dumps(asdict(entry)))


def _path(admin: Path, number: int) -> Path:
    return admin / _QUEUE / f"{number:06}.json"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
