"""The app that Flower loads on the server's side."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...channels.flower.server import GridTransport, server_app
from ...client.endpoint import RUN_ID_LENGTH
from ...core import ConfigError, FedclustError
from ...follow.words import announce_hash
from ...progress import ProgressLog
from ...study.conflicts import find_ignored_settings
from ...study.layouts import layout_of
from ...study.pool import RemotePool
from ...study.progress import StudyProgress
from ...study.read import read_study, resolve_tier
from ...study.settings import Study
from ..job import StudyJob
from ..paths import PROGRESS, RunPaths, clean_up, prepare_paths, read_outcome
from .folder import RunSettings, read_run_settings

_log = logging.getLogger(__name__)


def run_over(transport: GridTransport, config: Mapping[str, Any]) -> None:
    """Run the study that the configuration names, and write its folder on this machine."""
    settings = read_run_settings(config)
    study = read_study(settings.study, files=False)
    if layout_of(study).keeps_state:
        raise ConfigError(
            f'{study.path}: split = "{study.data.split}" needs clients that remember the '
            "shared records, but over Flower every message starts a new process; run it over "
            "NVFlare"
        )
    tier = resolve_tier(study, RemotePool.default_tier)  # raises before any client is contacted
    for text in find_ignored_settings(study):
        _log.warning("%s", text)
    _log.info("%s", announce_hash(study, tier))
    folder = Path(settings.out) if settings.out else study.path.with_name(f"{study.path.stem}-run")
    paths = prepare_paths(study, folder, resume=settings.resume, force=settings.force)
    log = ProgressLog(paths.work / PROGRESS)
    progress = StudyProgress(log, study, tier, run=paths.run[:RUN_ID_LENGTH])
    progress.begin()
    with progress.ending():
        _run_job(transport, settings, study, paths)
    clean_up(paths)


def _run_job(
    transport: GridTransport, settings: RunSettings, study: Study, paths: RunPaths
) -> None:
    """Wait for clients, and run the study over them; raise if it does not complete."""
    needed = max(settings.min_clients, study.sampling.min_clients)
    ready = transport.wait(needed, settings.wait, settings.grace)
    StudyJob(
        study=str(study.path),
        folder=str(paths.folder),
        work=str(paths.work),
        run=paths.run,
        deadline=settings.deadline,
        wait=settings.wait,
        force=paths.force,
        resume=paths.unfinished.exists(),
    ).run(transport, ready)
    outcome = read_outcome(paths)
    if not outcome["done"]:
        resumable = outcome["again"] or outcome.get("undecided")
        hint = "; continue with --run-config 'resume=true'" if resumable else ""
        raise FedclustError(f"{outcome['error']}{hint}")


app = server_app(run_over)
