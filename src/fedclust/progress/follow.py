"""Read what other processes append to a file of JSON lines, from its beginning."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_MOST = 8 * 2**20  # bytes that one look reads at most; the next look reads on


class Follower:
    """Reads each complete line once; a file that was replaced is read again from its beginning."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._position, self._file = 0, 0

    def restarts(self) -> bool:
        """Whether the file has been replaced or shortened since the last look."""
        try:
            found = os.stat(self.path)
        except OSError:
            return False
        again = found.st_ino != self._file or found.st_size < self._position
        if again:
            self._position, self._file = 0, found.st_ino
        return again

    def read_new(self) -> Iterator[dict[str, Any]]:
        """Lines that have not been read yet; what is no object of JSON is passed over."""
        try:
            with open(self.path, "rb") as file:
                file.seek(self._position)
                found = file.read(_MOST)
        except OSError:
            return
        complete = found[: found.rfind(b"\n") + 1]
        self._position += len(complete)
        for text in complete.splitlines():
            try:
                line = json.loads(text)
            except (ValueError, RecursionError):
                continue
            if isinstance(line, dict):
                yield line
