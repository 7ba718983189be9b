"""Run a study over a federation: start the server, wait for clients, submit a job, watch it."""

import contextlib
import shutil
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from ..client.endpoint import RUN_ID_LENGTH
from ..clustering.model import read_model
from ..core import FedclustError
from ..follow.words import announce_hash
from ..progress import ProgressLog, is_for_console
from ..study.conflicts import find_ignored_settings
from ..study.layouts import layout_of
from ..study.pool import RemotePool
from ..study.progress import StudyProgress
from ..study.read import resolve_tier
from ..study.settings import Study
from ..tiers import Tier
from .conditions import Conditions, OnMessage, Watch
from .kits import CLIENT_COMPONENT, SERVER_COMPONENT, Kit, known_clients, read_kit
from .paths import (
    JOB,
    OUTCOME,
    PROGRESS,
    TRANSCRIPT,
    RunPaths,
    clean_up,
    prepare_paths,
    read_outcome,
)
from .queue import take_turn
from .quorum import Quorum, RunOptions
from .status import announce_study
from .system import check_system
from .tail import Tail

_POLL_INTERVAL = 0.2
_STATUS_INTERVAL = 2.0  # seconds between status requests to the server
_SERVER_START_TIMEOUT = 30.0
_QUIET = 30.0  # seconds without a line after which a wait is explained
_JOB_END_TIMEOUT = 15.0  # seconds for clients' job processes to end after a job


def run_federated(
    study: Study,
    kits: Path,
    folder: Path,
    options: RunOptions,
    on_message: OnMessage,
    *,
    resume: bool,
    force: bool,
) -> None:
    """Run the study and write its folder; a job that fails for a passing reason is resubmitted."""
    tier = resolve_tier(study, RemotePool.default_tier)  # raises before any client is contacted
    if notice := check_system():
        on_message({"message": notice})
    for text in (*find_ignored_settings(study), *layout_of(study).notices(tier)):
        on_message({"message": text})
    server, admin = read_kit(kits / "server", "server"), read_kit(kits / "admin", "admin")
    with _turn(study, folder, (server, admin), on_message):
        paths = prepare_paths(study, folder, resume=resume, force=force)
        if not read_outcome(paths).get("done"):  # a job can finish after an interrupted command
            progress = _open_progress(study, tier, paths, known_clients(kits))
            with progress.ending():
                _serve(study, paths, (server, admin), options, on_message)
        _finish(paths, on_message)


@contextlib.contextmanager
def _turn(study: Study, folder: Path, kits: tuple[Kit, Kit], say: OnMessage) -> Iterator[None]:
    """Wait for the turn of this study; a server that a killed command has left ends with it."""
    from ..channels.nvflare.process import adopting

    server, admin = (kit.folder for kit in kits)
    turn = take_turn(admin, study.path.stem, folder, lambda text: say({"message": text}))
    with turn, adopting(server):
        yield


def _open_progress(
    study: Study, tier: Tier, paths: RunPaths, known: Collection[str]
) -> StudyProgress:
    """The log for those who watch; the job continues it."""
    clients = tuple(study.clients) or tuple(sorted(known))
    log = ProgressLog(paths.work / PROGRESS)
    progress = StudyProgress(log, study, tier, clients=clients, run=paths.run[:RUN_ID_LENGTH])
    progress.begin()
    return progress


def _serve(
    study: Study, paths: RunPaths, kits: tuple[Kit, Kit], options: RunOptions, on_message: OnMessage
) -> None:
    """Start the server, or use the one that runs, and run jobs until the study is complete."""
    from ..channels.nvflare.logs import tidy
    from ..channels.nvflare.process import is_free, running, server_command
    from ..channels.nvflare.provision import lock_server

    server, admin = kits
    tier = resolve_tier(study, RemotePool.default_tier)
    lock_server(server.folder, SERVER_COMPONENT)  # the kit may have been moved
    with contextlib.ExitStack() as stack:
        port = server.federation.port
        if is_free(port):
            on_message({"message": f"starting the server on port {port}"})
            tidy(server.folder)
            stack.enter_context(running(server_command(server.folder), server.folder))
        else:
            on_message({"message": f"using the server that is running on port {port}"})
        session = stack.enter_context(_open_session(admin, port))
        session.abort_study(study.path.stem)  # an interrupted run may have left a job
        if read_outcome(paths).get("done"):
            return
        on_message({"message": announce_hash(study, tier)})
        stack.enter_context(announce_study(study, paths, admin.folder))
        watch = Watch(
            Conditions(server.folder),
            (paths.work, server.folder),
            min(options.deadline, _QUIET),
            on_message,
        )
        quorum = Quorum.of(study, tier, known_clients(admin.folder.parent))
        _run_jobs(study, paths, session, quorum, options, watch)


def _finish(paths: RunPaths, on_message: OnMessage) -> None:
    """Clean up, and say how the tier has changed what was computed."""
    clean_up(paths)
    about = read_model(paths.folder / "model.json").about
    if about is not None and about.privacy.effect:
        on_message({"message": about.privacy.effect})


def _open_session(admin: Kit, port: int) -> Any:
    from ..channels.nvflare.process import wait_until_served
    from ..channels.nvflare.session import Session

    wait_until_served(port, _SERVER_START_TIMEOUT)  # an attempt that fails costs a second
    try:
        return Session(admin.folder, admin.name, seconds=_SERVER_START_TIMEOUT)
    except FedclustError as error:
        raise FedclustError(
            f"{error}; if another program uses port {port}, end it or choose another port"
        ) from None


