"""The state of a run, from the lines of its progress."""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from itertools import pairwise
from statistics import median
from typing import Any

_RECENT = 20  # rounds from which the duration of a round is estimated
_TRAIL = 160  # positions that are kept of each centre
_SHIFTS = 320  # rounds whose shift is kept
_WARNINGS = 50
_CLUSTERING = "clustering"  # the phase whose rounds are counted and drawn


class Standing(StrEnum):
    """How a client stands."""

    ABSENT = "not connected"
    CONNECTED = "connected"
    APPROVAL = "waiting for approval"
    WAITING = "waiting"  # asked, and has not answered yet
    ANSWERED = "answered"
    LEFT_OUT = "left out"


@dataclass
class ClientLine:
    """One client of a run."""

    name: str
    standing: Standing = Standing.ABSENT
    since: str | None = None  # when it began to stand like this
    rounds: int = 0  # that it answered
    bytes: int = 0  # of its messages
    why: str = ""  # why it was last left out
    incidents: int = 0

    def stand(self, standing: Standing, when: str) -> None:
        """Note how it stands from now on."""
        if standing is not self.standing:
            self.standing, self.since = standing, when


@dataclass
class RunState:
    """What is known of a run that has not finished."""

    about: Mapping[str, Any] = field(default_factory=dict)  # the line `begin`
    clients: dict[str, ClientLine] = field(default_factory=dict)
    phase: str = ""
    plan: str = ""
    round: int | None = None  # of the plan, from 0
    asked: str | None = None  # when the latest request was sent
    when: str | None = None  # of the latest line
    rounds: int = 0  # of all plans
    sent: int = 0
    received: int = 0
    epsilon: float | None = None
    end: Mapping[str, str] = field(default_factory=dict)
    warnings: deque[tuple[str, str]] = field(default_factory=lambda: deque(maxlen=_WARNINGS))
    shifts: list[tuple[int, float]] = field(default_factory=list)
    trail: list[list[list[float]]] = field(default_factory=list)  # round, cluster, coordinate
    _every: int = 1  # of so many rounds one is kept in the trail
    _sizes: Mapping[str, int] = field(default_factory=dict)  # bytes of each client in a round
    _question: tuple[str, int] | None = None  # kind and number of the latest request
    _ends: deque[str] = field(default_factory=lambda: deque(maxlen=_RECENT))

    def take(self, line: Mapping[str, Any]) -> None:
        """Take in a line; one that a later version has added is passed over."""
        when = str(line.get("when", ""))
        self.when = when or self.when
        for name, take in _TAKERS.items():
            if name in line:
                take(self, line, when)
                return

    def find(self, name: str) -> ClientLine:
        """The line of a client, which is added if it is new."""
        return self.clients.setdefault(name, ClientLine(name))

    def waiting(self, standing: Standing) -> list[ClientLine]:
        """The clients that stand like this, those first that have longest."""
        found = (client for client in self.clients.values() if client.standing is standing)
        return sorted(found, key=lambda client: (client.since or "", client.name))

    @property
    def seconds_left(self) -> float | None:
        """At most so many seconds of clustering are left; None if that is not known."""
        limit = self.about.get("max_rounds")
        if self.phase != _CLUSTERING or limit is None or self.round is None:
            return None
        if len(self._ends) < 2:
            return None
        times = [datetime.fromisoformat(one) for one in self._ends]
        seconds = median((later - one).total_seconds() for one, later in pairwise(times))
        return seconds * max(0, int(limit) - self.round - 1)

    def _take_begin(self, line: Mapping[str, Any], when: str) -> None:
        self.about, self.end = {**self.about, **line["begin"]}, {}
        if self.about.get("replays"):  # all earlier rounds follow once more
            self.rounds = self.sent = self.received = 0
            for client in self.clients.values():
                client.rounds = client.bytes = 0
        self._restart_plan()
        for name in self.about.get("clients", ()):
            self.find(str(name))

    def _take_enter(self, line: Mapping[str, Any], when: str) -> None:
        self.phase, self.plan, self.round = str(line["enter"]), "", None

    def _take_connected(self, line: Mapping[str, Any], when: str) -> None:
        now = {str(name) for name in line["connected"]}
        for name in now:
            if self.find(name).standing is Standing.ABSENT:
                self.find(name).stand(Standing.CONNECTED, when)
        for client in self.clients.values():
            if client.name not in now:
                client.stand(Standing.ABSENT, when)

    def _take_waiting(self, line: Mapping[str, Any], when: str) -> None:
        now = {str(name) for name in line["waiting"]}
        for name in now:
            self.find(name).stand(Standing.APPROVAL, when)
        for client in self.waiting(Standing.APPROVAL):
            if client.name not in now:
                client.stand(Standing.CONNECTED, when)

    def _take_asked(self, line: Mapping[str, Any], when: str) -> None:
        question = (str(line["asked"]["kind"]), int(line["asked"]["number"]))
        if question != self._question:  # a request that is repeated has been open for longer
            self._question, self.asked = question, when
        for name in line["asked"]["clients"]:
            client = self.find(str(name))
            if client.standing is not Standing.APPROVAL:
                client.standing, client.since = Standing.WAITING, self.asked

    def _take_answer(self, line: Mapping[str, Any], when: str) -> None:
        self.find(str(line["answer"])).stand(Standing.ANSWERED, when)

    def _take_incident(self, line: Mapping[str, Any], when: str) -> None:
        incident = line["incident"]
        client, why = self.find(str(incident["client"])), str(incident["what"])
        client.stand(Standing.LEFT_OUT, when)
        client.why, client.incidents = why, client.incidents + 1
        place = f"{incident['plan']}, round {incident['round'] + 1}"
        self.warnings.append((when, f"{client.name}: {why} ({place})"))

    def _take_round(self, line: Mapping[str, Any], when: str) -> None:
        if (line["phase"], line["plan"]) != (self.phase, self.plan) or line["round"] == 0:
            self._restart_plan()
        self.phase, self.plan, self.round = line["phase"], line["plan"], int(line["round"])
        self._question = None
        self._ends.append(when)
        self.rounds += 1
        self.sent += int(line.get("sent", 0))
        self.received += int(line.get("received", 0))
        self.epsilon = line.get("epsilon", self.epsilon)
        self._sizes = line.get("from", self._sizes)
        for name, size in self._sizes.items():
            client = self.find(name)
            client.stand(Standing.ANSWERED, when)
            client.rounds, client.bytes = client.rounds + 1, client.bytes + int(size)
        if self.phase == _CLUSTERING:
            self._draw(line)

    def _restart_plan(self) -> None:
        self.shifts, self.trail, self._every = [], [], 1
        self._ends.clear()

    def _draw(self, line: Mapping[str, Any]) -> None:
        if line.get("shift") is not None:
            self.shifts.append((int(line["round"]), float(line["shift"])))
            if len(self.shifts) > _SHIFTS:
                self.shifts = self.shifts[::2]
        if "places" not in line:
            return
        if self.trail and line["round"] % self._every:
            self.trail[-1] = line["places"]  # the newest position is always there
            return
        self.trail.append(line["places"])
        if len(self.trail) > _TRAIL:
            self.trail, self._every = self.trail[::2], 2 * self._every

    def _take_end(self, line: Mapping[str, Any], when: str) -> None:
        self.end = line["end"]

    def names(self, standing: Standing) -> Iterator[str]:
        """Names of the clients that stand like this."""
        return (client.name for client in self.waiting(standing))


_TAKERS = {
    "begin": RunState._take_begin,
    "enter": RunState._take_enter,
    "connected": RunState._take_connected,
    "waiting": RunState._take_waiting,
    "asked": RunState._take_asked,
    "answer": RunState._take_answer,
    "incident": RunState._take_incident,
    "round": RunState._take_round,
    "end": RunState._take_end,
}
