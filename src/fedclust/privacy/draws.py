"""Noise that was drawn: the same question about the same numbers gets the same noise, paid once.

Two draws for one answer could be averaged, and would cost the budget twice. A client that follows
a study keeps each draw in a file before it pays for it, so that a process that dies, or a full
disk, changes neither. The files lie beside the data, and are removed when the study is over.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..core.files import make_folder, write_atomically
from ..typing import IntArray
from .crypto import digest, fresh_secret

_ID_BYTES = 16
_INT = np.dtype("<i8")


class Draw(NamedTuple):
    """Noise, and the id under which the ledger pays for it."""

    id: str
    noise: IntArray


class Draws:
    """The draws of one client; in memory only, unless they have a folder.

    ``secret`` is in the names of the files, which would otherwise be hashes of the client's sums.
    """

    def __init__(self, folder: Path | None = None, secret: bytes = b"") -> None:
        self._folder, self._secret = folder, secret
        self._known: dict[bytes, Draw] = {}

    def find(self, question: bytes, draw: Callable[[], IntArray]) -> Draw:
        """The draw for a question; it is kept before this returns."""
        if question not in self._known:
            self._known[question] = self._load(question) or self._keep(question, draw())
        return self._known[question]

    def _load(self, question: bytes) -> Draw | None:
        path = self._path(question)
        if path is None or not path.exists():
            return None
        raw = path.read_bytes()
        noise = np.frombuffer(raw[_ID_BYTES:], _INT).astype(np.int64)
        return Draw(raw[:_ID_BYTES].hex(), noise)

    def _keep(self, question: bytes, noise: IntArray) -> Draw:
        id, path = fresh_secret()[:_ID_BYTES], self._path(question)
        if path is not None:
            make_folder(path.parent)
            raw = id + noise.astype(_INT).tobytes()
            write_atomically(path, lambda file: file.write(raw), mode=0o600)
        return Draw(id.hex(), noise)

    def _path(self, question: bytes) -> Path | None:
        if self._folder is None:
            return None
        return self._folder / digest(self._secret, question).hex()


def forget_draws(folder: Path) -> None:
    """Remove the files of a folder of draws."""
    shutil.rmtree(folder, ignore_errors=True)
