"""What happens at a running client: studies that wait, begin or are refused.

The client's processes write files; the command that runs them reads what is new.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..client.config import ClientConfig
from ..core import Code, FedclustError
from ..follow.approval import open_study
from ..follow.decisions import Approvals, Pending
from ..follow.endpoint import FOLDER, FOLLOW, OPENING
from ..study.settings import Study
from .coordinator import Tail

_INTERVAL = 1.0  # seconds between two looks


@dataclass(frozen=True)
class Waits:
    """A study waits for its owner's decision."""

    pending: Pending


@dataclass(frozen=True)
class Begins:
    """The client begins to follow a study."""

    study: Study
    hash: str


@dataclass(frozen=True)
class IsRefused:
    """The client refuses a study."""

    study: str
    why: str


Event = Waits | Begins | IsRefused


class Watch:
    """Reports each event once; studies that were followed before it starts are known."""

    def __init__(self, config: ClientConfig) -> None:
        folder = config.path.parent
        self.approvals, self._following = Approvals(folder), folder / FOLDER
        self._log = Tail(config.place(config.output.disclosures))
        self._known = {hash for _, hash in self._openings()}
        self._told: set[object] = set()
        self._next = 0.0

    def find_new(self) -> Iterator[Event]:
        """Events since the last look."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _INTERVAL
        yield from self._find_refused()
        yield from self._find_pending()
        yield from self._find_begun()

    def _find_refused(self) -> Iterator[IsRefused]:
        for line in self._log.read_new():
            if line.get("kind") != FOLLOW or line.get("code") in (None, Code.APPROVAL.value):
                continue
            found = IsRefused(str(line.get("study", "")), str(line.get("refused", "")))
            if found not in self._told:
                self._told.add(found)
                yield found

    def _find_pending(self) -> Iterator[Waits]:
        for hash in self.approvals.pending_hashes():
            if hash not in self._told and (one := self.approvals.find_pending(hash)) is not None:
                self._told.add(hash)
                yield Waits(one)

    def _find_begun(self) -> Iterator[Begins]:
        for folder, hash in self._openings():
            if hash in self._known:
                continue
            self._known.add(hash)
            study = _read_opened(folder)
            if study is not None:
                yield Begins(study, hash)

    def _openings(self) -> Iterator[tuple[Path, str]]:
        """The folder and the study's hash of each run that was followed."""
        for file in self._following.glob(f"*/{OPENING}"):
            try:
                yield file.parent, str(json.loads(file.read_text(encoding="utf-8"))["hash"])
            except (OSError, ValueError, KeyError, TypeError):
                continue  # being replaced


def _read_opened(folder: Path) -> Study | None:
    for file in folder.glob("*.toml"):
        try:
            return open_study(folder, file.stem, file.read_text(encoding="utf-8"))
        except (FedclustError, OSError):
            continue
    return None
