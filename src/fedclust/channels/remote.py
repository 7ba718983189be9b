"""Clients over a network: sends requests, collects replies by a deadline, records failures.

An engine supplies a `Transport`. What it delivers is checked here, once for all engines: a reply
that is late, malformed, oversized, stale, duplicated, or of the wrong shape is left out of its
round and recorded as an incident. The round goes on if enough other clients replied.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from ..core import Code, Message, MessageError, Plan, Reason, Request, Schema
from ..core.codec import decode_answer, decode_message, encode_request, one_line
from ..core.errors import Rejected
from ..core.wire import Frame, pack
from ..typing import Array
from .pace import Pace

T = TypeVar("T")
REPLY_LIMIT = 64 * 2**20  # bytes; usual replies are far smaller
DEADLINE = 120.0  # seconds
SILENCE = 10.0  # seconds after which a client without a sign of life counts as silent


class Transport(Protocol):
    """What an engine supplies: it carries bytes to clients and back."""

    def clients(self) -> Iterable[str]:
        """Names of the clients that are connected."""

    def exchange(
        self, clients: Sequence[str], request: bytes, seconds: float
    ) -> Iterable[tuple[str, bytes | str]]:
        """Each client's answer; a `str` is the reason why there is none."""


@dataclass(frozen=True)
class Incident:
    """A reply that was not used, and why."""

    plan: str
    round: int
    client: str
    what: str


class Watcher(Protocol):
    """Who is asked, and who has answered."""

    def asked(self, clients: Sequence[str], kind: str, number: int) -> None:
        """A request was sent to some clients."""

    def answered(self, client: str) -> None:
        """A usable answer of a client has arrived."""


class _NoWatcher:
    def asked(self, clients: Sequence[str], kind: str, number: int) -> None:
        pass

    def answered(self, client: str) -> None:
        pass


