"""Files that are written whole or not at all."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, BinaryIO

from .errors import ConfigError


def write_atomically(
    path: str | os.PathLike[str], write: Callable[[BinaryIO], object], *, mode: int = 0o666
) -> None:
    """Write a file so that, whenever the process dies, the old or the new content is there."""
    target = Path(path)
    scratch = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    if not target.parent.is_dir():
        raise ConfigError(f"{target}: there is no folder {target.parent}")
    try:
        with open(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(scratch, target)
    finally:
        scratch.unlink(missing_ok=True)


def write_text(path: str | os.PathLike[str], text: str, *, mode: int = 0o666) -> None:
    """Write a text file in the same way."""
    write_atomically(path, lambda file: file.write(text.encode()), mode=mode)


def lock(file: IO[Any]) -> None:
    """Two processes do one after the other what is done while the file is open, if they can."""
    try:
        import fcntl
    except ImportError:  # pragma: no cover (Windows)
        return
    fcntl.flock(file, fcntl.LOCK_EX)
