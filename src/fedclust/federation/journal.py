"""A journal of answers: after a crash the run is repeated from it, and goes on where it ended.

Everything the server does is a function of what clients answered, so a repeated run gives the same
bits whatever it computes: nothing else needs to be saved. An exchange is written down once the run
has gone on to the next step, so a round that failed is asked again. The journal holds clients'
messages: it is readable by its owner alone, and removed when the run is over.
"""

import fcntl
import os
import struct
import time
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO
from zlib import crc32

import numpy as np

from ..channels import Transport
from ..core import CheckpointError, MessageError
from ..core.wire import Frame, pack, unpack

_LENGTH = struct.Struct("<QI")  # of a record, and its checksum


class Journal:
    """A transport that remembers; opened again, it first repeats what it remembers."""

    def __init__(self, transport: Transport, path: Path, *, patience: float = 30.0) -> None:
        self._transport, self._path = transport, path
        self._file = open(path, "ab", opener=_private)  # noqa: SIM115
        _alone(self._file, path, patience)
        try:
            records, length = _read(path)
            self._file.truncate(length)  # a record that was cut off by a crash
        except CheckpointError:
            self._file.close()
            raise
        self._past = iter(records)
        self.n_known = len(records)
        self._waiting: bytes | None = None

    def close(self) -> None:
        """Stop writing; what waits to be confirmed is not written."""
        self._file.close()

    def clients(self) -> list[str]:
        """Who was there at this point, or who is there now."""
        self._confirm()
        past = next(self._past, None)
        if past is not None:
            return [str(name) for name in _expected(past, "clients", self._path)["names"]]
        there = sorted(self._transport.clients())
        self._waiting = pack({"event": "clients", "names": there}, {})
        return there

    def exchange(
        self, clients: Sequence[str], request: bytes, seconds: float
    ) -> Iterable[tuple[str, bytes | str]]:
        """The answers that were given at this point, or those given now."""
        self._confirm()
        asked = sha256(request).hexdigest()
        past = next(self._past, None)
        if past is not None:
            header = _expected(past, "exchange", self._path)
            if header["request"] != asked:
                raise CheckpointError(
                    f"{self._path}: it is of another study, or of another version of fedclust; "
                    "remove it, or start without --resume"
                )
            return _answers(past)
        return self._asked(clients, request, seconds, asked)

    def _asked(
        self, clients: Sequence[str], request: bytes, seconds: float, digest: str
    ) -> Iterator[tuple[str, bytes | str]]:
        answers: list[list[Any]] = []
        arrays = {}
        for client, answer in self._transport.exchange(clients, request, seconds):
            words = answer if isinstance(answer, str) else None
            answers.append([client, words])
            if isinstance(answer, bytes):
                arrays[str(len(answers) - 1)] = np.frombuffer(answer, np.uint8)
            yield client, answer
        header = {"event": "exchange", "request": digest, "answers": answers}
        self._waiting = pack(header, arrays)

    def _confirm(self) -> None:
        if self._waiting is None:
            return
        self._file.write(_LENGTH.pack(len(self._waiting), crc32(self._waiting)) + self._waiting)
        self._file.flush()
        os.fsync(self._file.fileno())
        self._waiting = None


def _alone(file: BinaryIO, path: Path, patience: float) -> None:
    """Wait for a process that still writes the journal, such as that of a job which is ending."""
    end = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= end:
                file.close()
                raise CheckpointError(
                    f"{path}: another process is at work on this run; end it first"
                ) from None
            time.sleep(0.1)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _read(path: Path) -> tuple[list[Frame], int]:
    """The records that are whole, and how many bytes they take."""
    raw = path.read_bytes() if path.is_file() else b""
    records, place = [], 0
    while place + _LENGTH.size <= len(raw):
        length, checksum = _LENGTH.unpack_from(raw, place)
        body = raw[place + _LENGTH.size : place + _LENGTH.size + length]
        if len(body) < length or crc32(body) != checksum:
            break
        try:
            records.append(unpack(body, limit=len(body)))
        except MessageError as problem:
            raise CheckpointError(f"{path}: not a readable journal ({problem})") from None
        place += _LENGTH.size + length
    return records, place


def _expected(record: Frame, event: str, path: Path) -> dict[str, Any]:
    if record.header.get("event") != event:
        raise CheckpointError(f"{path}: it is of another study; remove it, or start anew")
    return record.header


def _answers(record: Frame) -> Iterator[tuple[str, bytes | str]]:
    for place, (client, words) in enumerate(record.header["answers"]):
        yield client, words if words is not None else record.arrays[str(place)].tobytes()
