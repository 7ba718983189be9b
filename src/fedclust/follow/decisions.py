"""The decisions of an owner about studies, in the client's folder.

`approvals.jsonl` has a line for each decision; the last one about a hash counts. A study that waits
for a decision is a file in `pending/<hash>/`.
"""

import getpass
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..core import Code, ConfigError, FedclustError, Refusal
from ..core.files import append_line, make_folder, write_text
from ..study.settings import Study
from .approval import open_study, study_hash

APPROVALS, PENDING, _ABOUT = "approvals.jsonl", "pending", "about.json"
APPROVED, REFUSED = "approved", "refused"
_MOST_PENDING = 100  # studies; a server could fill the disk with more


@dataclass(frozen=True)
class Decision:
    """A decision about a study, as it is recorded."""

    when: str  # UTC, ISO 8601
    by: str  # the user's name on this machine
    study: str
    hash: str
    decision: str  # APPROVED or REFUSED


@dataclass(frozen=True)
class Pending:
    """A study that waits for its owner's decision."""

    study: Study
    hash: str
    author: str  # who submitted it, as in the certificate; empty if the engine does not say
    members: tuple[str, ...]  # the clients that were connected


class Approvals:
    """The decisions in a client's folder, and the studies that wait for one."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._file, self._pending = folder, folder / APPROVALS, folder / PENDING

    def decisions(self) -> Iterator[Decision]:
        """All decisions, oldest first."""
        if not self._file.exists():
            return
        for line in self._file.read_text(encoding="utf-8").splitlines():
            try:
                yield Decision(**json.loads(line))
            except (ValueError, TypeError):
                continue  # an incomplete last line

    def decision(self, hash: str) -> str:
        """The last decision about a study; empty if there is none."""
        found = [one.decision for one in self.decisions() if one.hash == hash]
        return found[-1] if found else ""

    def decide(self, name: str, hash: str, *, approved: bool) -> Decision:
        """Record a decision, after which the study does not wait any more."""
        when = datetime.now(UTC).isoformat(timespec="seconds")
        made = Decision(when, _user(), name, hash, APPROVED if approved else REFUSED)
        if not os.access(self._folder, os.W_OK):
            raise ConfigError(
                f"no permission to write {self._folder}: run this command as the user who runs the "
                "client"
            )
        append_line(self._file, json.dumps(asdict(made)))
        shutil.rmtree(self._pending / hash, ignore_errors=True)
        return made

    def require(
        self, study: Study, text: str, *, author: str = "", members: Sequence[str] = ()
    ) -> None:
        """Refuse a study that its owner has not approved; one without a decision waits for it."""
        hash = study_hash(study)
        self.refuse_refused(hash)
        if self.decision(hash) == APPROVED:
            return
        self._wait_for(study, text, {"author": author, "members": sorted(members)})
        raise Refusal("it waits for its owner to approve this study", code=Code.APPROVAL)

    def refuse_refused(self, hash: str) -> None:
        """Refuse a study that its owner has refused."""
        if self.decision(hash) == REFUSED:
            raise Refusal("its owner has refused this study", code=Code.CONSENT)

    def _wait_for(self, study: Study, text: str, about: dict[str, Any]) -> None:
        folder = self._pending / study_hash(study)
        if not folder.exists() and len(self.pending_hashes()) >= _MOST_PENDING:
            raise Refusal(
                f"{_MOST_PENDING} other studies wait for its owner already", code=Code.CONSENT
            )
        if (file := folder / f"{study.path.stem}.toml").exists():
            return
        make_folder(folder)
        write_text(folder / _ABOUT, json.dumps(about))
        write_text(file, text)

    def pending_hashes(self) -> list[str]:
        """Hashes of the studies that wait, oldest first."""
        files = sorted(self._pending.glob("*/*.toml"), key=lambda file: file.stat().st_ctime)
        return [file.parent.name for file in files]

    def pending_names(self) -> list[str]:
        """Names of the studies that wait; unlike `pending`, this removes nothing."""
        return sorted(file.stem for file in self._pending.glob("*/*.toml"))

    def pending(self) -> list[Pending]:
        """The studies that wait, oldest first."""
        found = (self.find_pending(hash) for hash in self.pending_hashes())
        return [one for one in found if one is not None]

    def find_pending(self, hash: str) -> Pending | None:
        """The study that waits under a hash; None if there is none.

        A study of another version of fedclust has another hash now. It is removed: the server sends
        it again.
        """
        folder = self._pending / hash
        for file in folder.glob("*.toml"):
            try:
                study = open_study(folder, file.stem, file.read_text(encoding="utf-8"))
                about = json.loads((folder / _ABOUT).read_text(encoding="utf-8"))
                if study_hash(study) == hash:
                    return Pending(study, hash, str(about["author"]), tuple(about["members"]))
            except (FedclustError, OSError, ValueError, KeyError, TypeError):
                pass  # not of this version, or incomplete
            shutil.rmtree(folder, ignore_errors=True)
        return None


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user without a name, as in some containers
        return f"user {os.getuid()}"
