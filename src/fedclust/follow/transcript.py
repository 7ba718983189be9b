"""The transcript of a run at the server: the replies of every finished step, in a file.

The server replays it when a run resumes, and sends parts of it to clients that were away. Steps are
appended to one file: to make a file for each step takes longer than everything else that following
adds to the server's part of a round.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path

from ..core import WriteError
from ..core.files import append, explain, make_folder, write_text
from ..core.wire import pack_parts, unpack
from .entries import Entry, decode_entry, encode_entry

_OPENING, _LOG = "opening.json", "steps.bin"
_HEAD = 8 + 8  # step, length


class Transcript:
    """A record for each finished step, in the order in which they were finished."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._log = folder, folder / _LOG
        self._newest: Entry | None = None
        make_folder(folder)
        self._places = dict(_find_records(self._log))  # where the record of a step is

    @property
    def opening(self) -> tuple[str, tuple[str, ...]] | None:
        """The hash of the study and the clients that began it; None before the first step."""
        file = self._folder / _OPENING
        if not file.exists():
            return None
        found = json.loads(file.read_text(encoding="utf-8"))
        return str(found["hash"]), tuple(found["members"])

    def open(self, hash: str, members: tuple[str, ...]) -> None:
        """Note with which study and clients the run begins."""
        text = json.dumps({"hash": hash, "members": list(members)})
        write_text(self._folder / _OPENING, text)

    def get(self, step: int) -> Entry | None:
        """The replies of a step; None if it is not finished."""
        if self._newest is not None and self._newest.step == step:
            return self._newest
        if step not in self._places:
            return None
        start, size = self._places[step]
        with open(self._log, "rb") as file:
            file.seek(start)
            return decode_entry(unpack(file.read(size)))

    def put(self, entry: Entry) -> None:
        """Keep the replies of a step, before any client sees them."""
        parts = pack_parts(*encode_entry(entry))
        size = sum(map(len, parts))
        head = entry.step.to_bytes(8, "little") + size.to_bytes(8, "little")
        try:
            start = append(self._log, [head, *parts], sync=False)
        except OSError as problem:
            text = f"{self._log} cannot be written ({explain(problem)})"
            raise WriteError(problem.errno, text) from None
        self._places[entry.step] = start + _HEAD, size
        self._newest = entry


def _find_records(log: Path) -> Iterator[tuple[int, tuple[int, int]]]:
    """Steps, and where their records are; an incomplete one at the end is removed.

    The server died while it was writing it, and asks for the replies again.
    """
    if not log.exists():
        return
    end = log.stat().st_size
    with open(log, "r+b") as file:
        while head := file.read(_HEAD):
            start = file.tell()
            size = int.from_bytes(head[8:], "little")
            if len(head) < _HEAD or start + size > end:
                os.truncate(log, start - len(head))
                return
            yield int.from_bytes(head[:8], "little"), (start, size)
            file.seek(size, os.SEEK_CUR)
