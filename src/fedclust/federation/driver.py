"""The server's part of a job: run the study over whatever transport it is given.

What happens is written into a folder that the command which submitted the job is watching.
"""

import json
import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..channels import Incident, RemoteChannel, Transport
from ..core import FedclustError, TooFewClients
from ..core.files import write_text
from ..study.file import read_study
from .journal import Journal
from .study import run_across

JOURNAL, PROGRESS, INCIDENTS, OUTCOME = (
    "journal",
    "progress.jsonl",
    "incidents.jsonl",
    "outcome.json",
)
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Present:
    """The clients of a transport whose processes came up."""

    transport: Transport
    names: tuple[str, ...]

    def clients(self) -> tuple[str, ...]:
        """Names of those who are there."""
        return self.names

    def exchange(self, clients: Sequence[str], request: bytes, seconds: float) -> Any:
        """As the transport has it."""
        return self.transport.exchange(clients, request, seconds)


class StudyRun:
    """Asks: the component that a job names at the server."""

    def __init__(
        self, study: str, name: str, folder: str, work: str, deadline: float, run: str
    ) -> None:
        self._study, self._name = Path(study), name
        self._folder, self._work = Path(folder), Path(work)
        self._deadline, self._run = deadline, run

    def run(self, transport: Transport, ready: Sequence[str]) -> None:
        """Run the study; the outcome, good or bad, is a file."""
        try:
            self._clustered(transport, ready)
            outcome: dict[str, Any] = {"done": True}
        except TooFewClients as problem:
            outcome = {"done": False, "error": str(problem), "again": True}
        except FedclustError as problem:
            outcome = {"done": False, "error": str(problem), "again": False}
        except Exception as problem:
            _log.exception("the study failed")
            words = f"an unexpected error at the server: {problem!r}"
            outcome = {"done": False, "error": words, "again": False}
        write_text(self._work / OUTCOME, json.dumps(outcome))

    def _clustered(self, transport: Transport, ready: Sequence[str]) -> None:
        study = read_study(self._study, files=False)
        for client in sorted(set(transport.clients()) - set(ready)):
            self._incident(Incident("start", 0, client, "its process did not come up in time"))
        journal = Journal(Present(transport, tuple(ready)), self._work / JOURNAL)
        if journal.n_known:
            self._say(f"resuming: {journal.n_known} steps are repeated from the journal")
        try:
            remote = RemoteChannel(
                journal,
                run=self._run,
                about={"study": self._name},
                deadline=self._deadline,
                quorum=study.participation["min_clients"],
                record=self._incident,
                heard=self._heard,
            )
            run_across(study, remote, self._folder, force=True, say=self._say)
        finally:
            journal.close()

    def _say(self, words: str) -> None:
        self._append(PROGRESS, {"say": words})

    def _heard(self, plan: str, round: int, n: int) -> None:
        self._append(PROGRESS, {"plan": plan, "round": round, "answers": n})

    def _incident(self, incident: Incident) -> None:
        self._append(INCIDENTS, asdict(incident))
        self._append(PROGRESS, {"incident": asdict(incident)})

    def _append(self, file: str, entry: dict[str, Any]) -> None:
        line = {"when": datetime.now(UTC).isoformat(timespec="milliseconds"), **entry}
        with open(self._work / file, "a", encoding="utf-8") as out:
            out.write(json.dumps(line) + "\n")
