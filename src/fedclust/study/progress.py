"""What a study writes of its progress, for those who watch it."""

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from .. import __version__
from ..core import ConfigError, FedclustError, Plan, Round
from ..privacy import IntegerGaussian
from ..privacy.accounting import epsilon_of
from ..progress import ProgressLog
from ..tiers import Tier
from ..typing import FloatArray
from .conflicts import limit_rounds
from .journal import OnRound
from .phases import OnPhase, Phase
from .settings import Study, make_algorithm

_DIGITS = 3  # of a coordinate on the map, after the decimal point; one is a standard deviation


class StudyProgress:
    """Writes the progress of one study; `begin` comes before all else."""

    def __init__(
        self,
        log: ProgressLog,
        study: Study,
        tier: Tier,
        *,
        clients: Sequence[str] = (),
        replays: bool = False,
        run: str = "",
        part: bool = False,
    ) -> None:
        self.log, self._study, self._tier = log, study, tier
        self._part = part  # another process began the run, and says how it ended
        self._clients, self._replays, self._run = clients or tuple(study.clients), replays, run
        self._begun = False
        self._phase: Phase | None = None
        self._sizes: Mapping[str, int] = {}
        self._squares = 0.0  # of all mu so far
        self._plane: FloatArray | None = None
        self._on_phase: OnPhase | None = None
        self._on_round: OnRound | None = None

    def show_to(self, on_phase: OnPhase | None, on_round: OnRound | None) -> None:
        """Call these with each phase and round, too."""
        self._on_phase, self._on_round = on_phase, on_round

    def begin(self) -> None:
        """Write what stays the same; the folder of the log exists now."""
        if self._begun:
            return
        self._begun = True
        if not self._replays:
            self._squares = _spent_before(self.log)
        self.log.write(begin=self._about())
        if self._phase is not None:
            self.log.write(enter=self._phase)

    def _about(self) -> dict[str, Any]:
        guarantee = self._tier.guarantee
        about = {
            "study": self._study.path.stem,
            "run": self._run,
            "fedclust": __version__,
            "clients": list(self._clients),
            "replays": self._replays,
            "max_rounds": self._find_max_rounds(),
            "tier": guarantee.tier,
            "guarantee": guarantee.words,
            "max_queries": self._tier.query_limit,
        }
        budget = {name: guarantee.parameters.get(name) for name in ("epsilon", "delta")}
        process = {} if self._part else {"process": os.getpid()}
        return about | process | (budget if self._tier.noisy else {})

    def _find_max_rounds(self) -> int | None:
        with suppress(ConfigError):
            algorithm = make_algorithm(self._study.clustering, self._study.n_clusters[1])
            if algorithm.parameter("max_rounds") is not None:
                return limit_rounds(self._tier, algorithm)
        return None

    def enter(self, phase: Phase) -> None:
        """A phase begins."""
        self._phase = phase
        if self._begun:
            self.log.write(enter=phase)
        if self._on_phase is not None:
            self._on_phase(phase)

    def round(self, phase: Phase, plan: Plan, done: Round) -> None:
        """A round has ended."""
        line: dict[str, Any] = {
            "phase": phase,
            "plan": plan.algorithm.key,
            "round": done.number,
            "answers": len(done.cohort),
            "sent": done.bytes_down,
            "received": done.bytes_up,
        }
        if done.sent != self._sizes:  # mostly the same in every round
            self._sizes = dict(done.sent)
            line["from"] = self._sizes
        line |= self._spend(plan)
        if phase is Phase.CLUSTERING:
            line |= self._draw(done)
        self.log.write(**line)
        if self._on_round is not None:
            self._on_round(phase, plan, done)

    def _spend(self, plan: Plan) -> dict[str, float]:
        squares = sum(t.mu**2 for t in plan.transforms if isinstance(t, IntegerGaussian))
        delta = self._tier.guarantee.parameters.get("delta")
        if not squares or delta is None:
            return {}
        self._squares += squares
        return {
            "squares": self._squares,
            "epsilon": round(epsilon_of(math.sqrt(self._squares), delta), 4),
        }

    def _draw(self, done: Round) -> dict[str, Any]:
        """How far the centres moved, and where they are in the plane of the first ones."""
        shift = getattr(done.state, "shift", math.nan)
        line: dict[str, Any] = {"shift": float(f"{shift:.3g}")} if math.isfinite(shift) else {}
        centers = np.asarray(getattr(done.state, "centers", ()))
        if centers.ndim != 2 or not np.isfinite(centers).all():
            return line
        if self._plane is None or done.number == 0 or len(self._plane) != centers.shape[1]:
            self._plane = find_plane(centers)
        return line | {"places": np.round(centers @ self._plane, _DIGITS).tolist()}

    @contextmanager
    def ending(self) -> Iterator[None]:
        """Write how the block ended, unless it finished."""
        try:
            yield
        except FedclustError as problem:
            self._end("failed", str(problem))
            raise
        except KeyboardInterrupt:
            self._end("stopped", "the run was interrupted")
            raise
        except Exception as problem:
            self._end("failed", f"an unexpected error: {type(problem).__name__}")
            raise

    def _end(self, how: str, text: str) -> None:
        if self._begun and not self._part:
            self.log.write(end={"how": how, "text": text})


def find_plane(centers: FloatArray) -> FloatArray:
    """Two directions in which the centres lie farthest apart; one or two columns are themselves.

    >>> find_plane(np.array([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    n = centers.shape[1]
    if n <= 2:
        return np.eye(n, 2)
    axes = np.linalg.svd(centers - centers.mean(axis=0), full_matrices=False)[2][:2]
    if len(axes) < 2:
        axes = np.vstack([axes, np.zeros(n)])
    signs = np.sign(axes[np.arange(2), np.abs(axes).argmax(axis=1)])
    return np.ascontiguousarray((axes * np.where(signs == 0, 1.0, signs)[:, None]).T)


def _spent_before(log: ProgressLog) -> float:
    """The squares of mu that the same run has spent before it was interrupted."""
    spent = 0.0
    with suppress(OSError):
        for text in log.path.read_text(encoding="utf-8").splitlines():
            with suppress(ValueError):
                spent = float(json.loads(text).get("squares", spent))
    return spent
