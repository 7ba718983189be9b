"""What is true of a run besides its centres: for model.json and the report."""

import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from .. import __version__
from ..chain import Clustering
from ..core import config
from .file import Study
from .journal import Told
from .model import Model

_PROMISES = {
    "none": "The exact result. Clients send sums of their rows, also of clusters in which they "
    "have one row only; no row is sent as such.",
    "paper": "Clients withhold what the algorithm's paper says: clusters of few rows, or all if "
    "they have few. A server that keeps the messages of many rounds can still subtract.",
}
_LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "pyarrow")


def about(study: Study, found: Clustering, like: Model | None) -> dict[str, Any]:
    """All that model.json says besides the clusters."""
    tier = study.privacy["tier"]
    settings = {k: v for k, v in config(found.algorithm).items() if k != "init"}
    return {
        "fedclust": __version__,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "study": study.path.stem,
        "algorithm": settings,
        "lossless": found.algorithm.lossless and tier == "none",
        "soft": found.algorithm.soft,
        "inertia": found.inertia,
        "rounds": found.run.n_rounds,
        "converged": found.converged,
        "bytes_sent": dict(found.sent),
        "privacy": {"tier": tier, "promise": _PROMISES[tier]},
        "seed": study.clustering["seed"],
        "like": (like.about or {}).get("study") if like else None,
        "versions": _versions(),
    }


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def phases(told: Sequence[Told]) -> list[dict[str, Any]]:
    """What left the clients, phase by phase; runs that send the same thing are one line."""
    lines: dict[tuple[str, str], dict[str, Any]] = {}
    for run in told:
        line = lines.setdefault(
            (run.phase, run.says),
            {"name": run.phase, "rounds": 0, "message": run.says, "bytes_up": {}},
        )
        line["rounds"] += run.rounds
        _add(line["bytes_up"], run.sent)
    return list(lines.values())


def took_part(
    rows: Mapping[str, int], used: Mapping[str, int], told: Sequence[Told]
) -> list[dict[str, Any]]:
    """Every client: its rows, those left out and why, and in how many rounds it was asked."""
    rounds: dict[str, int] = {}
    for run in told:
        if run.phase == "clustering":
            _add(rounds, run.took_part)
    return [
        {
            "name": client,
            "rows": n,
            "used": used[client],
            "left_out": n - used[client],
            "why": "a gap in a feature" if used[client] < n else "",
            "rounds": rounds.get(client, 0),
        }
        for client, n in rows.items()
    ]


def _add(total: dict[str, int], more: Mapping[str, int]) -> None:
    for client, n in more.items():
        total[client] = total.get(client, 0) + n
