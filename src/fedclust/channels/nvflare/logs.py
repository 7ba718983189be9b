"""Bounds what the engine writes into a kit: its console, its audit log and the folders of jobs."""

import contextlib
import os
import shutil
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from .causes import CONSOLE

LOG_BYTES, LOG_FILES = 5_000_000, 5  # a log of the engine, and its older files
JOB_FOLDERS = 20  # of the latest jobs, with their logs
_AUDIT = "audit.log"
_INTERVAL = 60.0  # seconds between two looks


class Tidying:
    """Keeps a kit tidy while it runs: call it often, and it looks once a minute."""

    def __init__(self, kit: Path, meanwhile: Callable[[], object] = lambda: None) -> None:
        self._kit, self._meanwhile, self._next = kit, meanwhile, 0.0

    def __call__(self) -> None:
        """Do what else is due, and tidy if it is time; never fails because the disk is full."""
        self._meanwhile()
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _INTERVAL
            with contextlib.suppress(OSError):
                tidy(self._kit)


def tidy(kit: Path, limit: int = LOG_BYTES, keep: int = LOG_FILES, jobs: int = JOB_FOLDERS) -> None:
    """Move the content of logs that are too long to older files, and remove old folders of jobs."""
    for name in (CONSOLE, _AUDIT):
        roll(kit / name, limit, keep)
    folders = [folder for folder in kit.iterdir() if _is_job(folder)]
    folders.sort(key=lambda folder: folder.stat().st_mtime, reverse=True)
    for folder in folders[jobs:]:
        shutil.rmtree(folder, ignore_errors=True)


def roll(path: Path, limit: int, keep: int) -> None:
    """Copy a long log to `.1`, older ones to `.2` and so on, and empty it.

    The process that writes it has it open, for appending, so it is not renamed.
    """
    if not path.exists() or path.stat().st_size <= limit:
        return
    for number in range(keep - 1, 0, -1):
        with contextlib.suppress(FileNotFoundError):
            os.replace(f"{path}.{number}", f"{path}.{number + 1}")
    shutil.copy2(path, f"{path}.1")
    os.truncate(path, 0)


def _is_job(folder: Path) -> bool:
    """Whether a folder has the name of a job, and what a job has."""
    try:
        uuid.UUID(folder.name)
    except ValueError:
        return False
    return folder.is_dir() and any(folder.glob("app_*"))
