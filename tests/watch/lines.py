"""Runs and clients to watch, as their files look."""

import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from fedclust.progress import PROGRESS, federation_folder

HOSTILE = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'
NAMES = ("Bern", "Basel", "Zürich")


class FakeRun:
    """Writes the progress of a run across machines, with any times."""

    def __init__(self, folder: Path, names: Sequence[str] = NAMES, **about: Any) -> None:
        self.folder, self.names = folder, list(names)
        work = federation_folder(folder)
        work.mkdir(parents=True)
        self.path, self.round = work / PROGRESS, 0
        begin = {
            "study": "heart",
            "process": os.getpid(),
            "clients": self.names,
            "max_rounds": 100,
            "tier": "secure",
            "guarantee": "The server can read only the total of all clients.",
            "max_queries": 50,
        }
        self.write(begin=begin | about)

    def write(self, ago: float = 0.0, **entry: Any) -> None:
        """Append a line that was written some seconds ago."""
        when = (datetime.now(UTC) - timedelta(seconds=ago)).isoformat(timespec="milliseconds")
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps({"when": when, **entry}) + "\n")

    def ask(self, ago: float = 0.0, answers: Sequence[str] | None = None) -> None:
        """Ask all clients; some of them answer."""
        asked = {"clients": self.names, "kind": "llf-cm", "number": self.round}
        self.write(ago, asked=asked)
        for name in self.names if answers is None else answers:
            self.write(ago, answer=name)

    def end_round(self, ago: float = 0.0, **values: Any) -> None:
        """The round ends."""
        sizes = dict.fromkeys(self.names, 512)
        line = {"phase": "clustering", "plan": "llf-cm", "round": self.round, "from": sizes}
        line |= {"answers": len(sizes), "sent": 1440, "received": sum(sizes.values())}
        line |= {"shift": 0.5**self.round, "places": [[self.round, 0.0], [-self.round, 1.0]]}
        self.write(ago, **(line | values))
        self.round += 1
