"""The disclosure log: a line of JSON for every message that leaves a client."""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..core import DataError


def write_disclosure(path: Path, raw: bytes, entry: Mapping[str, Any]) -> None:
    """Append a line: on disk before the message leaves."""
    line = {
        "when": datetime.now(UTC).isoformat(timespec="milliseconds"),
        **entry,
        "bytes": len(raw),
        "sha256": hashlib.sha256(raw).hexdigest(),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
        file.flush()
        os.fsync(file.fileno())


def read_disclosures(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a log, oldest first."""
    try:
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                try:
                    found = json.loads(line)
                except ValueError:
                    raise DataError(f"{path}:{number}: this line is not readable") from None
                yield found
    except FileNotFoundError:
        return
