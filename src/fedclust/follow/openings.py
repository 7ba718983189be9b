"""What a client begins to follow: the text of a study and its clients, fixed for a whole run.

They are one file in the folder of the run. It is written once all rules of client.toml are kept,
and read again by every process of this client. Nothing of a study that is refused is kept.
"""

import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from .. import __version__
from ..core import Code, Refusal
from ..core.files import make_folder, write_text
from ..study.settings import Study
from .approval import open_study, study_hash
from .memory import is_ended

_FILE = "opening.json"
MOST_RUNS = 200  # whose folders a client keeps; finished ones make room


@dataclass(frozen=True)
class Opening:
    """The study of a run and its clients."""

    study: str
    hash: str
    members: tuple[str, ...]
    text: str

    def read(self) -> Study:
        """The study; a refusal if its hash, in which the version of fedclust is, is another."""
        with TemporaryDirectory() as scratch:
            study = open_study(Path(scratch), self.study, self.text)
        if study_hash(study) != self.hash:
            raise Refusal(
                "the hash of the study is not that of its settings under fedclust "
                f"{__version__}, which this client runs",
                code=Code.STUDY,
            )
        return study

    def is_like(self, other: "Opening") -> bool:
        """Whether both have the same steps and clients; comments in the text may differ."""
        return (self.study, self.hash, self.members) == (other.study, other.hash, other.members)

    def write(self, folder: Path) -> None:
        """Fix it for the run whose folder this is."""
        if not folder.exists():
            _make_room(folder.parent)
            make_folder(folder)
        write_text(folder / _FILE, json.dumps(asdict(self)))


def read_opening(folder: Path) -> Opening | None:
    """The opening of a run; None if this client does not follow it."""
    file = folder / _FILE
    if not file.exists():
        return None
    found = json.loads(file.read_text(encoding="utf-8"))
    return Opening(**{**found, "members": tuple(found["members"])})


def _make_room(shelf: Path) -> None:
    """Remove the oldest finished run, or refuse, if there are too many: a server may open any."""
    runs = sorted(shelf.glob("*/"), key=lambda run: run.stat().st_mtime)
    if len(runs) < MOST_RUNS:
        return
    finished = next((run for run in runs if is_ended(run)), None)
    if finished is None:
        raise Refusal(
            f"this client follows {len(runs)} runs that have not ended; its owner has to remove "
            "some",
            code=Code.LIMIT,
            private=f"folders in {shelf}",
        )
    shutil.rmtree(finished)
