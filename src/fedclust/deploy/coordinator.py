"""Run a study over a federation: start the server, wait for clients, submit, watch, resubmit."""

import contextlib
import json
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core import FedclustError, TooFewClients
from ..study.contradictions import find_ignored_settings
from ..study.layouts import layout_of
from ..study.pool import RemotePool
from ..study.read import resolve_tier
from ..study.settings import Study
from ..tiers import Tier
from .job import OUTCOME, PROGRESS
from .kits import ANSWERS, ASKS, Kit, read_kit
from .paths import Place, outcome_of, place_for, tidy
from .status import announced

Say = Callable[[dict[str, Any]], object]
_POLL = 0.2
_STATUS = 2.0  # seconds between questions to the server
_START = 30.0  # seconds for a server to come up
_END = 15.0  # seconds for clients' processes to end after a job


@dataclass(frozen=True)
class How:
    """How a run is made."""

    deadline: float = 120.0  # seconds for an answer
    wait: float = 600.0  # most seconds until enough clients are there
    grace: float = 5.0  # seconds for the others, once enough are there
    attempts: int = 5  # jobs, when jobs fail


def run_federated(
    study: Study, kits: Path, folder: Path, how: How, say: Say, *, resume: bool, force: bool
) -> None:
    """Run the study and leave its folder; what goes wrong on the way is mended or said."""
    from ..channels.nvflare.process import is_free, running, server_command
    from ..channels.nvflare.provision import lock_server

    tier = resolve_tier(study, RemotePool.default_tier)  # refused before any client is asked
    for words in (*find_ignored_settings(study), *layout_of(study).notices(tier)):
        say({"say": words})
    quorum = _Quorum.of(study, tier)
    server, admin = read_kit(kits / "server", "server"), read_kit(kits / "admin", "admin")
    place = place_for(study, folder, resume=resume, force=force)
    if outcome_of(place).get("done"):  # the job went on while nobody was watching
        return tidy(place)
    lock_server(server.folder, ASKS)  # the kit may have been moved
    with contextlib.ExitStack() as stack:
        port = server.federation.port
        if is_free(port):
            say({"say": f"starting the server on port {port}"})
            stack.enter_context(running(server_command(server.folder), server.folder))
        else:
            say({"say": f"using the server that runs on port {port}"})
        session = stack.enter_context(_opened(admin, port))
        session.abort_study(study.path.stem)  # what an interrupted run may have left
        if outcome_of(place).get("done"):
            return tidy(place)
        stack.enter_context(announced(study, place, admin.folder))
        for attempt in range(how.attempts):
            clients = quorum.awaited(session, how, say)
            outcome = _attempt(study, place, session, clients, quorum.needed, how, say)
            if outcome.get("done"):
                break
            if not outcome.get("again") or attempt == how.attempts - 1:
                raise FedclustError(str(outcome.get("error")))
            say({"say": f"{outcome['error']}; submitting again"})
    tidy(place)


def _opened(admin: Kit, port: int) -> Any:
    from ..channels.nvflare.session import Session

    try:
        return Session(admin.folder, admin.name, seconds=_START)
    except FedclustError as problem:
        raise FedclustError(
            f"{problem}; if another program has port {port}, end it, or choose another port"
        ) from None


