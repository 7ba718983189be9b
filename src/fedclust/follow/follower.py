"""A client's own run of a study: it computes the next request, and waits for everybody's replies.

`take_steps` is the same code that the server runs. Here it runs in a thread over a pool that hands
out every request as the expected one, and blocks until the outcome of the step is known.
"""

import threading
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

from ..client.requests import AnyRequest, EncodedRows, PreparedRows, RowForm, RunRound
from ..core import Channel, Code, FedclustError, Message, Plan, Reason, Refusal, Request, Schema
from ..core.channel import Absent
from ..privacy import CheckedChannel
from ..study.journal import Journal
from ..study.pool import decode_reply
from ..study.run import take_steps
from ..study.settings import Study
from .approval import DEFAULT_TIER
from .entries import Entry, messages_of


@dataclass(frozen=True)
class Over:
    """The study is over: every step is taken, or an error ended it."""

    error: Exception | None = None


class _Abandoned(Exception):
    """The process does not follow this run any more."""


class Follower:
    """The steps of a study as one client computes them."""

    def __init__(self, study: Study, me: str, run: str, members: Collection[str]) -> None:
        self._requests: SimpleQueue[AnyRequest | Over] = SimpleQueue()
        self._outcomes: SimpleQueue[Entry | None] = SimpleQueue()
        self._expected: AnyRequest | Over | None = None
        self.position = 0  # of the step that comes next
        pool = FollowedPool(self, me, run, members, tuple(study.clients))
        self._thread = threading.Thread(
            target=self._take_steps, args=(study, pool), name=f"follow {run}", daemon=True
        )
        self._thread.start()

    @property
    def expected(self) -> AnyRequest | Over:
        """The request of the next step."""
        if self._expected is None:
            self._expected = self._requests.get()
        return self._expected

    def feed(self, entry: Entry) -> None:
        """Continue after a step whose replies are known."""
        if isinstance(self.expected, Over):
            return
        self._expected = None
        self.position += 1
        self._outcomes.put(entry)

    def close(self) -> None:
        """End the thread."""
        self._outcomes.put(None)

    def step(self, request: AnyRequest) -> Entry:
        """Called by the pool: hand out the expected request, and wait for its outcome."""
        self._requests.put(request)
        entry = self._outcomes.get()
        if entry is None:
            raise _Abandoned
        return entry

    def _take_steps(self, study: Study, pool: "FollowedPool") -> None:
        try:
            take_steps(study, pool, lambda: Journal(None))
            self._requests.put(Over())
        except _Abandoned:
            pass
        except Exception as error:
            self._requests.put(Over(error))


class FollowedPool:
    """The clients of a study, as one of them sees them: through the replies that are relayed."""

    default_tier = DEFAULT_TIER
    compares = False
    needs_everyone = False
    replays = True

    def __init__(
        self,
        follower: Follower,
        me: str,
        run: str,
        members: Collection[str],
        named: tuple[str, ...],
    ) -> None:
        self._follower, self._me, self.run = follower, me, run
        self.members = sorted(members)
        self.named: Collection[str] = named
        self._reasons: dict[str, Reason] = {}

    def send(self, request: AnyRequest) -> dict[str, Any]:
        """Everybody's reply to a request; clients without one take no further part."""
        entry = self._follower.step(request)
        self.keep(entry.clients)
        replies = {}
        for client, values in zip(entry.clients, entry.values, strict=True):
            reply = decode_reply(request, client, values)
            if reply is not None:
                replies[client] = reply
        return replies

    def over(self, form: RowForm, schema: Schema) -> Channel:
        """A channel whose rounds are steps of the study."""
        if not isinstance(form, EncodedRows | PreparedRows):
            raise FedclustError("only rows can be followed")
        return FollowedChannel(self, form)

    def checked(self, channel: Channel, schema: Schema, records: Mapping[str, int]) -> Channel:
        """Leave out clients whose sums are impossible, as the server does."""
        return CheckedChannel(channel, schema, records=records, cap=float("inf"))

    def exclude(self, client: str, reason: Reason) -> None:
        """Continue without a client."""
        self._reasons[client] = reason
        self.keep([c for c in self.members if c != client])

    def reasons(self) -> Mapping[str, Reason]:
        """Why clients were left out."""
        return dict(self._reasons)

    def keep(self, clients: Collection[str]) -> None:
        """Continue with these clients; end the study here if this one is not among them."""
        if self._me not in clients:
            raise Refusal("the study goes on without this client", code=Code.STUDY)
        self.members = sorted(clients)

    def step(self, request: AnyRequest) -> Entry:
        """The outcome of a step."""
        return self._follower.step(request)


class FollowedChannel:
    """Rounds of a followed study."""

    quorum = 1

    def __init__(self, pool: FollowedPool, form: RowForm) -> None:
        self._pool, self._form = pool, form

    @property
    def run_name(self) -> str:
        """The run that all clients follow."""
        return self._pool.run

    def clients(self) -> tuple[str, ...]:
        return tuple(self._pool.members)

    def ask(self, plan: Plan, request: Request) -> Iterator[tuple[str, Message]]:
        """Messages that add up to the total of the cohort."""
        self._pool.keep(request.cohort)
        entry = self._pool.step(RunRound(plan, _whole(request), self._form))
        if entry.absent:
            raise Absent(entry.absent)
        if not plan.needs_all:
            self._pool.keep(entry.clients)
        yield from messages_of(plan.algorithm.up, entry).items()

    def leave_out(self, clients: Collection[str]) -> None:
        """The outcome of the step has named them."""

    def reasons(self) -> Mapping[str, Reason]:
        """Why clients were left out."""
        return self._pool.reasons()


def _whole(request: Request) -> Request:
    """The request to the whole cohort."""
    return Request(request.round, request.cohort, request.down)
