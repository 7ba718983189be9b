"""What happens at a running client: studies that wait, begin or are refused.

The client's processes write files; the command that runs them reads what is new.
"""

import contextlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

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
    """The client refuses a study, or a request of one, until somebody acts."""

    study: str
    why: str
    whole: bool = True  # the study, not a request of it


Event = Waits | Begins | IsRefused


def _is_shown(line: Mapping[str, Any]) -> bool:
    """Whether the owner should read of a refusal: no other copy of the request would cure it."""
    try:
        code = Code(str(line.get("code", "")))
    except ValueError:  # of another version
        return False
    if line.get("kind") == FOLLOW:
        return code is not Code.APPROVAL
    return code.final and code is not Code.APPROVAL


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
            if "refused" not in line or not _is_shown(line):
                continue
            whole = line.get("kind") == FOLLOW
            found = IsRefused(str(line.get("study", "")), str(line["refused"]), whole)
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
