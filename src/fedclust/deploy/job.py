"""The server's part of a job: run the study over whatever transport it is given.

What happens is written into a folder that the command which submitted the job is watching.
"""

import contextlib
import json
import logging
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..channels import Incident, RemoteChannel, Transport
from ..core import FedclustError, Plan, Round, TooFewClients
from ..core.files import append_line, lock, write_text
from ..study.pool import RemotePool
from ..study.read import read_study
from ..study.run import carry_out
from ..study.run_directory import RunDirectory

OUTCOME, PROGRESS, INCIDENTS = "outcome.json", "progress.jsonl", "incidents.jsonl"
_PATIENCE = 30.0  # seconds for an earlier job of the same run to end
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
        self,
        study: str,
        folder: str,
        work: str,
        run: str,
        deadline: float,
        force: bool,
        resume: bool,
    ) -> None:
        self._study, self._folder, self._work = Path(study), Path(folder), Path(work)
        self._run, self._deadline = run, deadline
        self._force, self._resume = force, resume

    def run(self, transport: Transport, ready: Sequence[str]) -> None:
        """Run the study; the outcome, good or bad, is a file."""
        try:
            with alone(self._work / "lock", _PATIENCE):
                self._clustered(transport, ready)
            outcome: dict[str, Any] = {"done": True}
        except TooFewClients as error:
            outcome = {"done": False, "error": str(error), "again": not error.final}
        except FedclustError as problem:
            outcome = {"done": False, "error": str(problem), "again": False}
        except Exception as problem:
            _log.exception("the study failed")
            words = f"an unexpected error at the server: {problem!r}"
            outcome = {"done": False, "error": words, "again": False}
        write_text(self._work / OUTCOME, json.dumps(outcome))

    def _clustered(self, transport: Transport, ready: Sequence[str]) -> None:
        for client in sorted(set(transport.clients()) - set(ready)):
            self._incident(Incident("start", 0, client, "its process did not come up in time"))
        asked = read_study(self._study, files=False)
        study = replace(asked, clients={})  # they have their own files
        remote = RemoteChannel(
            Present(transport, tuple(ready)),
            run=self._run,
            about={"study": study.path.stem},
            deadline=self._deadline,
            quorum=study.sampling.min_clients,
            record=self._incident,
        )
        place = RunDirectory(study, self._folder, force=self._force, resume=self._resume)
        pool = RemotePool(remote, tuple(asked.clients))
        carry_out(study, pool, place, on_round=self._heard)

    def _heard(self, phase: str, plan: Plan, done: Round) -> None:
        key, n = plan.algorithm.key, len(done.cohort)
        self._append(PROGRESS, {"phase": phase, "plan": key, "round": done.number, "answers": n})

    def _incident(self, incident: Incident) -> None:
        self._append(INCIDENTS, asdict(incident))
        self._append(PROGRESS, {"incident": asdict(incident)})

    def _append(self, file: str, entry: dict[str, Any]) -> None:
        line = {"when": datetime.now(UTC).isoformat(timespec="milliseconds"), **entry}
        append_line(self._work / file, json.dumps(line), sync=False)


@contextlib.contextmanager
def alone(path: Path, seconds: float) -> Iterator[None]:
    """Keep other jobs from the same run; wait for one that is just ending."""
    with open(path, "w", encoding="utf-8") as file:
        lock(file, seconds)
        yield
