"""The server of a followed study: it asks for the next step, waits, and relays all replies."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from .. import __version__
from ..channels import RemoteChannel
from ..client.codec import encode
from ..client.requests import AnyRequest, RowForm, RunRound
from ..core import (
    Channel,
    Code,
    Message,
    MessageError,
    Plan,
    Reason,
    Request,
    Schema,
    TooFewClients,
)
from ..core.channel import Absent
from ..core.codec import ROUND
from ..core.wire import Frame, pack
from ..study.pool import RemotePool, decode_reply
from ..study.settings import Study
from ..typing import Array
from .agreement import as_frame
from .approval import study_hash
from .endpoint import CATCH_UP, FOLLOW, name_run
from .entries import Entry, encode_entry, from_words, messages_of
from .replies import RoundReader, find_odd, make_entry, read_position, read_values
from .transcript import Transcript

T = TypeVar("T")
_PAUSE = 0.2  # seconds between two requests to a client that cannot be reached
_LONGEST_PAUSE = 30.0  # seconds between two questions whether an owner has decided
_TRIES = 2  # how often a silent client is waited for


@dataclass(frozen=True)
class StudyText:
    """A study as clients receive it."""

    study: Study
    text: str

    @property
    def hash(self) -> str:
        """Its canonical hash."""
        return study_hash(self.study)


@dataclass(frozen=True, eq=False)
class Question:
    """The request of a step, ready to be sent."""

    kind: str
    header: Mapping[str, Any]
    arrays: Mapping[str, Array]
    place: tuple[str, int]  # for incidents: the plan and the round


class RelayPool(RemotePool):
    """Clients that follow a study behind a network."""

    replays = True

    def __init__(
        self,
        remote: RemoteChannel,
        named: Collection[str],
        study: StudyText,
        run: str,
        transcript: Transcript,
        *,
        needed: int = 1,
        approval_wait: float = 600.0,
        on_wait: Callable[[Sequence[str]], object] = lambda clients: None,
    ) -> None:
        super().__init__(remote, named)
        self._study, self._id, self._transcript = study, run, transcript
        self._needed = needed  # fewest clients that must follow the study
        self._approval_wait, self._on_wait = approval_wait, on_wait
        self.members: tuple[str, ...] = ()
        self._position = 0

    @property
    def run_name(self) -> str:
        """The name of the run in seals and masks."""
        return name_run(self._id, self._study.hash)

    # The beginning and the end of a run

    def open(self) -> None:
        """Let all connected clients begin to follow the study, or continue."""
        known = self._transcript.opening
        if known is not None:
            hash, self.members = known
            if hash != self._study.hash:
                raise MessageError(
                    "the study file has changed since this run was interrupted; start again "
                    "with --force"
                )
            self._greet(self.members)
            return
        members = tuple(sorted(self._remote.connected()))
        while True:
            accepted = self._await_approval(members)
            if set(accepted) == set(members) or not accepted:
                break
            members = tuple(sorted(accepted))
        self._leave_undecided()
        if len(accepted) < self._needed:
            n = f"{len(accepted)} clients follow" if accepted else "no client follows"
            reasons = self._remote.reasons()
            raise TooFewClients(
                f"{n} the study, {self._needed} needed",
                reasons,
                missing=self._needed - len(accepted),
            )
        self.members = members
        self._transcript.open(self._study.hash, members)

    def _await_approval(self, members: Sequence[str]) -> Collection[str]:
        """The clients that follow; wait for owners who have not decided yet, and for answers."""
        start = time.monotonic()
        waits = {Code.APPROVAL: self._approval_wait, Code.SILENT: _TRIES * self._remote.silence}
        accepted = self._greet(members)
        undecided: tuple[str, ...] = ()
        while True:
            codes = {c: r.code for c, r in self._remote.reasons().items() if c in members}
            missing = [client for client in members if client not in accepted]
            waiting = [client for client in missing if codes.get(client) in waits]
            if (now := self._find_undecided(waiting)) != undecided:
                self._on_wait(now)
                undecided = now
            possible = len(accepted) + len(waiting) >= self._needed
            passed = time.monotonic() - start
            left = max((waits[codes[client]] for client in waiting), default=0.0) - passed
            if left <= 0 or not possible:
                return accepted
            time.sleep(min(_pause(passed) if undecided else _PAUSE, left))
            accepted |= self._greet(waiting, members)

    def _find_undecided(self, clients: Sequence[str]) -> tuple[str, ...]:
        """Clients whose owners have not decided about the study yet."""
        reasons = self._remote.reasons()
        return tuple(c for c in clients if c in reasons and reasons[c].code is Code.APPROVAL)

    def _leave_undecided(self) -> None:
        """Continue without clients whose owners have not decided in time, and record it."""
        why = (
            f"its owner has not approved the study within {self._approval_wait:g} s, with "
            "'fedclust approve KIT' at that client"
        )
        for client in self._find_undecided(self._remote.connected()):
            self._remote.exclude(client, Reason(Code.APPROVAL, why), FOLLOW)

    def _greet(self, to: Sequence[str], members: Sequence[str] = ()) -> dict[str, int]:
        """Send the study, and collect the positions of clients in it."""
        header = {
            "text": self._study.text,
            "version": __version__,
            "hash": self._study.hash,
            "members": list(self.members or members or to),
        }
        return self._positions(to, FOLLOW, Frame(header, {}))

    def _positions(self, to: Sequence[str], kind: str, frame: Frame) -> dict[str, int]:
        id = f"{self._id}/{kind}"
        header = {"kind": kind, "id": id, "about": self._remote.about, **frame.header}
        raw = pack(header, frame.arrays)
        read = self._remote.collect(to, raw, id, read_position, (kind, 0))
        return dict(read)

    def close(self) -> None:
        """Show all clients the last replies, so that they know that the study is finished."""
        if self._position:
            last = encode_entry(self._transcript.get(self._position - 1))
            self._positions(self.members, CATCH_UP, last)

    # Steps

    def send(self, request: AnyRequest) -> dict[str, Any]:
        """Send a request other than a round to every client, and relay the replies."""
        kind, header, arrays = encode(request)
        question = Question(kind, header, arrays, (kind, 0))
        entry = self.step(question, self.members, read_values, complete=False)
        self.keep(entry.clients)
        found = {}
        for client, values in zip(entry.clients, entry.values, strict=True):
            reply = decode_reply(request, client, values)
            if reply is None:
                self._remote.record_malformed(client, kind)
            else:
                found[client] = reply
        return found

    def over(self, form: RowForm, schema: Schema) -> Channel:
        """A channel whose rounds are steps of the study."""
        return RelayChannel(self, self._remote, form, schema)

    def exclude(self, client: str, reason: Reason) -> None:
        """Continue without a client, and record why."""
        super().exclude(client, reason)
        self.keep([c for c in self.members if c != client])

    def keep(self, clients: Collection[str]) -> None:
        """Continue with these clients."""
        self.members = tuple(sorted(clients))

    def step(
        self,
        question: Question,
        to: Sequence[str],
        read: Callable[[Frame], tuple[T, Array]],
        *,
        complete: bool,
    ) -> Entry:
        """The replies to a request: from the transcript, or from the clients.

        With `complete` all of them must reply, and `Absent` names those that do not.
        """
        known = self._transcript.get(self._position)
        if known is None:
            replies = self._ask(question, to, read)
            for client in find_odd(replies):
                self._remote.record_malformed(client, question.place[0])
                del replies[client]
            silent = set(to) - set(replies)
            if (complete and silent) or not replies:
                raise Absent(silent)
            known = make_entry(self._position, replies)
            self._transcript.put(known)
        self._position += 1
        if known.absent:
            raise Absent(known.absent)
        return known

    def leave_out(self, silent: Collection[str]) -> None:
        """Note that a step is repeated without some clients."""
        if self._transcript.get(self._position - 1) is not None and self._replays_absence(silent):
            return
        entry = Entry(self._position, (), absent=tuple(sorted(silent)))
        self._transcript.put(entry)
        self._position += 1

    def _replays_absence(self, silent: Collection[str]) -> bool:
        known = self._transcript.get(self._position - 1)
        return known is not None and set(known.absent) == set(silent)

    def _ask(
        self, question: Question, to: Sequence[str], read: Callable[[Frame], tuple[T, Array]]
    ) -> dict[str, tuple[T, Array]]:
        """Replies of the clients; those that were away catch up, and are asked again.

        A client that works has the whole deadline, twice, because leaving it out is final.
        """
        id = f"{self._id}/{self._position}"
        before = encode_entry(self._transcript.get(self._position - 1) if self._position else None)
        header = {
            **question.header,
            **before.header,
            "kind": question.kind,
            "id": id,
            "about": self._remote.about,
            "step": self._position,
        }
        raw = pack(header, {**question.arrays, **before.arrays})
        found: dict[str, tuple[T, Array]] = {}
        tries, end = 0, time.monotonic() + _TRIES * self._remote.silence
        while silent := [c for c in to if c not in found]:
            replies = self._remote.collect(silent, raw, id, read, question.place, patient=True)
            found |= dict(replies)
            lost = [c for c in silent if c not in found]
            codes = {c: r.code for c, r in self._remote.reasons().items() if c in lost}
            tries += 1
            if not lost or any(c.final for c in codes.values()):
                break
            if tries >= _TRIES and time.monotonic() >= end:
                break
            for client in (c for c, code in codes.items() if code is Code.BEHIND):
                self._catch_up(client)
            if set(codes.values()) - {Code.BEHIND}:
                time.sleep(_PAUSE)
        return found

    def _catch_up(self, client: str) -> None:
        """Send a client the replies that it has not seen."""
        position = self._greet([client]).get(client)
        while position is not None and position < self._position:
            entry = self._transcript.get(position)
            after = self._positions([client], CATCH_UP, encode_entry(entry)).get(client)
            position = after if after != position else None


def _pause(passed: float) -> float:
    """Seconds until an owner is asked for again; owners take minutes or days."""
    return min(max(_PAUSE, passed / 10), _LONGEST_PAUSE)


class RelayChannel:
    """Rounds of a followed study."""

    def __init__(
        self, pool: RelayPool, remote: RemoteChannel, form: RowForm, schema: Schema
    ) -> None:
        self._pool, self._remote, self._schema = pool, remote, schema
        self._form, self._rows = form, form.as_config()  # the same in every round

    @property
    def run_name(self) -> str:
        """The run that all clients follow."""
        return self._pool.run_name

    @property
    def quorum(self) -> int:
        """Fewest replies that a round needs."""
        return self._remote.quorum

    def clients(self) -> tuple[str, ...]:
        return self._pool.members

    def ask(self, plan: Plan, request: Request) -> Iterator[tuple[str, Message]]:
        """The messages of the cohort."""
        self._pool.keep(request.cohort)
        key, sizes = plan.algorithm.key, plan.algorithm.sizes(self._schema)
        header, arrays = as_frame(RunRound(plan, request, self._form))
        header["data"] = self._rows
        read = RoundReader(plan.algorithm.up, sizes)
        question = Question(ROUND, header, arrays, (key, request.round))
        try:
            entry = self._pool.step(question, request.cohort, read, complete=plan.needs_all)
        except Absent:
            if plan.needs_all:
                raise
            raise TooFewClients(f"{key}: no client answered", self.reasons()) from None
        if not plan.needs_all:
            self._pool.keep(entry.clients)
            for number, client in enumerate(entry.clients):
                yield client, from_words(plan.algorithm.up, entry.layout, entry.words[number])
            return
        yield from messages_of(plan.algorithm.up, entry).items()  # nobody reads single messages

    def leave_out(self, clients: Collection[str]) -> None:
        """Repeat the round without some clients."""
        self._pool.leave_out(clients)

    def reasons(self) -> Mapping[str, Reason]:
        """Why there is no usable answer, by client."""
        return self._remote.reasons()
