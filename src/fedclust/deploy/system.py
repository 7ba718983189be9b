"""On which operating systems a kit runs: Linux is tested, macOS is not, Windows cannot run one."""

import os
import sys

from ..core import ConfigError

NOT_TESTED = (
    "this system ({system}) is not tested; a kit is made for Linux. If this command is killed, its "
    "engine goes on: end the process that process.json in the kit names"
)


def check_system() -> str | None:
    """A notice about this system, or None; raise if a kit cannot run here."""
    if os.name != "posix":
        raise ConfigError(
            f"a kit runs on Linux, not on {sys.platform}, which lacks the file locks that protect "
            "the ledger; use a Linux machine, a container or WSL 2"
        )
    return None if sys.platform == "linux" else NOT_TESTED.format(system=sys.platform)
