"""Status of a running federation: connected clients, jobs, and the progress of the study."""

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
from ..follow.words import describe_wait
from ..study.phases import Phase
from ..study.settings import Study, make_algorithm
from .kits import read_kit
from .paths import PROGRESS, RUNNING, RunPaths

_RECENT = 20  # rounds from which the duration of a round is estimated


def federation_status(kits: Path) -> dict[str, Any]:
    """Connected clients, the server's jobs, and the progress of the study run from these kits."""
    from ..channels.nvflare.session import NoServer, Session

    admin = read_kit(kits / "admin", "admin")
    try:
        with Session(admin.folder, admin.name, seconds=1.0) as session:
            running = read_progress(admin.folder)
            return {"clients": session.last_seen(), "jobs": session.jobs(), "running": running}
    except NoServer:
        where = f"{admin.federation.server}, port {admin.federation.port}"
        raise FedclustError(
            f"no server answers at {where}. It runs only while 'fedclust server' runs a study; "
            f"check its kit with 'fedclust doctor {kits / 'server'}'"
        ) from None


@contextlib.contextmanager
def announce_study(study: Study, paths: RunPaths, admin: Path) -> Iterator[None]:
    """Make a study visible to `fedclust status` while the block runs."""
    file = admin / RUNNING
    about = {
        "study": study.path.stem,
        "work": str(paths.work),
        "max_rounds": _find_max_rounds(study),
    }
    write_text(file, json.dumps(about))
    try:
        yield
    finally:
        file.unlink(missing_ok=True)


def _find_max_rounds(study: Study) -> int | None:
    """Maximum number of clustering rounds; None if the algorithm has none."""
    with contextlib.suppress(ConfigError):
        limit = vars(make_algorithm(study.clustering, study.n_clusters[1])).get("max_rounds")
        return None if limit is None else int(limit)
    return None


def read_progress(admin: Path) -> dict[str, Any] | None:
    """Phase, round and remaining seconds of the running study; None if no study is running."""
    with contextlib.suppress(OSError, ValueError, KeyError):
        about = json.loads((admin / RUNNING).read_text(encoding="utf-8"))
        file = Path(about["work"]) / PROGRESS
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        lines = [json.loads(line) for line in text.splitlines() if line.endswith("}")]
        rounds = [line for line in lines if "phase" in line]
        if not rounds:
            waits = [line["waiting"] for line in lines if "waiting" in line]
            phase = describe_wait(waits[-1]) if waits and waits[-1] else "starting"
            return {"study": about["study"], "phase": phase}
        last, limit = rounds[-1], about["max_rounds"]
        progress = {name: last[name] for name in ("phase", "plan", "round", "answers")}
        progress |= {"study": about["study"], "seconds_ago": _seconds_since(last["when"])}
        if last["phase"] == Phase.CLUSTERING and limit is not None:
            duration = _round_duration([line for line in rounds if line["plan"] == last["plan"]])
            remaining = None if duration is None else duration * (limit - last["round"] - 1)
            progress |= {"max_rounds": limit, "seconds_left": remaining}
        return progress
    return None


def _round_duration(lines: list[dict[str, Any]]) -> float | None:
    """Median seconds per round over the latest rounds; None if there is only one."""
    when = [datetime.fromisoformat(line["when"]) for line in lines[-_RECENT:]]
    return median((b - a).total_seconds() for a, b in pairwise(when)) if len(when) > 1 else None


def _seconds_since(when: str) -> float:
    return (datetime.now(UTC) - datetime.fromisoformat(when)).total_seconds()
