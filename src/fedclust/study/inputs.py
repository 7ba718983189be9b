"""What must not change before a run is resumed: the study file, and the content of client files."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..clustering.model import Model
from .settings import Study


@dataclass(frozen=True)
class FileState:
    """The content of a file as a digest, and the marks by which it need not be read again.

    A program can set the time of modification, but not the time of the last change of status, so
    a file with the same marks has the same content.
    """

    client: str
    name: str
    marks: tuple[int, ...]  # size, modification, status change, inode
    sha256: str


@dataclass(frozen=True)
class Inputs:
    """The study file and the files of all clients that are in this process."""

    study: str  # a digest
    files: tuple[FileState, ...]

    def find_change(self, before: "Inputs", study: Study) -> str:
        """The first input that has changed, in words; empty if none has."""
        if self.study != before.study:
            return study.path.name
        for client in study.clients:
            now, then = ([f for f in x.files if f.client == client] for x in (self, before))
            if [f.name for f in now] != [f.name for f in then]:
                return f"the list of files of client {client!r}"
            for file, old in zip(now, then, strict=True):
                if file.sha256 != old.sha256:
                    return f"{file.name} of client {client!r}"
        return "" if len(self.files) == len(before.files) else "the list of clients"


def read_inputs(study: Study, before: Inputs | None = None) -> Inputs:
    """The inputs as they are now; files with the marks of `before` are not read again."""
    known = () if before is None else before.files
    files = [
        _read_state(client, file, known) for client in study.clients for file in study.files(client)
    ]
    return Inputs(hashlib.sha256(study.path.read_bytes()).hexdigest(), tuple(files))


def digest_match(match: Model | None) -> str:
    """A digest of the earlier run whose cluster numbers are kept; empty if there is none."""
    if match is None:
        return ""
    return hashlib.sha256(json.dumps(match.as_config(), sort_keys=True).encode()).hexdigest()


def _read_state(client: str, file: Path, known: Sequence[FileState]) -> FileState:
    seen = file.stat()
    marks = (seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino)
    for state in known:
        if (state.client, state.name, state.marks) == (client, file.name, marks):
            return state
    return FileState(client, file.name, marks, _digest(file))


def _digest(file: Path) -> str:
    """The digest of a file's content; empty if it cannot be read, which preflights report."""
    try:
        with open(file, "rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest()
    except OSError:
        return ""
