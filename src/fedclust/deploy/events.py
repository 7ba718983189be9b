"""Events of a client or server, one line each, in a log that rotates; docs/monitoring.md has them.

An event has names, numbers, codes and public texts. It has no values of rows, no paths of data and
no private detail of a refusal: these are in the log of the process that answered.
"""

import contextlib
import json
import os
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from ..core.files import append_line, explain

LOG_FILE = "fedclust.log"
LOG_BYTES, LOG_FILES = 5_000_000, 5  # a log has at most this size, and this many older files
_LONGEST = 500  # characters of a text that another machine sent


class LogFormat(StrEnum):
    """How an event is written."""

    TEXT = "text"
    JSON = "json"


class EventName(StrEnum):
    """What happened."""

    STARTED = "started"
    STOPPED = "stopped"
    FAILED = "failed"
    CONNECTED = "connected"
    DISCONNECTED = "disconnected"
    WAITING = "waiting"
    FOLLOWED = "followed"
    ANSWERED = "answered"
    REFUSED = "refused"
    SUBMITTED = "submitted"
    ROUND = "round"
    INCIDENT = "incident"
    FINISHED = "finished"
    NOTE = "note"


class Side(StrEnum):
    """Who writes the event."""

    CLIENT = "client"
    SERVER = "server"


_WARNINGS = {EventName.REFUSED, EventName.INCIDENT, EventName.DISCONNECTED, EventName.WAITING}


def now() -> str:
    """The time in UTC, as it is written."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@dataclass(frozen=True, kw_only=True)
class Event:
    """One event; what is None does not apply, and is not written."""

    time: str = field(default_factory=now)
    event: EventName
    side: Side
    client: str | None = None
    study: str | None = None
    run: str | None = None
    hash: str | None = None  # of the study
    kind: str | None = None  # of the request, or the key of the algorithm of a round
    round: int | None = None
    clients: int | None = None  # connected, or those that replied in a round
    code: str | None = None
    sent: int | None = None  # bytes
    received: int | None = None  # bytes
    text: str | None = None

    @property
    def level(self) -> str:
        """How serious it is: info, warning or error."""
        if self.event is EventName.FAILED:
            return "error"
        return "warning" if self.event in _WARNINGS else "info"

    def values(self) -> dict[str, Any]:
        """What is written, in order."""
        found = {f.name: getattr(self, f.name) for f in fields(self)}
        first = {"time": self.time, "level": self.level}
        rest = {name: _shorten(value) for name, value in found.items() if value is not None}
        return first | rest


def _shorten(value: Any) -> Any:
    if not isinstance(value, str) or len(value) <= _LONGEST:
        return value
    return value[: _LONGEST - 3] + "..."


def as_json(event: Event) -> str:
    """An event as one line of JSON, in ASCII."""
    return json.dumps(event.values())


def as_text(event: Event) -> str:
    """An event as one line: time, level, event, and `name=value` for all else."""
    values = event.values()
    head = f"{values.pop('time')} {values.pop('level'):7} {values.pop('event')}"
    return " ".join([head, *(f"{name}={_word(value)}" for name, value in values.items())])


def _word(value: Any) -> str:
    text = str(value)
    plain = text.isascii() and text.isprintable() and not set(text) & set(' "=\\')
    return text if plain and text else json.dumps(text)


_WRITERS = {LogFormat.TEXT: as_text, LogFormat.JSON: as_json}


class EventLog:
    """A log of events that rotates; one process writes it, and a full disk does not stop it."""

    def __init__(
        self, path: Path, format: LogFormat, limit: int = LOG_BYTES, keep: int = LOG_FILES
    ) -> None:
        self._path, self._write, self._limit, self._keep = path, _WRITERS[format], limit, keep
        self.problem: str | None = None  # why the latest event was not written

    def write(self, event: Event) -> None:
        """Append an event; if that fails, `problem` says why."""
        line = self._write(event)
        try:
            rotate(self._path, self._limit - len(line) - 1, self._keep)
            if not self._path.exists():
                os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o600))
            append_line(self._path, line, sync=False)
            self.problem = None
        except OSError as problem:
            self.problem = f"{self._path} cannot be written ({explain(problem)})"


def rotate(path: Path, limit: int, keep: int) -> None:
    """Rename a file that is longer than `limit` to `.1`, and its older ones to `.2` and so on."""
    with contextlib.suppress(FileNotFoundError):
        if path.stat().st_size <= limit:
            return
        for number in range(keep - 1, 0, -1):
            with contextlib.suppress(FileNotFoundError):
                os.replace(f"{path}.{number}", f"{path}.{number + 1}")
        os.replace(path, f"{path}.1")
