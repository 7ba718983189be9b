"""The transcript of a run at the server: the replies of every finished step, in files.

The server replays it when a run resumes, and sends parts of it to clients that were away.
"""

import json
from pathlib import Path

from ..core.files import make_folder, replacing, write_text
from ..core.wire import pack_parts, unpack
from .entries import Entry, decode_entry, encode_entry

_OPENING = "opening.json"


class Transcript:
    """One file for each finished step."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._newest: Entry | None = None
        make_folder(folder)

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
        file = self._file(step)
        return decode_entry(unpack(file.read_bytes())) if file.exists() else None

    def put(self, entry: Entry) -> None:
        """Keep the replies of a step, before any client sees them."""
        with replacing(self._file(entry.step)) as scratch, open(scratch, "wb") as file:
            file.writelines(pack_parts(*encode_entry(entry)))
        self._newest = entry

    def _file(self, step: int) -> Path:
        return self._folder / f"{step:06d}.bin"
