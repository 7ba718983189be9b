"""The server's part of a job: run the study over a transport.

The job reports to the command that submitted it through the files listed in `paths`.
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
from ..client.endpoint import RUN_ID_LENGTH
from ..core import Code, FedclustError, Plan, Round, TooFewClients
from ..core.files import append_line, is_full, lock, write_text
from ..follow.approval import Following, following_of, study_hash
from ..follow.relay import RelayPool, StudyText
from ..follow.transcript import Transcript
from ..progress import ProgressLog
from ..study.phases import Phase
from ..study.pool import RemotePool
from ..study.progress import StudyProgress
from ..study.read import read_study, resolve_tier
from ..study.run import carry_out
from ..study.run_directory import RunDirectory
from ..study.settings import Study
from .paths import INCIDENTS, LOCK, OUTCOME, PROGRESS, TRANSCRIPT

_LOCK_TIMEOUT = 30.0  # seconds to wait until an earlier job of the same run has ended
_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ReadyClients:
    """A transport that is limited to the clients whose job processes have started."""

    transport: Transport
    names: tuple[str, ...]

    def clients(self) -> tuple[str, ...]:
        """Names of the ready clients."""
        return self.names

    def exchange(self, clients: Sequence[str], request: bytes, seconds: float) -> Any:
        """Forward the request to the transport."""
        return self.transport.exchange(clients, request, seconds)


class StudyJob:
    """Runs a study on the server: the component that a job's server configuration names."""

    def __init__(
        self,
        study: str,
        folder: str,
        work: str,
        run: str,
        deadline: float,
        force: bool,
        resume: bool,
        wait: float = 600.0,
    ) -> None:
        self._study, self._folder, self._work = Path(study), Path(folder), Path(work)
        self._run, self._deadline, self._wait = run, deadline, wait
        self._force, self._resume = force, resume
        self._log = ProgressLog(self._work / PROGRESS)

    def run(self, transport: Transport, ready: Sequence[str]) -> None:
        """Run the study, and write its outcome, success or error, to a file."""
        try:
            with hold_lock(self._work / LOCK, _LOCK_TIMEOUT):
                self._run_study(transport, ready)
            outcome: dict[str, Any] = {"done": True}
        except TooFewClients as error:
            outcome = {"done": False, "error": str(error), "again": not error.final}
            outcome["indispensable"] = sorted(error.indispensable)
            outcome["undecided"] = any(r.code is Code.APPROVAL for r in error.reasons.values())
        except FedclustError as error:
            outcome = {"done": False, "error": str(error), "again": False}
        except Exception as error:
            _logger.exception("the study failed")
            if is_full(error):
                text = f"the disk with {self._work} is full; free space, then use --resume"
            else:
                text = f"unexpected error at the server: {error!r}"
            outcome = {"done": False, "error": text, "again": False}
        write_text(self._work / OUTCOME, json.dumps(outcome))

    def _run_study(self, transport: Transport, ready: Sequence[str]) -> None:
        for client in sorted(set(transport.clients()) - set(ready)):
            self._record(Incident("start", 0, client, "its job process did not start in time"))
        read = read_study(self._study, files=False)
        study = replace(read, clients={})  # clients name their files in client.toml
        tier = resolve_tier(study, RemotePool.default_tier)
        self._log.write(connected=list(ready))
        channel = RemoteChannel(
            ReadyClients(transport, tuple(ready)),
            run=self._run,
            about={"study": study.path.stem},
            deadline=self._deadline,
            quorum=study.sampling.min_clients,
            record=self._record,
            watcher=self._log,
        )
        folder = RunDirectory(
            study,
            self._folder,
            force=self._force,
            resume=self._resume,
            run_id=self._run[:RUN_ID_LENGTH],  # as in the names of the clients' label files
        )
        how = following_of(study, tier)
        hash = "" if how is Following.NONE else study_hash(read)
        progress = StudyProgress(
            self._log,
            read,
            tier,
            clients=ready,
            replays=how is Following.STEPS,
            run=folder.run_id,
            part=True,
        )
        progress.begin()
        pool = self._open_pool(read, channel, how, max(channel.quorum, tier.fewest_clients))
        carry_out(
            study, pool, folder, on_round=self._note_round, study_hash=hash, progress=progress
        )
        if isinstance(pool, RelayPool):
            pool.close()

    def _open_pool(
        self, study: Study, channel: RemoteChannel, how: Following, needed: int
    ) -> RemotePool:
        """The clients; where they follow the study, they have it before the first request."""
        named = tuple(study.clients)
        if how is Following.NONE:
            return RemotePool(channel, named)
        text = StudyText(study, self._study.read_text(encoding="utf-8"))
        transcript = Transcript(self._work / TRANSCRIPT)
        relay = RelayPool(
            channel,
            named,
            text,
            self._run,
            transcript,
            needed=needed,
            approval_wait=self._wait,
            on_wait=self._report_wait,
        )
        relay.open()
        return RemotePool(channel, named) if how is Following.SCRIPT else relay

    def _note_round(self, phase: Phase, plan: Plan, done: Round) -> None:
        """Called after each round, for a job that does more than run the study."""

    def _report_wait(self, clients: Sequence[str]) -> None:
        self._log.write(waiting=list(clients))

    def _record(self, incident: Incident) -> None:
        when = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = json.dumps({"when": when, **asdict(incident)})
        append_line(self._work / INCIDENTS, line, sync=False)
        self._log.write(incident=asdict(incident))


@contextlib.contextmanager
def hold_lock(path: Path, seconds: float) -> Iterator[None]:
    """Hold the run's lock; wait for an earlier job that is about to end."""
    with open(path, "w", encoding="utf-8") as file:
        lock(file, seconds)
        yield
