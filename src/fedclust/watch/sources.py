"""What a path names: a run, the study that a coordinator runs, or a client."""

import contextlib
import json
from pathlib import Path
from typing import Protocol

from ..core.errors import ConfigError
from ..progress import federation_folder, unfinished_folder
from .run import RunWatch
from .view import Headline, Tone, View

_CLIENT, _RUNNING = "client.toml", "running.json"


class Source(Protocol):
    """What can be watched."""

    def look(self) -> View:
        """What is known now."""


class KitsWatch:
    """The study that runs from a coordinator's kits, whichever it is."""

    def __init__(self, kits: Path) -> None:
        self._running = kits / "admin" / _RUNNING
        self._folder: Path | None = None
        self._watch: RunWatch | None = None

    def look(self) -> View:
        """The study that runs, or the one that ran last since this began."""
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            work = Path(json.loads(self._running.read_text(encoding="utf-8"))["work"])
            name = work.name.removeprefix(".").removesuffix(".federation")
            if (folder := work.with_name(name)) != self._folder:
                self._folder, self._watch = folder, RunWatch(folder)
        if self._watch is not None:
            return self._watch.look()
        headline = Headline("No study is running. This page shows the next one.", Tone.WAITING)
        return View(kind="run", title="Federation", over="Coordinator", headline=headline)


def open_source(path: Path) -> Source:
    """What a path names; the error says what it can be."""
    if (path / _CLIENT).is_file():
        from .client import ClientWatch

        return ClientWatch(path)
    if (path / "admin").is_dir():
        return KitsWatch(path)
    if path.suffix == ".toml" and path.is_file():
        return RunWatch(path.with_name(f"{path.stem}-run"))
    places = (path / "model.json", federation_folder(path), unfinished_folder(path))
    if any(place.exists() for place in places):
        return RunWatch(path)
    raise ConfigError(
        f"{path}: there is nothing to watch; give a study file, the folder of a run, the folder of "
        "a coordinator's kits, or a client's kit"
    )
