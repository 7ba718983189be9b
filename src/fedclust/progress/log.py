"""progress.jsonl: what a run does, as lines of JSON with a time.

A line has `when`, and one of these:

- `begin`: what stays the same, such as the study, its tier and its largest number of rounds
- `enter`: a phase of the study begins
- `connected`: the clients that are connected now
- `waiting`: the clients whose owners have not approved the study yet
- `asked`: a request was sent; `answer`: a client's answer has arrived
- `round`: a round has ended, with `phase`, `plan`, `answers` and bytes
- `incident`: a reply was left out
- `end`: how the run ended, if it did not finish

It has names, numbers, codes and public texts. Of centres it has two rounded coordinates in a plane.
"""

import contextlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..core.files import append_line

_CONSOLE = ("round", "incident", "waiting")  # lines that a coordinator's console shows


def is_for_console(line: Mapping[str, Any]) -> bool:
    """Whether a coordinator's console shows this line; the others are for `fedclust watch`."""
    return any(name in line for name in _CONSOLE)


class ProgressLog:
    """Appends lines. A run goes on if they cannot be written."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, **entry: Any) -> None:
        """Append one line."""
        line = {"when": datetime.now(UTC).isoformat(timespec="milliseconds"), **entry}
        with contextlib.suppress(OSError):
            append_line(self.path, json.dumps(line), sync=False)

    def asked(self, clients: Sequence[str], kind: str, number: int) -> None:
        """A request was sent to some clients."""
        self.write(asked={"clients": list(clients), "kind": kind, "number": number})

    def answered(self, client: str) -> None:
        """A usable answer of a client has arrived."""
        self.write(answer=client)
