"""Read what other processes append to a file."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class Tail:
    """Reads the JSON lines that are appended to a file from now on."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._position = path.stat().st_size if path.exists() else 0

    def read_new(self) -> Iterator[dict[str, Any]]:
        """Complete lines that have not been read yet."""
        if not self._path.exists():
            return
        if self._path.stat().st_size < self._position:  # replaced by a shorter one
            self._position = 0
        with open(self._path, "rb") as file:
            file.seek(self._position)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self._position += len(line)
                yield dict(json.loads(line))
