"""Describe a run: how it ended, who took part, what clients sent, and the privacy guarantee."""

import math
import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple, Protocol

from .. import __version__
from ..clustering.model import Model
from ..core import AnyAlgorithm, RoundSummary, config
from ..results import ClientRecord, PhaseRecord, PrivacyRecord, RunDescription
from ..tiers import Tier
from .journal import RunRecord
from .phases import Phase
from .settings import Study

_AS_ONE = (Phase.CHOOSING, Phase.COMPARING)  # phases whose plans are not listed one by one
_LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "pyarrow")


class AnyClustering(Protocol):
    """A clustering over split rows or split columns."""

    @property
    def algorithm(self) -> AnyAlgorithm: ...
    @property
    def history(self) -> tuple[RoundSummary, ...]: ...
    @property
    def converged(self) -> bool: ...
    @property
    def inertia(self) -> float: ...
    @property
    def caveat(self) -> str: ...


class TierEffect(NamedTuple):
    """What a tier changes of the computation itself."""

    scales_by_bounds: bool = False
    start: str = ""  # the key of a seeding


def describe_run(
    study: Study,
    requested: AnyAlgorithm,
    found: AnyClustering,
    tier: Tier,
    runs: Sequence[RunRecord],
    run_id: str,
    effect: TierEffect,
    match: Model | None = None,
    caveat: str = "",
) -> RunDescription:
    """How the run ended and what it cost; the tier may have changed the `requested` algorithm.

    `caveat` is one of the described clusters, beside those of the clustering itself.
    """
    settings = {n: v for n, v in config(found.algorithm).items() if n not in ("algorithm", "init")}
    settings |= {"init": study.clustering.init, "n_init": study.clustering.n_init}
    return RunDescription(
        fedclust=__version__,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        run_id=run_id,
        study=study.path.stem,
        settings=settings,
        lossless=found.algorithm.lossless and tier.guarantee.exact,
        soft=found.algorithm.soft,
        inertia=None if math.isnan(found.inertia) else found.inertia,
        rounds=len(found.history),
        converged=found.converged,
        ended_by_tier=_ended_by_tier(study, requested, found),
        caveat="; ".join(filter(None, (found.caveat, caveat))),
        privacy=describe_privacy(tier, runs, effect),
        seed=study.clustering.seed,
        matched_run=match.about.study if match and match.about else None,
        versions=find_versions(),
        bytes_sent=add_bytes(runs),
    )


def _ended_by_tier(study: Study, requested: AnyAlgorithm, found: AnyClustering) -> bool:
    """Whether the run would have gone on, had the tier allowed more rounds."""
    if study.clustering.max_rounds is not None:
        return False
    wanted, allowed = (a.parameter("max_rounds") for a in (requested, found.algorithm))
    return wanted != allowed and (allowed is None or not found.converged)


def find_versions() -> dict[str, str]:
    """Versions of Python and of the libraries that results may depend on."""
    found = {"python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def describe_privacy(tier: Tier, runs: Sequence[RunRecord], effect: TierEffect) -> PrivacyRecord:
    """State the guarantee, and the total privacy loss if noisy rounds were repeated."""
    guarantee = tier.guarantee
    words = guarantee.words
    repeated = sum(run.repeated_cost for run in runs)
    spent = tier.epsilon_after(repeated) if repeated else None
    if spent is not None:
        words += (
            " Some rounds were repeated with new noise after an interruption; the total privacy "
            f"loss is epsilon={spent:.3g}."
        )
    return PrivacyRecord(
        tier=guarantee.tier,
        guarantee=words,
        parameters=dict(guarantee.parameters),
        epsilon_spent=spent,
        scales_by_bounds=effect.scales_by_bounds,
        start=effect.start,
        publishes_all=tier.publishes_all,
        advice=tier.advice,
    )


def summarize_phases(runs: Sequence[RunRecord]) -> tuple[PhaseRecord, ...]:
    """What clients sent in each phase, and the content of their messages."""
    by_phase: dict[str, list[RunRecord]] = {}
    for run in runs:
        by_phase.setdefault(_phase_of(run), []).append(run)
    return tuple(
        PhaseRecord(
            name=name,
            rounds=sum(run.rounds for run in part),
            message=" ".join(dict.fromkeys(run.message for run in part)),
            bytes_up=add_bytes(part),
        )
        for name, part in by_phase.items()
    )


def _phase_of(run: RunRecord) -> str:
    """The purpose of the plan, if it has one and the phase is not reported as one."""
    return run.phase if run.phase in _AS_ONE else run.purpose or run.phase


def describe_absent(absent: Mapping[str, str]) -> str:
    """The clients that did not take part in the study, with the reasons."""
    return "; ".join(
        f"{client} did not take part, and its rows are not in the result ({why})"
        for client, why in sorted(absent.items())
    )


def add_bytes(runs: Sequence[RunRecord]) -> dict[str, int]:
    """Bytes that left each client in all of the runs."""
    total: Counter[str] = Counter()
    for run in runs:
        total.update(run.sent)
    return dict(total)


def describe_clients(
    rows: Mapping[str, int | None],
    used: Mapping[str, int | None],
    rounds: Mapping[str, int],
    why: str,
) -> tuple[ClientRecord, ...]:
    """How each client took part; `why` is the reason why a row may be left out."""
    clients = []
    for client, n in rows.items():
        n_used = used[client]
        left_out = None if n is None or n_used is None else n - n_used
        clients.append(
            ClientRecord(
                name=client,
                rows=n,
                used=n_used,
                left_out=left_out,
                why=why if left_out else "",
                rounds=rounds.get(client, 0),
            )
        )
    return tuple(clients)
