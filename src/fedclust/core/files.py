"""Files that survive a crash: replaced completely or not at all, appended to and synced, locked."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO

from .errors import ConfigError, FedclustError

_POLL = 0.1  # seconds between two attempts to lock a file


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a scratch file that replaces `path` if the block writes it and raises no error."""
    target = Path(path)
    if not target.parent.is_dir():
        raise ConfigError(f"{target}: the folder {target.parent} does not exist")
    scratch = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        yield scratch
        if scratch.exists():
            os.replace(scratch, target)
    except OSError as problem:
        if scratch.name not in str(problem):
            raise
        reason = os.strerror(problem.errno) if problem.errno else "unknown reason"
        raise ConfigError(f"{target}: cannot be written ({reason})") from None
    finally:
        scratch.unlink(missing_ok=True)


def write_atomically(
    path: str | os.PathLike[str], write: Callable[[BinaryIO], object], *, mode: int = 0o666
) -> None:
    """Write a file so that a crash leaves either the old or the new content."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    with replacing(path) as scratch, open(os.open(scratch, flags, mode), "wb") as file:
        write(file)
        file.flush()
        os.fsync(file.fileno())


def write_text(path: str | os.PathLike[str], text: str, *, mode: int = 0o666) -> None:
    """Write a text file in the same way."""
    write_atomically(path, lambda file: file.write(text.encode()), mode=mode)


def append_line(path: str | os.PathLike[str], line: str, *, sync: bool = True) -> None:
    """Append a line; with `sync` it is on disk when this returns."""
    with open(path, "a", encoding="utf-8") as file:
        file.write(line + "\n")
        file.flush()
        if sync:
            os.fsync(file.fileno())


def lock(file: IO[Any], seconds: float | None = None) -> None:
    """Lock an open file against other processes; wait at most `seconds`, or without limit if None.

    Windows has no such locks: there this does nothing.
    """
    try:
        import fcntl
    except ImportError:  # pragma: no cover (Windows)
        return
    if seconds is None:
        fcntl.flock(file, fcntl.LOCK_EX)
        return
    end = time.monotonic() + seconds
    while True:
        try:
            return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end:
                raise FedclustError(
                    f"{file.name}: in use by another process; wait until it ends"
                ) from None
            time.sleep(_POLL)
