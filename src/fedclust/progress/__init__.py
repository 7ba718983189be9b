"""What a run does, line by line, while it runs: written by the run, read by those who watch it.

Nothing here imports NumPy: a process that only watches stays small.
"""

from .folders import PROGRESS, federation_folder, unfinished_folder
from .log import ProgressLog, is_for_console
from .state import ClientLine, RunState, Standing

__all__ = [
    "ClientLine",
    "PROGRESS",
    "ProgressLog",
    "RunState",
    "Standing",
    "federation_folder",
    "is_for_console",
    "unfinished_folder",
]
