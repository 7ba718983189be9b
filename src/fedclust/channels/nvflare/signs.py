"""What the engines of a client and of the server tell each other beside their heartbeats.

A client says where it runs, what its clock shows, and whether its disk is full. The server refuses
a second place that uses the same kit, tells both, and writes what the coordinator should know into
its kit. The engine loads this file by its path: it imports nothing of fedclust.
"""

import contextlib
import hashlib
import json
import os
import shutil
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

REPORT = "clients.json"  # in the server's kit: what is wrong with which client
NOTICES = "notices.jsonl"  # in a client's kit: what the server says about it
FULL, CLOCK, TWICE = "disk", "clock", "twice"  # what can be wrong
AGAIN = 75  # exit status of a client's engine that has to be started again
LEAST = 1_000_000  # bytes; with less free space a disk is full
CLOCK_LIMIT = 60.0  # seconds by which clocks may differ
_LOST = 2  # heartbeats without an answer after which a client registers again
_ALIVE = 10.0  # seconds since the last heartbeat of a client that runs
_FRESH = 60.0  # seconds for which the other place learns that a second one was refused
_PLACE, _TIME, _IS_FULL, _NOTICE = "fc_place", "fc_time", "fc_full", "fc_notice"
Handler = Callable[[Any, Any], Any]


def is_full(folder: str | os.PathLike[str]) -> bool:
    """Whether the disk of a folder has no space left."""
    return shutil.disk_usage(folder).free < LEAST


def place_of(kit: Path) -> str:
    """Stands for a machine and a folder on it, without saying which."""
    machine = ""
    with contextlib.suppress(OSError):
        machine = Path("/etc/machine-id").read_text(encoding="ascii").strip()
    words = "\n".join((socket.gethostname(), machine, str(kit.resolve())))
    return hashlib.sha256(words.encode()).hexdigest()[:32]


def with_signs(
    send: Callable[..., Any], kit: Path, leave: Callable[[], object]
) -> Callable[..., Any]:
    """A client's way to send requests, which adds its signs and keeps the server's notices.

    `leave` is called when the server answers heartbeats no more, or refuses them: its kit was
    renewed since this client registered, or this client was revoked. NVFlare would go on for ever.
    """
    from nvflare.private.defs import CellChannelTopic

    topics = (CellChannelTopic.Register, CellChannelTopic.HEART_BEAT)
    place, seen, beats = place_of(kit), set[str](), Beats(leave)

    def send_request(self: Any, *args: Any, **values: Any) -> Any:
        if values.get("topic") not in topics:
            return send(self, *args, **values)
        request = values["request"]
        request.set_header(_PLACE, place)
        request.set_header(_TIME, time.time())
        request.set_header(_IS_FULL, is_full(kit))
        reply = send(self, *args, **values)
        notice = None if reply is None else reply.get_header(_NOTICE)
        if isinstance(notice, str) and notice not in seen:
            seen.add(notice)
            with contextlib.suppress(OSError), open(kit / NOTICES, "a", encoding="ascii") as file:
                file.write(json.dumps({"when": time.time(), **json.loads(notice)}) + "\n")
        if values["topic"] == CellChannelTopic.HEART_BEAT and notice is None:
            beats.note(reply)
        return reply

    return send_request


class Beats:
    """Calls `leave` after two heartbeats that a connected server did not answer, or one refusal."""

    def __init__(self, leave: Callable[[], object]) -> None:
        self._leave, self._lost = leave, 0

    def note(self, reply: Any) -> None:
        """Take in the reply to a heartbeat, or that there is none."""
        from nvflare.fuel.f3.cellnet.defs import MessageHeaderKey, ReturnCode

        code = None if reply is None else reply.get_header(MessageHeaderKey.RETURN_CODE)
        self._lost = self._lost + 1 if code == ReturnCode.TIMEOUT else 0
        if code == ReturnCode.UNAUTHENTICATED or self._lost >= _LOST:
            self._lost = 0
            self._leave()


def end_to_register_again() -> None:
    """End this engine with the status that asks for another one, unless it has a job."""
    import psutil

    if not psutil.Process().children():
        os._exit(AGAIN)


class Clients:
    """What the server knows about its clients from their signs."""

    def __init__(self, report: Path) -> None:
        self._report, self._lock = report, threading.Lock()
        self._places: dict[str, tuple[str, float]] = {}  # and when it was last heard of
        self._refused: dict[str, tuple[str, float]] = {}  # address of the latest second place
        self._wrong: dict[str, dict[str, Any]] = {}
        report.unlink(missing_ok=True)

    def guarded(self, handle: Handler) -> Handler:
        """A handler of the server that refuses second places, and notes the signs of others."""
        from nvflare.fuel.f3.cellnet.defs import MessageHeaderKey, ReturnCode
        from nvflare.fuel.f3.cellnet.utils import make_reply
        from nvflare.private.defs import CellMessageHeaderKeys

        def handle_guarded(server: Any, request: Any) -> Any:
            name = str(request.get_header(CellMessageHeaderKeys.CLIENT_NAME, ""))
            place = str(request.get_header(_PLACE, ""))
            with self._lock:
                other = self._is_second(name, place)
                if other:
                    self._refuse(name, str(request.get_header(CellMessageHeaderKeys.CLIENT_IP, "")))
            if other:
                reply = make_reply(ReturnCode.UNAUTHENTICATED, f"Client '{name}' runs elsewhere")
                reply.set_header(_NOTICE, json.dumps({"what": TWICE, "refused": True}))
                return reply
            reply = handle(server, request)
            if reply.get_header(MessageHeaderKey.RETURN_CODE) == ReturnCode.OK and place:
                with self._lock:
                    notice = self._note(name, place, request)
                if notice:
                    reply.set_header(_NOTICE, json.dumps(notice))
            return reply

        return handle_guarded

    def _is_second(self, name: str, place: str) -> bool:
        known, heard = self._places.get(name, (place, 0.0))
        return bool(place) and known != place and time.monotonic() - heard < _ALIVE

    def _refuse(self, name: str, address: str) -> None:
        self._refused[name] = (address, time.monotonic())
        self._set(name, TWICE, address or True)

    def _note(self, name: str, place: str, request: Any) -> dict[str, Any] | None:
        now = time.monotonic()
        self._places[name] = (place, now)
        ahead = float(request.get_header(_TIME, time.time())) - time.time()
        wrong = round(ahead) if abs(ahead) > CLOCK_LIMIT else None
        self._set(name, FULL, bool(request.get_header(_IS_FULL)) or None)
        if (wrong is None) != (CLOCK not in self._wrong.get(name, {})):
            self._set(name, CLOCK, wrong)
        address, when = self._refused.get(name, ("", -_FRESH))
        if now - when < _FRESH:
            return {"what": TWICE, "refused": False, "address": address}
        return None if wrong is None else {"what": CLOCK, "seconds": self._wrong[name][CLOCK]}

    def _set(self, name: str, what: str, value: Any) -> None:
        """Enter what is wrong with a client, or that it is not any more."""
        before = self._wrong.get(name, {}).get(what)
        if value == before:
            return
        entries = {k: v for k, v in self._wrong.get(name, {}).items() if k != what}
        self._wrong[name] = entries if value is None else {**entries, what: value}
        scratch = self._report.with_suffix(".new")
        with contextlib.suppress(OSError):  # the server's own disk may be full
            scratch.write_text(json.dumps(self._wrong), encoding="ascii")
            scratch.replace(self._report)
