"""Small disks that can be filled, and clocks that can be wrong."""

import contextlib
import errno
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

_SIZE = "32m"
_FILLER = "filler"
_SOURCE = Path(__file__).with_name("clock.c")


class Disk:
    """A file system of its own below a folder, which keeps the content of the folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        kept = folder.with_name(f"{folder.name}.kept")
        folder.rename(kept)
        folder.mkdir()
        words = ["mount", "-t", "tmpfs", "-o", f"size={_SIZE}", "tmpfs", str(folder)]
        subprocess.run(words, check=True, capture_output=True)
        shutil.copytree(kept, folder, dirs_exist_ok=True)

    def fill(self) -> None:
        """Leave no free block."""
        with open(self.folder / _FILLER, "ab", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(4096))

    def free(self) -> None:
        """Give the space back."""
        (self.folder / _FILLER).unlink(missing_ok=True)

    def close(self) -> None:
        """Remove the file system and what it has."""
        subprocess.run(["umount", "--lazy", str(self.folder)], check=False, capture_output=True)


def can_mount(folder: Path) -> bool:
    """Whether this user may mount a file system."""
    if os.geteuid() != 0:
        return False
    probe = folder / "probe"
    probe.mkdir()
    try:
        disk = Disk(probe)
    except (OSError, subprocess.CalledProcessError):
        return False
    disk.fill()
    try:
        (probe / "more").write_bytes(bytes(8192))
    except OSError as problem:
        return problem.errno == errno.ENOSPC
    finally:
        disk.close()
    return False


def can_turn_clocks() -> bool:
    """Whether the library for wrong clocks can be built here."""
    return sys.platform == "linux" and shutil.which("cc") is not None


class Clock:
    """The time that a process and its children see."""

    def __init__(self, folder: Path, name: str) -> None:
        self._library, self._file = folder / "clock.so", folder / f"{name}.clock"
        if not self._library.exists():
            words = ["cc", "-shared", "-fPIC", "-O2", "-o", str(self._library), str(_SOURCE)]
            subprocess.run([*words, "-ldl"], check=True, capture_output=True)
        self._file.write_bytes(struct.pack("l", 0))

    def set(self, seconds: int) -> None:
        """Let it be wrong by so much, from now on."""
        with open(self._file, "r+b") as file:  # processes have it in memory: it is not replaced
            file.write(struct.pack("l", seconds))

    def environment(self) -> dict[str, str]:
        """For the processes that see it."""
        return {"LD_PRELOAD": str(self._library), "TEST_CLOCK": str(self._file)}