@dataclass(frozen=True)
class _Quorum:
    """Who must be there before a job is submitted."""

    needed: int
    words: str
    study: Study

    @classmethod
    def of(cls, study: Study, tier: Tier) -> "_Quorum":
        """What the study asks for, or its tier if that is more."""
        asked = study.sampling.min_clients
        hidden = tier.fewest_clients
        words = f"{max(asked, hidden)} needed"
        if hidden > asked:
            words += f": with tier = {tier.name!r} nobody can hide among fewer"
        return cls(max(asked, hidden), words, study)

    def awaited(self, session: Any, how: How, say: Say) -> list[str]:
        """The clients that are there, once enough are and the others had their chance."""
        end, enough_since, before = time.monotonic() + how.wait, None, None
        while True:
            there = layout_of(self.study).select_clients(session.clients())
            if there != before:
                say({"say": f"connected: {', '.join(there) or 'nobody yet'} ({self.words})"})
                before = there
            now = time.monotonic()
            if len(there) >= self.needed:
                enough_since = enough_since or now
                everybody = bool(self.study.clients) and set(self.study.clients) <= set(there)
                if everybody or now - enough_since >= how.grace:
                    return list(there)
            elif now > end:
                came = f"{len(there)} clients came within {how.wait:g} s, not the {self.words}"
                absent = layout_of(self.study).describe_absent(there)
                raise TooFewClients(f"{came} (there: {', '.join(there) or 'nobody'}){absent}")
            else:
                enough_since = None
            time.sleep(_POLL)


def _attempt(
    study: Study, place: Place, session: Any, clients: list[str], needed: int, how: How, say: Say
) -> dict[str, Any]:
    """One job, from submission to its outcome; files left by an earlier one are put aside."""
    from ..channels.nvflare.job import write_job

    (place.work / OUTCOME).unlink(missing_ok=True)
    job = place.work / "job"
    shutil.rmtree(job, ignore_errors=True)
    resume = place.unfinished.exists()
    write_job(
        job,
        study.path.stem,
        asks=(ASKS, _asked(study, place, how, resume)),
        answers=(ANSWERS, {"study": study.path.stem}),
        clients=clients,
        min_clients=needed,
    )
    progress = Tail(place.work / PROGRESS)
    id = session.submit(job)
    begun = resume and any((place.unfinished / "journal").glob("*.npz"))
    how_far = "the run goes on where it was" if begun else "the run begins"
    say({"say": f"submitted to {', '.join(clients)}: {how_far}"})
    try:
        return _watched(place, session, id, needed, progress, say)
    except BaseException:
        session.abort(id)
        raise


def _asked(study: Study, place: Place, how: How, resume: bool) -> dict[str, Any]:
    return {
        "study": str(study.path.absolute()),
        "folder": str(place.folder),
        "work": str(place.work),
        "run": place.run,
        "deadline": how.deadline,
        "force": place.force,
        "resume": resume,
    }


def _watched(
    place: Place, session: Any, id: str, needed: int, progress: "Tail", say: Say
) -> dict[str, Any]:
    asked = time.monotonic()
    while True:
        found = outcome_of(place)  # before the last lines are read: none comes after it
        for line in progress.new():
            say(line)
        if found:
            _ended(session, id, _END)
            return found
        if time.monotonic() - asked > _STATUS:
            asked = time.monotonic()
            if (status := _ended(session, id, 0.0)) and not outcome_of(place):
                return {"done": False, "again": True, "error": f"the job ended early ({status})"}
            if (left := _gone_before_it_began(session, id, needed)) is not None:
                session.abort(id)
                words = f"{left} clients are left and the job has not begun"
                return {"done": False, "again": True, "error": words}
        time.sleep(_POLL)


def _gone_before_it_began(session: Any, id: str, needed: int) -> int | None:
    """How many clients are left, if a job waits for more: it would wait for as long as they do."""
    if not str(session.status(id)).startswith("SUBMITTED"):
        return None
    left = len(session.clients())
    return left if left < needed else None


def _ended(session: Any, id: str, seconds: float) -> str:
    """The status of a job that has ended, or ends within so many seconds; else nothing."""
    end = time.monotonic() + seconds
    while True:
        status = str(session.status(id))
        if status.startswith("FINISHED"):
            return status
        if time.monotonic() >= end:
            return ""
        time.sleep(_POLL)


class Tail:
    """The lines that come to a file from now on."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._place = path.stat().st_size if path.exists() else 0

    def new(self) -> Iterator[dict[str, Any]]:
        """Lines that are whole and were not read yet."""
        if not self._path.exists():
            return
        with open(self._path, "rb") as file:
            file.seek(self._place)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self._place += len(line)
                yield dict(json.loads(line))
