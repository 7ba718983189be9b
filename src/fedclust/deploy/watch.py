"""What happens at a running client: studies that wait, begin or are refused.

The client's processes write files; the command that runs them reads what is new.
"""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass

from ..client.config import ClientConfig
from ..core import Code, FedclustError
from ..follow.decisions import Approvals, Pending
from ..follow.endpoint import FOLDER, FOLLOW
from ..follow.openings import Opening, read_opening
from ..study.settings import Study
from .tail import Tail

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
        self._known = {opening.hash for opening in self._openings()}
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
        for opening in self._openings():
            if opening.hash in self._known:
                continue
            self._known.add(opening.hash)
            with contextlib.suppress(FedclustError):
                yield Begins(opening.read(), opening.hash)

    def _openings(self) -> Iterator[Opening]:
        """What each run that was followed began with."""
        for folder in sorted(self._following.glob("*/")):
            try:
                found = read_opening(folder)
            except (OSError, ValueError, KeyError, TypeError):
                continue  # being replaced
            if found is not None:
                yield found