class RemoteChannel:
    """The clients of a transport; `over` makes a channel to one form of their rows."""

    def __init__(
        self,
        transport: Transport,
        *,
        run: str = "",
        about: Mapping[str, Any] | None = None,
        deadline: float = DEADLINE,
        limit: int = REPLY_LIMIT,
        quorum: int = 1,
        record: Callable[[Incident], object] = lambda incident: None,
        watcher: Watcher | None = None,
    ) -> None:
        self._transport, self._run, self.about = transport, run, dict(about or {})
        self.deadline, self._limit, self.quorum = deadline, limit, quorum
        self._pace = Pace(deadline)
        self._record, self._watcher = record, watcher or _NoWatcher()
        self._n_requests = 0
        self._silence: dict[
            str, tuple[int, int]
        ] = {}  # consecutive misses; the request at which to try again
        self._excluded: set[str] = set()  # clients that take no further part in this run
        self._reasons: dict[str, Reason] = {}  # since each client's last good answer

    def over(self, data: Any, schema: Schema) -> "Rows":
        """A channel to the clients' rows in the form that `data` describes to them."""
        return Rows(self, data, schema)

    def clients(self) -> list[str]:
        """Clients that can receive a request now.

        Unresponsive clients are skipped with exponential back-off while a quorum remains.
        """
        connected = self.connected()
        awake = [c for c in connected if self._silence.get(c, (0, 0))[1] <= self._n_requests]
        return awake if len(awake) >= self.quorum else connected

    def connected(self) -> list[str]:
        """All connected clients that take part in this run."""
        return sorted(set(self._transport.clients()) - self._excluded)

    def send(
        self, kind: str, header: Mapping[str, Any], arrays: Mapping[str, Array] | None = None
    ) -> dict[str, Any]:
        """Send a request other than a round to every client, and collect the values they reply."""
        id = self._next_id()
        raw = pack({"kind": kind, "id": id, "about": self.about, **header}, arrays or {})
        cohort = self.connected()
        return dict(self.collect(cohort, raw, id, lambda f: f.header.get("values"), (kind, 0)))

    def ask(
        self, plan: Plan, request: Request, data: Any, schema: Schema
    ) -> Iterator[tuple[str, Message]]:
        """Send a round's request and yield the valid messages."""
        id, algorithm = self._next_id(), plan.algorithm
        raw = encode_request(plan, request, id=id, about=self.about, data=data)
        sizes = algorithm.sizes(schema)
        place = (algorithm.key, request.round)
        return self.collect(
            request.to, raw, id, lambda frame: decode_message(frame, algorithm.up, sizes), place
        )

    def _next_id(self) -> str:
        self._n_requests += 1
        return f"{self._run}/{self._n_requests}"

    def collect(
        self,
        cohort: Sequence[str],
        raw: bytes,
        id: str,
        read: Callable[[Frame], T],
        place: tuple[str, int],
        *,
        patient: bool = False,
    ) -> Iterator[tuple[str, T]]:
        """Send bytes to some clients and yield what `read` makes of each valid answer.

        The deadline follows the measured rounds; with `patient` it is the chosen one.
        """
        waiting = set(cohort)
        self._watcher.asked(cohort, *place)
        deadline = self.deadline if patient else self._pace.deadline(place[0])
        for client, answer in self._exchange(cohort, raw, deadline, place[0]):
            if client not in waiting:
                twice = client in cohort
                what = (
                    "replied twice to the same request"
                    if twice
                    else "replied to a request that it was not sent"
                )
                self._note_reason(client, Reason(Code.REPLY, what), place)
                continue
            waiting.discard(client)
            if isinstance(answer, str):
                self._note_silence(client, answer, place)
                continue
            self._silence.pop(client, None)
            try:
                frame = decode_answer(answer, answers=id, client=client, limit=self._limit)
                value = read(frame)
                self._watcher.answered(client)
                yield client, value
            except Rejected as refusal:
                self._note_refusal(client, Reason(refusal.code, str(refusal)), place)
            except MessageError as error:
                self._note_reason(client, Reason(Code.REPLY, str(error)), place)
            else:
                self._reasons.pop(client, None)
        for client in sorted(waiting):
            self._note_silence(client, f"no answer within {deadline:g} seconds", place)

    def _exchange(
        self, cohort: Sequence[str], raw: bytes, deadline: float, kind: str
    ) -> Iterator[tuple[str, bytes | str]]:
        """The transport's answers; a request that all clients answered is measured."""
        start, waiting = time.monotonic(), set(cohort)
        for client, answer in self._transport.exchange(cohort, raw, deadline):
            if not isinstance(answer, str):
                waiting.discard(client)
            yield client, answer
        if not waiting:
            self._pace.note(kind, time.monotonic() - start)

    @property
    def silence(self) -> float:
        """Seconds after which a client without a sign of life counts as silent."""
        return min(self.deadline, SILENCE)

    def exclude(self, client: str, reason: Reason, place: str) -> None:
        """Send a client no more requests, and record why."""
        self._excluded.add(client)
        self._note_reason(client, reason, (place, 0))

    def record_malformed(self, client: str, kind: str) -> None:
        """Record a reply whose values cannot be understood."""
        self._note_reason(client, Reason(Code.REPLY, "sent a malformed reply"), (kind, 0))

    def record_left_out(self, plan: Plan, request: Request, client: str, what: str) -> None:
        """Record why a reply that arrived was not used."""
        self._note_reason(client, Reason(Code.REPLY, what), (plan.algorithm.key, request.round))

    def reasons(self) -> dict[str, Reason]:
        """Why there is no usable answer, by client, since its last good one."""
        return dict(self._reasons)

    def _note_silence(self, client: str, why: str, place: tuple[str, int]) -> None:
        misses = self._silence.get(client, (0, 0))[0] + 1
        self._silence[client] = misses, self._n_requests + 2 ** min(misses, 16) - 1
        self._note_reason(client, Reason(Code.SILENT, why), place)

    def _note_refusal(self, client: str, reason: Reason, place: tuple[str, int]) -> None:
        """An owner who has not decided yet is waited for, which is no incident."""
        if reason.code is Code.APPROVAL:
            self._reasons[client] = reason
        else:
            self._note_reason(client, reason, place)

    def _note_reason(self, client: str, reason: Reason, place: tuple[str, int]) -> None:
        reason = reason._replace(text=one_line(reason.text))
        if self._reasons.get(client) != reason:  # the same reason in every round is one incident
            self._reasons[client] = reason
            self._record(Incident(*place, client, reason.text))


@dataclass(frozen=True, eq=False)
class Rows:
    """A channel to one form of the clients' rows."""

    remote: RemoteChannel
    data: Any
    schema: Schema

    def clients(self) -> list[str]:
        """Ids of the clients that can receive a request now."""
        return self.remote.clients()

    def ask(self, plan: Plan, request: Request) -> Iterator[tuple[str, Message]]:
        """Valid replies of the clients it is sent to."""
        return self.remote.ask(plan, request, self.data, self.schema)

    @property
    def quorum(self) -> int:
        """Fewest replies that a request to at least as many clients needs."""
        return self.remote.quorum

    def reasons(self) -> dict[str, Reason]:
        """Why there is no usable answer, by client."""
        return self.remote.reasons()
