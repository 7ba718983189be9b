"""A call of the server: a request is sent, and asked after while its clients show signs of life.

A client that works is waited for until the deadline. A client that shows no sign of life, because
its process died, is frozen or cannot be reached, is given up after seconds.
"""

import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum, auto

from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.shareable import Shareable

from . import BODY, STATE, TICKET
from .desk import State

_BEFORE_END = 0.6  # of the deadline
_LEAST_TO_ANSWER = 2.0  # seconds for a sign of life; a client may hold the question for a second
_PAUSE = 0.05  # seconds, for an engine that fails at once
Send = Callable[[Sequence[str], Shareable, float], Mapping[str, object]]

_REASONS = {
    ReturnCode.TIMEOUT: "no answer in time",
    ReturnCode.COMMUNICATION_ERROR: "cannot be reached",
    ReturnCode.HANDLER_EXCEPTION: "an error in its process; see the log of the client",
    ReturnCode.TOPIC_UNKNOWN: "its process has not started yet",
}


class _Next(Enum):
    """What a client is sent next."""

    REQUEST = auto()
    STATE = auto()  # what has become of the request
    ANSWER = auto()  # once more


_AFTER = {State.UNKNOWN: _Next.REQUEST, State.WORKING: _Next.STATE, State.DONE: _Next.ANSWER}


class Call:
    """One request to some clients; `answers` yields what each of them says to it."""

    def __init__(
        self, send: Send, clients: Sequence[str], request: bytes, seconds: float, silence: float
    ) -> None:
        self._send, self._request = send, request
        # Seconds without a sign of life; a client is asked for one before a short deadline ends.
        self._silence = min(silence, max(_LEAST_TO_ANSWER, _BEFORE_END * seconds))
        self._ticket, self._start = secrets.token_hex(8), time.monotonic()
        self._end = self._start + seconds
        self._heard = dict.fromkeys(clients, self._start)
        self._next = dict.fromkeys(clients, _Next.REQUEST)

    def answers(self) -> Iterator[tuple[str, bytes | str]]:
        """Each client's answer, or the reason why there is none."""
        while self._next and time.monotonic() < self._end:
            for what in _Next:
                if group := [client for client, its in self._next.items() if its is what]:
                    yield from self._exchange(what, group)
            if self._next:
                time.sleep(_PAUSE)
        for client in self._next:
            yield client, self._describe_lateness(client)

    def _describe_lateness(self, client: str) -> str:
        if self._heard[client] == self._start:
            return _REASONS[ReturnCode.TIMEOUT]
        return f"still at work after {self._end - self._start:.0f} seconds, the deadline"

    def _exchange(self, what: _Next, group: Sequence[str]) -> Iterator[tuple[str, bytes | str]]:
        passed = time.monotonic() - self._start
        asking = max(self._silence / 2, _LEAST_TO_ANSWER)
        limit = asking if what is _Next.STATE else max(self._silence, passed)
        left = max(0.1, self._end - time.monotonic())
        replies = self._send(group, self._message(what), min(limit, left))
        for client in group:
            answer = self._read(client, what, replies.get(client))
            if answer is not None:
                del self._next[client]
                yield client, answer

    def _message(self, what: _Next) -> Shareable:
        message = Shareable()
        message[TICKET] = self._ticket
        if what is _Next.STATE:
            message[STATE] = True
        else:  # an answer that exists is not computed again
            message[BODY] = self._request
        return message

    def _read(self, client: str, what: _Next, reply: object) -> bytes | str | None:
        """The answer of a client or why there is none; None while it may come."""
        now = time.monotonic()
        state = reply.get(STATE) if isinstance(reply, Shareable) else None
        if state is not None:
            self._heard[client] = now
            self._next[client] = _AFTER.get(state, _Next.STATE)
            return None
        if not _is_late(reply):
            return read_answer(reply)
        silent = now - self._heard[client]
        if what is _Next.STATE and silent >= self._silence:
            return f"no sign of life for {silent:.0f} seconds"
        self._next[client] = _Next.STATE
        return None


def _is_late(reply: object) -> bool:
    if isinstance(reply, Shareable):
        return bool(reply.get_return_code() == ReturnCode.TIMEOUT)
    return reply is None


def read_answer(reply: object) -> bytes | str:
    """The bytes in a reply, or the reason why there are none."""
    if not isinstance(reply, Shareable):
        return "its answer is not a message"
    code = reply.get_return_code()
    body = reply.get(BODY)
    if code != ReturnCode.OK:
        return _REASONS.get(code, f"no answer ({code})")
    return body if isinstance(body, bytes) else "its answer contains no bytes"
