"""How a study reaches its clients: sessions in this process, or endpoints behind a network.

Both hand the same typed requests to the same client session. In one process they are objects and
errors show everything; across machines they are bytes, and only public parts arrive.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from .. import __version__
from ..channels import RemoteChannel
from ..channels.local import answer_in_parallel
from ..client.codec import decode_alignment, decode_offer, decode_preflight_report, encode
from ..client.files import ClientFiles
from ..client.requests import (
    AlignRecords,
    AnyRequest,
    Caller,
    OfferRecords,
    Preflight,
    RowForm,
    RunRound,
    Written,
)
from ..client.session import ClientSession
from ..core import Channel, DataError, Message, Plan, Reason, Request, Schema
from ..data.files import describe_absent
from ..privacy import CheckedChannel, ClientPolicy
from .settings import Study


class ClientPool(Protocol):
    """The clients of a study, wherever they are."""

    default_tier: str  # unless the study names one
    compares: bool  # whether an extra lossless run is allowed, for comparison
    needs_everyone: bool  # whether one client with blocking problems ends the study
    named: Collection[str]  # the clients that the study lists, if it does
    replays: bool  # whether it keeps all replies, so that a study resumes without its journal

    def send(self, request: AnyRequest) -> dict[str, Any]:
        """Send a request other than a round to every client, and collect typed replies."""

    def over(self, form: RowForm, schema: Schema) -> Channel:
        """A channel to the clients' rows in a form."""

    def checked(self, channel: Channel, schema: Schema, records: Mapping[str, int]) -> Channel:
        """The channel, less clients whose sums are implausible."""

    def exclude(self, client: str, reason: Reason) -> None:
        """Continue without a client, and record why."""

    def reasons(self) -> Mapping[str, Reason]:
        """Why there is no usable answer, by client."""


class LocalPool:
    """Clients in this process, with one session each."""

    default_tier = "none"  # the user who runs the study has all rows
    compares = True
    needs_everyone = True
    replays = False

    def __init__(self, sessions: Mapping[str, ClientSession], caller: Caller) -> None:
        self.sessions, self._caller = dict(sessions), caller
        self.named: Collection[str] = tuple(sessions)

    def send(self, request: AnyRequest) -> dict[str, Any]:
        """Let every session handle the request; errors are shown as they are."""
        return {name: s.handle(request, self._caller) for name, s in self.sessions.items()}

    def over(self, form: RowForm, schema: Schema) -> Channel:
        """A channel to sessions in this process."""
        return SessionChannel(self.sessions, self._caller, form)

    def checked(self, channel: Channel, schema: Schema, records: Mapping[str, int]) -> Channel:
        """Sessions in this process are trusted."""
        return channel

    def exclude(self, client: str, reason: Reason) -> None:
        """Continue without a client."""
        del self.sessions[client]

    def reasons(self) -> Mapping[str, Reason]:
        """Errors are raised, so no answer is missing."""
        return {}


@dataclass(frozen=True, eq=False)
class SessionChannel:
    """Rounds over sessions: objects in, objects out."""

    sessions: Mapping[str, ClientSession]
    caller: Caller
    form: RowForm

    def clients(self) -> tuple[str, ...]:
        return tuple(self.sessions)

    def ask(self, plan: Plan, request: Request) -> Iterator[tuple[str, Message]]:
        round_request = RunRound(plan, request, self.form)

        def answer(client: str) -> tuple[str, Message]:
            reply: Any = self.sessions[client].handle(round_request, self.caller)
            return client, reply

        shapes = {c: self.sessions[c].rows(self.form).shape for c in request.to}
        return answer_in_parallel(answer, shapes)


FIRST_REQUESTS = ("preflight", "offer")  # with them a study begins; they name the server's version


class RemotePool:
    """Clients behind a network."""

    default_tier = "secure"
    compares = False  # clients answer only the queries that a study needs
    needs_everyone = False
    replays = False

    def __init__(self, remote: RemoteChannel, named: Collection[str] = ()) -> None:
        self._remote, self.named = remote, named

    def send(self, request: AnyRequest) -> dict[str, Any]:
        """Replies that arrived and are well-formed."""
        encoded = encode(request)
        if encoded.kind in FIRST_REQUESTS:
            encoded.header["version"] = __version__
        replies = {}
        for client, values in sorted(self._remote.send(*encoded).items()):
            reply = decode_reply(request, client, values)
            if reply is None:
                self._remote.record_malformed(client, encoded.kind)
            else:
                replies[client] = reply
        return replies

    def over(self, form: RowForm, schema: Schema) -> Channel:
        """A channel over which rounds travel as bytes."""
        return self._remote.over(form.as_config(), schema)

    def checked(self, channel: Channel, schema: Schema, records: Mapping[str, int]) -> Channel:
        """Leave out clients whose sums are impossible, and record them."""
        note = self._remote.record_left_out
        return CheckedChannel(channel, schema, records=records, cap=float("inf"), note=note)

    def exclude(self, client: str, reason: Reason) -> None:
        """Send no more requests to a client, and record why."""
        self._remote.exclude(client, reason, "preflight")

    def reasons(self) -> Mapping[str, Reason]:
        """What is recorded for clients since their last good answer."""
        return self._remote.reasons()


def decode_reply(request: AnyRequest, client: str, values: Any) -> Any:
    """A client's reply to a request other than a round; None if it is malformed."""
    match request:
        case Preflight():
            return decode_preflight_report(client, values)
        case OfferRecords():
            return decode_offer(client, values)
        case AlignRecords():
            return decode_alignment(values)
    return Written("written there") if isinstance(values, dict) else None


def open_pool(
    study: Study,
    targets: Mapping[str, Path],
    *,
    make_policy: Callable[[], ClientPolicy] = ClientPolicy,
    secret: bytes = b"",
) -> LocalPool:
    """A session for each client of the study, with its labels going to the given files."""
    sessions = {
        client: ClientSession(
            client,
            _opener(study, client),
            make_policy(),
            labels_path=_constant(targets.get(client)),
            secret=lambda: secret,
        )
        for client in study.clients
    }
    return LocalPool(sessions, Caller(study.path.stem))


def _opener(study: Study, client: str) -> Callable[[bool], ClientFiles]:
    def open_files(in_memory: bool) -> ClientFiles:
        paths = study.files(client)
        if not paths:
            raise DataError(describe_absent(study.clients[client], study.path_of(client)))
        settings = study.file_settings(client)
        return ClientFiles(
            client, paths, replace(settings, batch_rows=0) if in_memory else settings
        )

    return open_files


def _constant(target: Path | None) -> Callable[[Caller], Path]:
    def labels_path(caller: Caller) -> Path:
        if target is None:
            raise DataError("this client has no file for labels")
        return target

    return labels_path