def _run_jobs(
    study: Study,
    paths: RunPaths,
    session: Any,
    quorum: Quorum,
    options: RunOptions,
    watch: Watch,
) -> None:
    """Submit jobs until one completes the study, or fails for good."""
    indispensable: frozenset[str] = frozenset()
    for attempt in range(options.attempts):
        watch.check_space()
        clients = quorum.wait(session, options, watch, indispensable)
        ProgressLog(paths.work / PROGRESS).write(connected=clients)
        try:
            outcome = _run_job(study, paths, session, clients, quorum.needed, options, watch)
        except (FedclustError, OSError):
            watch.check_space()
            raise
        if outcome.get("done"):
            return
        watch.check_space()
        if outcome.get("undecided"):
            raise FedclustError(f"{outcome['error']}; then run the same command with --resume")
        if not outcome.get("again") or attempt == options.attempts - 1:
            raise FedclustError(str(outcome.get("error")))
        watch.say({"message": f"{outcome['error']}; submitting the job again"})
        indispensable = frozenset(outcome.get("indispensable", ()))


def _run_job(
    study: Study,
    paths: RunPaths,
    session: Any,
    clients: list[str],
    needed: int,
    options: RunOptions,
    watch: Watch,
) -> dict[str, Any]:
    """Submit one job and wait for its outcome."""
    from ..channels.nvflare.job import write_job

    (paths.work / OUTCOME).unlink(missing_ok=True)
    job = paths.work / JOB
    shutil.rmtree(job, ignore_errors=True)
    resume = paths.unfinished.exists()
    write_job(
        job,
        study.path.stem,
        server=(SERVER_COMPONENT, _server_arguments(study, paths, options, resume)),
        client=(CLIENT_COMPONENT, {"study": study.path.stem}),
        clients=clients,
        min_clients=needed,
    )
    progress = Tail(paths.work / PROGRESS)
    job_id = session.submit(job)
    text = f"submitted to {', '.join(clients)}: {_describe_start(paths, resume)}"
    watch.say({"message": text, "submitted": clients})
    try:
        return _watch_job(paths, session, job_id, needed, progress, watch)
    except BaseException:
        session.abort(job_id)
        raise


def _describe_start(paths: RunPaths, resume: bool) -> str:
    if not resume:
        return "the run starts"
    if any((paths.unfinished / "journal").glob("*.npz")):
        return "the run continues from its last saved round"
    if any((paths.work / TRANSCRIPT).glob("*.bin")):
        return "the run continues; rounds that clients have answered are only shown again"
    return "the run starts"


def _server_arguments(
    study: Study, paths: RunPaths, options: RunOptions, resume: bool
) -> dict[str, Any]:
    """Arguments of `StudyJob`."""
    return {
        "study": str(study.path.absolute()),
        "folder": str(paths.folder),
        "work": str(paths.work),
        "run": paths.run,
        "deadline": options.deadline,
        "wait": options.wait,
        "force": paths.force,
        "resume": resume,
    }


def _watch_job(
    paths: RunPaths,
    session: Any,
    job_id: str,
    needed: int,
    progress: Tail,
    watch: Watch,
) -> dict[str, Any]:
    """Report progress until the job has an outcome, or has ended without one."""
    checked, connected = time.monotonic(), None
    while True:
        outcome = read_outcome(paths)  # read first: no progress is written after it
        for line in filter(is_for_console, progress.read_new()):
            watch.say(line)
        if outcome:
            _wait_for_end(session, job_id, _JOB_END_TIMEOUT)
            return outcome
        if time.monotonic() - checked > _STATUS_INTERVAL:
            checked = time.monotonic()
            if (status := _wait_for_end(session, job_id, 0.0)) and not read_outcome(paths):
                text = _explain_early_end(session, job_id, status)
                return {"done": False, "again": True, "error": text}
            if (left := _count_clients_if_waiting(session, job_id, needed)) is not None:
                session.abort(job_id)
                text = f"only {left} clients are still connected and the job has not started"
                return {"done": False, "again": True, "error": text}
            connected = _note_connected(paths, session, connected)
            watch.look(lambda: _describe_wait(session, job_id))
        time.sleep(_POLL_INTERVAL)


def _explain_early_end(session: Any, job_id: str, status: str) -> str:
    failed = session.failed_sites(job_id)
    where = f"; it could not be started at {', '.join(failed)}" if failed else ""
    return f"the job ended early ({status}){where}"


def _describe_wait(session: Any, job_id: str) -> str:
    """What a job is doing that shows no rounds, and which clients were not heard of."""
    seen = [f"{name} {seconds:.0f} s ago" for name, seconds in sorted(session.last_seen().items())]
    state = str(session.status(job_id)).lower() or "unknown"
    return f"waiting; state of the job: {state}; last heard of: {', '.join(seen) or 'no client'}"


def _note_connected(paths: RunPaths, session: Any, before: list[str] | None) -> list[str]:
    """Write which clients are connected, if that has changed, for those who watch."""
    now = list(session.clients())
    if now != before:
        ProgressLog(paths.work / PROGRESS).write(connected=now)
    return now


def _count_clients_if_waiting(session: Any, job_id: str, needed: int) -> int | None:
    """Number of connected clients if the job waits for more; None if it can start or has started.

    NVFlare would keep such a job waiting for as long as clients are missing.
    """
    if not str(session.status(job_id)).startswith("SUBMITTED"):
        return None
    connected = len(session.clients())
    return connected if connected < needed else None


def _wait_for_end(session: Any, job_id: str, seconds: float) -> str:
    """The final status of a job that ends within this time; an empty string if it does not."""
    end = time.monotonic() + seconds
    while True:
        status = str(session.status(job_id))
        if status.startswith("FINISHED"):
            return status
        if time.monotonic() >= end:
            return ""
        time.sleep(_POLL_INTERVAL)
