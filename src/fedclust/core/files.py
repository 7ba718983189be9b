"""Files that survive a crash: replaced completely or not at all, appended to and synced, locked."""

import errno
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import IO, Any, BinaryIO

from .errors import ConfigError, FedclustError, WriteError

_POLL = 0.1  # seconds between two attempts to lock a file
_FULL = (errno.ENOSPC, errno.EDQUOT)  # errors while writing, which name no file


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a scratch file that replaces `path` if the block writes it and raises no error.

    If it cannot be written, the error names `path` and not the scratch file.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise ConfigError(f"{target}: the folder {target.parent} does not exist")
    scratch = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        yield scratch
        if scratch.exists():
            os.replace(scratch, target)
    except OSError as problem:
        if problem.errno not in _FULL and str(scratch) not in f"{problem.filename} {problem}":
            raise  # about another file, such as one that the block reads
        text = f"{target} cannot be written ({explain(problem)})"
        raise WriteError(problem.errno, text) from None
    finally:
        scratch.unlink(missing_ok=True)


def make_folder(path: Path) -> None:
    """Make a folder and those above it, unless they exist."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        text = f"the folder {path} cannot be made ({explain(problem)})"
        raise WriteError(problem.errno, text) from None


def explain(problem: OSError) -> str:
    """The reason of a failure, without the paths that libraries put into theirs."""
    return str(problem) if problem.errno is None else os.strerror(problem.errno)


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


def is_full(problem: BaseException) -> bool:
    """Whether an error says that a disk is full."""
    return isinstance(problem, OSError) and problem.errno in _FULL


def append_line(path: str | os.PathLike[str], line: str, *, sync: bool = True) -> None:
    """Append a line, or none of it; with `sync` it is on disk when this returns."""
    append(path, [(line + "\n").encode()], sync=sync)


def append(path: str | os.PathLike[str], parts: Iterable[bytes | memoryview], *, sync: bool) -> int:
    """Append bytes, or none of them, and return where they begin; `sync` as for a line."""
    with open(path, "ab", buffering=0) as file:
        start = file.tell()
        append_to(file, parts, sync=sync)
    return start


def append_to(file: FileIO, parts: Iterable[bytes | memoryview], *, sync: bool) -> None:
    """The same for a file that is open, without a buffer and for appending."""
    start = os.fstat(file.fileno()).st_size
    try:
        for part in parts:
            rest = memoryview(part)
            while rest:
                rest = rest[file.write(rest) :]
        if sync:
            os.fsync(file.fileno())
    except OSError:
        file.truncate(start)
        raise


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
