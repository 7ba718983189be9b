"""How a running federation stands: as its server tells the coordinator, and as a study writes."""

import contextlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from ..core import ConfigError, FedclustError
from ..core.files import write_text
from ..study.settings import Study, make_algorithm
from .job import PROGRESS
from .kits import read_kit
from .paths import Place

_RUNNING = "running.json"  # in the coordinator's kit: which study is running, and where it writes
_RECENT = 20  # rounds that tell how long one takes


def federation_status(kits: Path) -> dict[str, Any]:
    """Connected clients, the server's jobs, and how far the study is that runs from here."""
    from ..channels.nvflare.session import NoServer, Session

    admin = read_kit(kits / "admin", "admin")
    try:
        with Session(admin.folder, admin.name, seconds=1.0) as session:
            running = progress_of(admin.folder)
            return {"clients": session.last_seen(), "jobs": session.jobs(), "running": running}
    except NoServer:
        where = f"{admin.federation.server}, port {admin.federation.port}"
        raise FedclustError(
            f"no server answers at {where}: it runs while 'fedclust server' runs a study, and "
            f"'fedclust doctor {kits / 'server'}' looks at its kit"
        ) from None


@contextlib.contextmanager
def announced(study: Study, place: Place, admin: Path) -> Iterator[None]:
    """Let `fedclust status` know of a study for as long as it runs."""
    file = admin / _RUNNING
    about = {"study": study.path.stem, "work": str(place.work), "most": _most_rounds(study)}
    write_text(file, json.dumps(about))
    try:
        yield
    finally:
        file.unlink(missing_ok=True)


def _most_rounds(study: Study) -> int | None:
    """Rounds after which the clustering ends at the latest, if that is known."""
    with contextlib.suppress(ConfigError):
        found = vars(make_algorithm(study.clustering, study.n_clusters[1])).get("max_rounds")
        return None if found is None else int(found)
    return None


def progress_of(admin: Path) -> dict[str, Any] | None:
    """Phase and round of the study that runs, and the seconds it takes at most; None: none runs."""
    with contextlib.suppress(OSError, ValueError, KeyError):
        about = json.loads((admin / _RUNNING).read_text(encoding="utf-8"))
        file = Path(about["work"]) / PROGRESS
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        lines = [json.loads(line) for line in text.splitlines() if line.endswith("}")]
        rounds = [line for line in lines if "phase" in line]
        if not rounds:
            return {"study": about["study"], "phase": "starting"}
        last = rounds[-1]
        found = {name: last[name] for name in ("phase", "plan", "round", "answers")}
        found |= {"study": about["study"], "since": _seconds_since(last["when"])}
        if last["phase"] == "clustering" and about["most"] is not None:
            pace = _pace([line for line in rounds if line["plan"] == last["plan"]])
            left = about["most"] - last["round"] - 1
            found |= {"most": about["most"], "left": None if pace is None else pace * left}
        return found
    return None


def _pace(lines: list[dict[str, Any]]) -> float | None:
    """Seconds that a round takes, by the latest ones."""
    when = [datetime.fromisoformat(line["when"]) for line in lines[-_RECENT:]]
    return median((b - a).total_seconds() for a, b in pairwise(when)) if len(when) > 1 else None


def _seconds_since(when: str) -> float:
    return (datetime.now(UTC) - datetime.fromisoformat(when)).total_seconds()
