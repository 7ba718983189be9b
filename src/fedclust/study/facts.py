"""What is true of a run besides its centres: for model.json and the report."""

import math
import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from .. import __version__
from ..clustering.model import Model
from ..clustering.rows import Clustering
from ..core import config
from ..privacy import Private, Tier
from ..privacy.accounting import epsilon_of
from .journal import Told
from .settings import Study, make_algorithm

CHOOSING, COMPARING = "choosing k", "comparing"  # phases that are told as a whole
_LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "pyarrow")


def about(study: Study, found: Clustering, like: Model | None) -> dict[str, Any]:
    """All that model.json says besides the clusters."""
    settings = {k: v for k, v in config(found.algorithm).items() if k != "init"}
    settings |= {"init": study.clustering.init, "n_init": study.clustering.n_init}
    return {
        "fedclust": __version__,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "study": study.path.stem,
        "algorithm": settings,
        "lossless": found.algorithm.lossless and found.guarantee.exact,
        "soft": found.algorithm.soft,
        "inertia": None if math.isnan(found.inertia) else found.inertia,
        "rounds": found.run.n_rounds,
        "converged": found.converged,
        "ended_by_tier": _ended_by_tier(study, found),
        "caveat": found.caveat,
        "seed": study.clustering.seed,
        "like": (like.about or {}).get("study") if like else None,
        "versions": versions(),
    }


def _ended_by_tier(study: Study, found: Clustering) -> bool:
    """Whether the run would have gone on, had the tier allowed more rounds."""
    if study.clustering.max_rounds is not None:
        return False
    wanted, ran = (
        vars(algorithm).get("max_rounds")
        for algorithm in (make_algorithm(study.clustering, len(found.centers)), found.algorithm)
    )
    return wanted != ran and (ran is None or not found.converged)


def versions() -> dict[str, str]:
    """Python, and the libraries that results may depend on."""
    found = {"python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def phases(told: Sequence[Told]) -> list[dict[str, Any]]:
    """What left the clients, phase by phase, and what their messages said."""
    lines: dict[str, tuple[dict[str, None], Counter[str], int]] = {}
    for run in told:
        says, sent, rounds = lines.setdefault(_named(run), ({}, Counter(), 0))
        says[run.says] = None  # as a set that keeps its order
        sent.update(run.sent)
        lines[_named(run)] = says, sent, rounds + run.rounds
    return [
        {"name": name, "rounds": rounds, "message": " ".join(says), "bytes_up": dict(sent)}
        for name, (says, sent, rounds) in lines.items()
    ]


def bytes_sent(told: Sequence[Told]) -> dict[str, int]:
    """What left each client in all runs of the study together."""
    total: Counter[str] = Counter()
    for run in told:
        total.update(run.sent)
    return dict(total)


def promised(told: Sequence[Told], tier: Tier) -> dict[str, Any]:
    """The tier as the model states it; noise that was drawn twice is in its words."""
    guarantee = tier.guarantee
    said: dict[str, Any] = {"tier": guarantee.tier, "guarantee": guarantee.words}
    said["parameters"] = dict(guarantee.parameters)
    again = sum(run.paid_again for run in told)
    if again and isinstance(tier, Private):
        spent = epsilon_of(math.sqrt(tier.budget + again), tier.delta)
        said["guarantee"] += (
            f" Rounds were asked again after an interruption, with other noise: all of it together "
            f"allows epsilon={spent:.3g}."
        )
        said["epsilon_spent"] = spent
    return said


def _named(run: Told) -> str:
    """What the plan says that it is for, if it says and the phase is not told as a whole."""
    return run.phase if run.phase in (CHOOSING, COMPARING) else run.purpose or run.phase


def took_part(
    rows: Mapping[str, int | None],
    used: Mapping[str, int | None],
    found: Clustering,
    told: Sequence[Told],
) -> list[dict[str, Any]]:
    """Every client: its rows, those left out and why, and the rounds it took part in."""
    kept = next(run for run in told if run.sent is found.run.sent)
    clients = []
    for client, n in rows.items():
        took = used[client]
        left_out = None if n is None or took is None else n - took
        clients.append(
            {
                "name": client,
                "rows": n,
                "used": took,
                "left_out": left_out,
                "why": "a gap in a feature" if left_out else "",
                "rounds": kept.took_part.get(client, 0),
            }
        )
    return clients
