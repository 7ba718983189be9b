"""What monitoring sees of a study that a server runs: events for its log, metrics, and its health.

It takes in the lines of progress that `fedclust server` shows.
"""

import contextlib
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .. import __version__
from ..core import FedclustError
from .events import Event, EventLog, EventName, Side
from .exposition import Family, Kind, Sample, counter, gauge
from .kits import Kit
from .monitor import Health

_PREFIX = "fedclust_server"


class ServerMonitor:
    """Counts the rounds and incidents of a study, and writes an event for each."""

    def __init__(self, kit: Kit, study: str, log: EventLog) -> None:
        self._kit, self._study, self._log = kit, study, log
        self._started = time.time()
        self._connected: frozenset[str] = frozenset()
        self._seen: frozenset[str] = frozenset()  # clients that were ever connected
        self._waiting: frozenset[str] = frozenset()  # clients whose owners have not approved yet
        self._incidents: Counter[str] = Counter()  # by client
        self._rounds = self._sent = self._received = self._jobs = 0
        self._last: Mapping[str, Any] = {}  # the line of the latest round
        self._progress_at: float | None = None

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Write when the block begins, and how it ends."""
        self._note(EventName.STARTED, text=f"fedclust {__version__}")
        try:
            yield
        except (FedclustError, OSError) as problem:
            self._note(EventName.FAILED, text=str(problem))
            raise
        except BaseException:
            self._note(EventName.STOPPED, text="interrupted")
            raise
        self._note(EventName.FINISHED)

    def _note(self, event: EventName, **values: Any) -> None:
        self._log.write(Event(event=event, side=Side.SERVER, study=self._study, **values))

    def take(self, line: Mapping[str, Any]) -> None:
        """Take in a line of progress."""
        if "connected" in line:
            self._take_connected(line["connected"])
        elif "waiting" in line:
            self._take_waiting(line["waiting"])
        elif "incident" in line:
            self._take_incident(line["incident"])
        elif "round" in line:
            self._take_round(line)
        elif "submitted" in line:
            self._jobs += 1
            self._note(EventName.SUBMITTED, clients=len(line["submitted"]), text=line["message"])
        else:
            self._note(EventName.NOTE, text=str(line.get("message", "")))

    def _take_connected(self, names: Sequence[str]) -> None:
        before, self._connected = self._connected, frozenset(names)
        self._seen |= self._connected
        for client in sorted(self._connected - before):
            self._note(EventName.CONNECTED, client=client)
        for client in sorted(before - self._connected):
            self._note(EventName.DISCONNECTED, client=client)

    def _take_waiting(self, names: Sequence[str]) -> None:
        self._waiting = frozenset(names)
        for client in sorted(names):
            self._note(EventName.WAITING, client=client, text="its owner has not approved yet")

    def _take_incident(self, incident: Mapping[str, Any]) -> None:
        client = str(incident["client"])
        self._incidents[client] += 1
        place = {"kind": str(incident["plan"]), "round": int(incident["round"])}
        self._note(EventName.INCIDENT, client=client, text=str(incident["what"]), **place)

    def _take_round(self, line: Mapping[str, Any]) -> None:
        self._waiting = frozenset()
        self._last, self._progress_at = line, time.time()
        sent, received = int(line.get("sent", 0)), int(line.get("received", 0))
        self._rounds += 1
        self._sent, self._received = self._sent + sent, self._received + received
        self._note(
            EventName.ROUND,
            kind=line["plan"],
            round=line["round"],
            clients=line["answers"],
            sent=sent,
            received=received,
        )

    def health(self) -> Health:
        """Whether the study is on its way; what it waits for is in the metrics."""
        state = {
            "study": self._study,
            "phase": str(self._last.get("phase", "starting")),
            "connected": len(self._connected),
            "log": self._log.problem or "ok",
        }
        return Health(self._log.problem is None, state)

    def families(self) -> Iterator[Family]:
        """All metrics; docs/monitoring.md explains them."""
        about = {"study": self._study, "federation": self._kit.federation.name}
        info = (Sample(1, about | {"version": __version__}),)
        yield Family(f"{_PREFIX}_info", Kind.GAUGE, "The study that runs.", info)
        for name, help, value in self._gauges():
            yield gauge(f"{_PREFIX}_{name}", help, value)
        for name, help, total in self._counters():
            yield counter(f"{_PREFIX}_{name}_total", f"{help}, since the start.", total)
        there = ((name, name in self._connected) for name in sorted(self._seen))
        clients = tuple(Sample(up, {"client": name}) for name, up in there)
        help = "1 if the client was connected when the latest job was submitted."
        yield Family(f"{_PREFIX}_client_connected", Kind.GAUGE, help, clients)
        left_out = tuple(Sample(n, {"client": c}) for c, n in sorted(self._incidents.items()))
        help = "Replies that were left out, by client, since the start."
        yield Family(f"{_PREFIX}_incidents_total", Kind.COUNTER, help, left_out)

    def _gauges(self) -> Iterator[tuple[str, str, float | None]]:
        yield "start_time_seconds", "When the command was started.", self._started
        yield "clients", "Clients that are connected.", len(self._connected)
        yield "waiting_clients", "Clients whose owners have not approved.", len(self._waiting)
        yield "round", "Number of the latest round.", self._last.get("round")
        yield "round_clients", "Clients that replied in it.", self._last.get("answers")
        yield "last_round_time_seconds", "When it ended.", self._progress_at

    def _counters(self) -> Iterator[tuple[str, str, float]]:
        yield "jobs", "Jobs that were submitted", self._jobs
        yield "rounds", "Rounds of all kinds", self._rounds
        yield "sent_bytes", "Bytes of broadcasts", self._sent
        yield "received_bytes", "Bytes of messages", self._received
