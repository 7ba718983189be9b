"""What a client keeps on disk about a run that it follows, so that a restart changes nothing.

The folder of a run holds the study, the client's secret for masks, its draws of noise, its own
replies and the outcomes of finished steps. A reply is written before it leaves: the same request
gets the same bytes, from any process. Secret and noise are removed when the study is over.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..core import ConfigError
from ..core.files import append, lock, make_folder, write_text
from ..core.wire import pack, unpack
from ..privacy.crypto import KEY_BYTES, fresh_secret
from ..privacy.draws import Draws, forget_draws
from .entries import Entry, decode_entry, encode_entry

_STATE, _SECRET, _LOG, _LOCK = "state.json", "secret", "steps.bin", "lock"
_NOISE = "noise"
_REPLY, _ENTRY = b"R", b"E"
_HASH = 32
_HEAD = 1 + 8 + _HASH + 8  # kind, step, request, length


@dataclass(frozen=True)
class Reply:
    """An answer of this client, and the request that it answers in a hash."""

    step: int
    asked: bytes
    raw: bytes


class RunMemory:
    """The folder of one run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.last: Reply | None = None  # the newest reply
        self.slots: dict[int, bytes] = {}  # what was asked at each place, over split columns
        self.entries: list[Entry] = []
        self._log, self._state = str(folder / _LOG), str(folder / _STATE)
        self._size = 0  # of the log, as far as it is known here
        self._unwritten = b""
        make_folder(folder)
        self._load()

    def secret(self) -> bytes:
        """The client's secret for masks in this run, made on the first call."""
        file = self.folder / _SECRET
        if not file.exists():
            write_text(file, fresh_secret().hex(), mode=0o600)
        secret = bytes.fromhex(file.read_text(encoding="utf-8"))
        if len(secret) != KEY_BYTES:
            raise ConfigError(f"{file}: not a secret; start the study again with --force")
        return secret

    def draws(self) -> Draws:
        """The draws of noise in this run."""
        return Draws(self.folder / _NOISE, self.secret())

    @property
    def ended(self) -> str:
        """Why this client takes no further part; empty while it does."""
        return _read_end(self._state)

    def end(self, why: str) -> None:
        """Note that the study is over for this client, and remove its secret and its noise."""
        self.flush()
        write_text(self.folder / _STATE, json.dumps({"ended": why}))
        (self.folder / _SECRET).unlink(missing_ok=True)
        forget_draws(self.folder / _NOISE)

    def keep_reply(self, reply: Reply, *, sync: bool) -> None:
        """Keep a reply before it leaves."""
        self._write(_record(_REPLY, reply), sync=sync)
        self._note(reply)

    def _note(self, reply: Reply) -> None:
        self.last = reply
        if not reply.raw:
            self.slots[reply.step] = reply.asked

    def keep_entry(self, entry: Entry) -> None:
        """Keep the outcome of a finished step; it is written with the next reply.

        A process that dies before has lost nothing: the server repeats the replies of the step.
        """
        raw = pack(*encode_entry(entry))
        self._unwritten += _record(_ENTRY, Reply(entry.step, bytes(_HASH), raw))
        self.entries.append(entry)

    @property
    def is_current(self) -> bool:
        """Whether no other process of this client has written since."""
        try:
            return os.stat(self._log).st_size == self._size
        except FileNotFoundError:
            return self._size == 0

    def flush(self) -> None:
        """Write what is kept and not written yet."""
        if self._unwritten:
            self._write(b"", sync=False)

    def _write(self, record: bytes, *, sync: bool) -> None:
        raw = self._unwritten + record
        start = append(self._log, [raw], sync=sync)
        self._size, self._unwritten = start + len(raw), b""

    def _load(self) -> None:
        file = self.folder / _LOG
        if not file.exists():
            return
        complete = 0
        for kind, reply, end in _records(file.read_bytes()):
            if kind == _REPLY:
                self._note(reply)
            elif (entry := decode_entry(unpack(reply.raw))) is not None:
                self.entries.append(entry)
            complete = end
        self._size = complete
        if complete < file.stat().st_size:  # a crash while writing: nothing of it has left
            os.truncate(file, complete)


@contextmanager
def hold_run(folder: Path) -> Iterator[None]:
    """Keep other processes of this client out of a run, while one of them takes a step."""
    if not os.path.isdir(folder):
        yield
        return
    with open(folder / _LOCK, "ab", buffering=0) as file:
        lock(file)
        yield


def is_ended(folder: Path) -> str:
    """Why this client takes no further part in a run; empty while it does."""
    return _read_end(str(folder / _STATE))


def _read_end(file: str) -> str:
    if not os.path.exists(file):
        return ""
    return str(json.loads(Path(file).read_text(encoding="utf-8"))["ended"])


def _record(kind: bytes, record: Reply) -> bytes:
    head = kind + record.step.to_bytes(8, "little") + record.asked
    return head + len(record.raw).to_bytes(8, "little") + record.raw


def _records(raw: bytes) -> Iterator[tuple[bytes, Reply, int]]:
    """Complete records of the log, and where each ends."""
    start = 0
    while start + _HEAD <= len(raw):
        head = raw[start : start + _HEAD]
        step, size = (int.from_bytes(part, "little") for part in (head[1:9], head[-8:]))
        end = start + _HEAD + size
        if end > len(raw):
            return
        yield head[:1], Reply(step, head[9 : 9 + _HASH], raw[start + _HEAD : end]), end
        start = end
