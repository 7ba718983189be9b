"""Paths of a run across machines, and the files through which the command and the job talk.

The command (`fedclust server`) submits a job. The job runs in another process, and reports to the
command through files in the work folder, a hidden folder beside the run's folder.
"""

import json
import secrets
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..core import ConfigError
from ..core.files import write_text
from ..progress import PROGRESS as PROGRESS
from ..progress import federation_folder, unfinished_folder
from ..study.run_directory import (
    RunDirectory,
    announce_unfinished,
    explain_nothing_to_resume,
)
from ..study.settings import Study

# In the work folder:
RUN_ID = "run"  # written by the command: the id in every message of the run
JOB = "job"  # written by the command: the folder that is submitted
LOCK = "lock"  # held by the job: only one job of a run at a time
# PROGRESS: written by the job and the command: one line for each thing that happens
INCIDENTS = "incidents.jsonl"  # written by the job: only the incidents
OUTCOME = "outcome.json"  # written by the job at its end
TRANSCRIPT = "transcript"  # written by the job: the replies of every step of a followed study
# In the coordinator's kit:
RUNNING = "running.json"  # written by the command: the study that is running, for `fedclust status`


@dataclass(frozen=True)
class RunPaths:
    """The folders of a run, and its id."""

    folder: Path
    unfinished: Path  # the study keeps its journal here
    work: Path  # removed when the run is complete
    run: str  # the run's id
    force: bool


def prepare_paths(study: Study, folder: Path, *, resume: bool, force: bool) -> RunPaths:
    """Create or reuse the folders of a run; raise if that would replace an earlier run."""
    folder = folder.absolute()
    work = federation_folder(folder)
    unfinished = unfinished_folder(folder)
    if resume and not work.exists():
        raise ConfigError(explain_nothing_to_resume(folder))
    RunDirectory(replace(study, clients={}), folder, force=force or resume, resume=False)
    if not resume:
        if unfinished.exists() and not force:  # also before the first save: clients were queried
            raise ConfigError(announce_unfinished(folder))
        for old in (work, unfinished):
            shutil.rmtree(old, ignore_errors=True)
    work.mkdir(parents=True, exist_ok=True, mode=0o700)
    run_id = work / RUN_ID
    if not run_id.exists():
        write_text(run_id, secrets.token_hex(8))
    return RunPaths(folder, unfinished, work, run_id.read_text(encoding="utf-8"), force or resume)


def read_outcome(paths: RunPaths) -> dict[str, Any]:
    """The outcome that the job wrote; empty while the job runs."""
    file = paths.work / OUTCOME
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.exists() else {}


def clean_up(paths: RunPaths) -> None:
    """Copy the incidents into the run's folder, and remove the work folder."""
    if (paths.work / INCIDENTS).exists():
        shutil.copy(paths.work / INCIDENTS, paths.folder / INCIDENTS)
    shutil.rmtree(paths.work)
