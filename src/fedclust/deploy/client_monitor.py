"""What monitoring sees of a running client: events for its log, metrics, and its health.

The client's processes write files: every reply in the log of disclosures, every query in the
ledger, and the time of each heartbeat that the server answered. This reads what is new.
"""

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from .. import __version__
from ..client.config import ClientConfig
from ..core import FedclustError
from ..follow.decisions import Approvals
from .events import Event, EventLog, EventName, Side
from .exposition import Family, Kind, Sample, counter, gauge
from .kits import Kit
from .monitor import Health
from .tail import Tail
from .watch import Begins, Waits
from .watch import Event as Seen

CONTACT_LIMIT = 15.0  # seconds without an answered heartbeat after which a client is disconnected
_STALLED = 30.0  # seconds without a look after which the client's own command hangs
_CLOCKS = 1.0  # seconds by which the times of files may be behind
_PREFIX = "fedclust_client"


class ClientMonitor:
    """Counts what a client sends and refuses, and writes an event for each."""

    def __init__(self, kit: Kit, config: ClientConfig, log: EventLog) -> None:
        self._kit, self._config, self._log = kit, config, log
        self._policy, self._counting = config.policy(), threading.Lock()
        self._lines = Tail(config.place(config.output.disclosures))
        self._started = self._looked = time.time()
        self._connected = False
        self._refusal: tuple[Any, ...] = ()  # the latest one
        self._refused: Counter[str] = Counter()  # by code
        self._answered = self._sent = self._received = 0
        self._last: Mapping[str, Any] = {}  # the line of the latest answer
        self._answered_at: float | None = None
        self._approvals = Approvals(kit.folder)

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Write when the block begins, and how it ends."""
        self.note(EventName.STARTED, text=f"fedclust {__version__}")
        try:
            yield
        except (FedclustError, OSError) as problem:
            self.note(EventName.FAILED, text=str(problem))
            raise
        finally:
            self.look()
            self.note(EventName.STOPPED)

    def note(self, event: EventName, **values: Any) -> None:
        """Write an event of this client."""
        found = {name: value for name, value in values.items() if value is not None}
        self._log.write(Event(event=event, side=Side.CLIENT, client=self._kit.name, **found))

    def note_study(self, seen: Seen) -> None:
        """Write that a study begins or waits; refusals are read from the log of disclosures."""
        if isinstance(seen, Begins):
            self.note(EventName.FOLLOWED, study=seen.study.path.stem, hash=seen.hash)
        elif isinstance(seen, Waits):
            one = seen.pending
            text = "waits for the approval of its owner"
            self.note(EventName.WAITING, study=one.study.path.stem, hash=one.hash, text=text)

    def look(self) -> str | None:
        """Take in what is new; a problem of the disk or of the log of events, or None."""
        self._looked = time.time()
        for line in self._lines.read_new():
            self._take(line)
        if self.is_connected != self._connected:
            self._connected = not self._connected
            gone = None if self._connected else "no answer to heartbeats"
            event = EventName.CONNECTED if self._connected else EventName.DISCONNECTED
            self.note(event, text=gone)
        return self._find_problem()

    def _find_problem(self) -> str | None:
        from ..channels.nvflare.signs import is_full

        folder = self._kit.folder
        if is_full(folder):
            return (
                f"the disk of {folder} is full; no study can use this client until there is space"
            )
        return self._log.problem

    def _take(self, line: Mapping[str, Any]) -> None:
        self._sent += int(line.get("bytes", 0))
        self._received += int(line.get("received", 0))
        values = {name: line.get(name) for name in ("study", "run", "round")}
        values["hash"] = line.get("study_hash")
        values["kind"] = line.get("plan") or line.get("kind")
        values["sent"], values["received"] = line.get("bytes"), line.get("received")
        if "refused" not in line:
            self._answered, self._last, self._answered_at = self._answered + 1, line, time.time()
            self.note(EventName.ANSWERED, time=str(line.get("when")), **values)
            return
        code = str(line.get("code", ""))
        self._refused[code] += 1
        refusal = (values["study"], values["run"], code, line["refused"])
        if refusal != self._refusal:  # the same one again, as while an owner is asked, is one event
            self._refusal = refusal
            text = str(line["refused"])
            self.note(EventName.REFUSED, time=str(line.get("when")), code=code, text=text, **values)

    @property
    def last_contact(self) -> float | None:
        """When the server last answered a heartbeat since this command started."""
        from ..channels.nvflare.process import CONTACT

        try:
            when = (self._kit.folder / CONTACT).stat().st_mtime
        except OSError:
            return None
        return when if when >= self._started - _CLOCKS else None

    @property
    def is_connected(self) -> bool:
        """Whether the server answered a heartbeat lately."""
        last = self.last_contact
        return last is not None and time.time() - last < CONTACT_LIMIT

    def health(self) -> Health:
        """Whether the client works; that no server runs between studies is no failure."""
        days = self._days_left()
        moves, problem = time.time() - self._looked < _STALLED, self._find_problem()
        state = {
            "client": self._kit.name,
            "connected": self.is_connected,
            "certificate_days": days,
            "log": problem or "ok",
        }
        return Health(moves and days is not None and problem is None, state)

    def _days_left(self) -> int | None:
        from ..channels.nvflare.certificates import days_left

        try:
            return days_left(self._kit.folder / "startup", "client", self._kit.name)
        except (OSError, ValueError):
            return None

    def families(self) -> Iterator[Family]:
        """All metrics; docs/monitoring.md explains them."""
        about = {"client": self._kit.name, "federation": self._kit.federation.name}
        info = (Sample(1, about | {"version": __version__}),)
        yield Family(f"{_PREFIX}_info", Kind.GAUGE, "The client.", info)
        for name, help, value in self._gauges():
            yield gauge(f"{_PREFIX}_{name}", help, value)
        for name, help, value in self._counters():
            yield counter(f"{_PREFIX}_{name}_total", f"{help}, since the start.", value)
        refused = tuple(Sample(n, {"code": code}) for code, n in sorted(self._refused.items()))
        help = "Refused requests by code, since the start."
        yield Family(f"{_PREFIX}_refusals_total", Kind.COUNTER, help, refused)

    def _counters(self) -> Iterator[tuple[str, str, float]]:
        yield "answers", "Requests that were answered", self._answered
        yield "sent_bytes", "Bytes of all replies and refusals", self._sent
        yield "received_bytes", "Bytes of all requests", self._received

    def _gauges(self) -> Iterator[tuple[str, str, float | None]]:
        consent, ledger = self._config.consent, self._policy.ledger
        with self._counting:  # two requests at once must not take in the same lines
            ledger.refresh()
        budget, spends = consent.epsilon, bool(ledger.spent) or consent.epsilon is not None
        days, most = self._days_left(), consent.max_queries
        yield "start_time_seconds", "When the client was started.", self._started
        yield "connected", "1 if the server answers heartbeats.", self.is_connected
        yield "last_contact_time_seconds", "When the server last did.", self.last_contact
        yield "last_answer_time_seconds", "When a request was last answered.", self._answered_at
        yield "round", "Number of the round that was last answered.", self._last.get("round")
        yield (
            "waiting_studies",
            "Studies that wait for the owner's approval.",
            len(list(self._approvals.pending_hashes())),
        )
        yield "queries", "Queries that the ledger counts.", ledger.n_queries
        yield "queries_limit", "Most queries that client.toml allows.", most
        yield "queries_left", "Queries that are left.", max(0, most - ledger.n_queries)
        yield "epsilon_spent", "Privacy budget spent.", self._policy.epsilon if spends else None
        yield "epsilon_limit", "Privacy budget that client.toml allows.", budget
        yield "certificate_days", "Days until the certificate expires; -1: not usable.", _or(days)


def _or(days: int | None) -> int:
    return -1 if days is None else days
