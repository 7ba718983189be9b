"""The desk of a client's job process: each request is answered once, and can be asked after.

A server that waits for an answer asks after it with the ticket of its request. A process that is
busy says so at once, and one that died says nothing. An answer that was lost is fetched again.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from enum import StrEnum


class State(StrEnum):
    """What has become of a request."""

    UNKNOWN = "unknown"  # it has not arrived
    WORKING = "working"
    DONE = "done"


@dataclass(frozen=True, eq=False)
class _Work:
    ticket: str
    answer: "Future[bytes]" = field(default_factory=Future)


class Desk:
    """Passes requests on, one at a time; the newest one is remembered, with its answer."""

    def __init__(self, answer: Callable[[bytes], bytes]) -> None:
        self._answer = answer
        self._newest: _Work | None = None
        self._lock, self._turn = threading.Lock(), threading.Lock()

    def ask(self, ticket: str, body: bytes) -> bytes:
        """The answer to a request; a request that arrives twice is answered once."""
        with self._lock:
            work = self._find(ticket)
            if work is None:
                self._newest = new = _Work(ticket)
        if work is not None:
            return work.answer.result()
        with self._turn:
            try:
                new.answer.set_result(self._answer(body))
            except BaseException as error:  # a copy of the request gets the same error
                new.answer.set_exception(error)
        return new.answer.result()

    def state(self, ticket: str, seconds: float) -> State:
        """What has become of a request, at the latest after some seconds."""
        work = self._find(ticket)
        if work is None:
            return State.UNKNOWN
        return State.DONE if wait([work.answer], seconds).done else State.WORKING

    def _find(self, ticket: str) -> _Work | None:
        newest = self._newest
        return newest if newest is not None and newest.ticket == ticket else None
