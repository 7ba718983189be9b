"""Where a run over a network is: its folder, and beside it what is needed until it is over."""

import json
import secrets
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..core import ConfigError
from ..core.files import write_text
from ..study.run_directory import RunDirectory
from ..study.settings import Study
from .job import INCIDENTS, OUTCOME


@dataclass(frozen=True)
class Place:
    """Where a run is: its folder, and beside it what is needed until it is over."""

    folder: Path
    unfinished: Path  # the study's own journal is there
    work: Path  # progress, incidents, outcome
    run: str  # marks the run's messages
    force: bool


def place_for(study: Study, folder: Path, *, resume: bool, force: bool) -> Place:
    """The place of a run that begins or goes on; what must not be replaced is refused."""
    folder = folder.absolute()
    work = folder.with_name(f".{folder.name}.federation")
    unfinished = folder.with_name(f".{folder.name}.unfinished")
    if resume and not work.exists():
        raise ConfigError(f"there is nothing to resume: no unfinished run of {folder}")
    RunDirectory(replace(study, clients={}), folder, force=force or resume, resume=False)
    if not resume:
        if unfinished.exists() and not force:
            raise ConfigError(
                f"there is an unfinished run of {folder}; --resume continues it, --force starts "
                "anew"
            )
        for old in (work, unfinished):
            shutil.rmtree(old, ignore_errors=True)
    work.mkdir(parents=True, exist_ok=True, mode=0o700)
    mark = work / "run"
    if not mark.exists():
        write_text(mark, secrets.token_hex(8))
    return Place(folder, unfinished, work, mark.read_text(encoding="utf-8"), force or resume)


def outcome_of(place: Place) -> dict[str, Any]:
    """What the job said at its end; nothing before."""
    path = place.work / OUTCOME
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


def tidy(place: Place) -> None:
    """The record of incidents joins the results; the journal held messages, and goes."""
    if (place.work / INCIDENTS).exists():
        shutil.copy(place.work / INCIDENTS, place.folder / INCIDENTS)
    shutil.rmtree(place.work)
