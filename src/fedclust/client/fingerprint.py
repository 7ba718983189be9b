"""Whether a client's data are still those with which a run began.

A hash of what the client reads is kept beside its ledger, one line for each run. It is compared
before and after every answer, in every process. It covers the contents of the files and how they
are read. Contents are hashed again only if a file has another size, time stamp or place on disk
than before. Files of any size thus cost one pass.
"""

import hashlib
import json
import logging
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from ..core import Code, ConfigError, Refusal
from ..core.files import append_line
from .config import ClientConfig

_log = logging.getLogger(__name__)


class Fingerprint(NamedTuple):
    """What a client reads."""

    contents: str  # a hash of the contents of all files
    reading: str  # a hash of the settings by which they are read
    state: list[list[int]]  # of each file: its size, times, and place on disk


class Fingerprints:
    """Hashes of the data of all runs; they do not leave the client."""

    def __init__(self, config: ClientConfig) -> None:
        self._config = config
        self._path = config.place(config.output.ledger).with_suffix(".data.jsonl")
        how = repr((config.data, sorted(config.bounds.items())))
        self._reading = hashlib.sha256(how.encode("utf-8", "surrogatepass")).hexdigest()
        self._known: dict[str, Fingerprint] = {}

    def check(self, run: str) -> None:
        """Refuse if the data are not those of earlier answers in this run."""
        try:
            files = [file for path in self._config.files() for file in _files_in(path)]
            state = [_state(file) for file in files]
            known = self._known.get(run) or self._find(run)
            same = known is not None and known.state == state
            hash = known.contents if known and same else hash_files(files)
        except (OSError, ConfigError):  # the session says why they cannot be read
            return
        found = Fingerprint(hash, self._reading, state)
        if known is None:
            self._warn_of_changes(found)
            self._record(run, found)
        elif (known.contents, known.reading) != (hash, self._reading):
            raise Refusal(
                "its data changed since the study began; restore them and continue with --resume, "
                "or start again with --force",
                code=Code.CHANGED,
                private=f"{', '.join(map(str, files))}, or [data] or [bounds] of "
                f"{self._config.path}; {self._path} has a hash of what was read",
            )
        self._known[run] = found

    def _find(self, run: str) -> Fingerprint | None:
        """The first line of a run."""
        return next((found for id, found in self._lines() if id == run), None)

    def _lines(self) -> Iterator[tuple[str, Fingerprint]]:
        if not self._path.exists():
            return
        for line in self._path.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            yield (
                entry["run"],
                Fingerprint(entry["contents"], entry["reading"], entry["state"]),
            )

    def _warn_of_changes(self, found: Fingerprint) -> None:
        """Say in the log that totals of this run and of the last one differ by a change."""
        last = next((before for _, before in reversed([*self._lines()])), None)
        if last is not None and (last.contents, last.reading) != (found.contents, found.reading):
            _log.warning(
                "the data have changed since the last study; without noise (dp, secure+dp) the "
                "server can learn what changed, if its totals of both studies are otherwise the "
                "same. Few changed rows are easier to learn than many"
            )

    def _record(self, run: str, found: Fingerprint) -> None:
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self._path.parent.mkdir(parents=True, exist_ok=True)
        line = {"time": now, "run": run, **found._asdict()}
        append_line(self._path, json.dumps(line))


def hash_files(paths: Iterable[Path]) -> str:
    """A hash of the contents of files, which need not fit into memory."""
    found = hashlib.sha256()
    for path in paths:
        with open(path, "rb", buffering=0) as file:
            found.update(hashlib.file_digest(file, "sha256").digest())
    return found.hexdigest()


def _files_in(path: Path) -> Iterator[Path]:
    """A file, or the files of a folder."""
    if path.is_dir():
        yield from sorted(file for file in path.rglob("*") if file.is_file())
    else:
        yield path


def _state(path: Path) -> list[int]:
    found = path.stat()
    return [found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino]
