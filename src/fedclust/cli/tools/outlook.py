"""Estimate how long a run still takes, from what its rounds have taken so far.

The unit of work is a comparison of all rows with one centre. The largest unknown is the number of
rounds until the centres settle, which is predicted from how fast they slow down.
"""

import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, Self

from ...clustering.choose_k.sweep import LIMIT
from ...core import Plan, Round
from ...study import Study
from ...study.phases import Phase

_LOOK_BACK = 5  # rounds from which the number of rounds is predicted
_TYPICAL_ROUNDS = 20  # of a clustering, before anything is known of it
_QUERIES_AT_THE_END = 4  # profile, map, counts, quality
_STABILITY = "checking stability"  # the part of choosing k that compares halves of the rows
_HALVES = ("half", "contingency")  # how the keys of its plans begin
_START = "start"  # work for initial centres, in whichever phase


@dataclass
class Outlook:
    """What a study is expected to do, and what it has done."""

    largest_k: int
    chooses_k: bool = False
    n_init: int = 1
    writes_labels: bool = True
    _rounds: float = _TYPICAL_ROUNDS  # of one clustering
    _k: float = 0.0  # of the clustering itself
    _done: dict[str, float] = field(default_factory=lambda: defaultdict(float))  # work, by phase
    _current: str = ""
    _main: Plan | None = None  # the clustering whose rounds are predicted
    _shifts: list[float] = field(default_factory=list)
    _begun: dict[Phase, float] = field(default_factory=dict)  # when phases began
    _since: float | None = None  # when the work began that is counted

    @classmethod
    def of(cls, study: Study) -> Self:
        """The outlook of a study before it starts."""
        settings, (low, high) = study.clustering, study.n_clusters
        labels = study.outputs.labels != "none"
        found = cls(high, settings.n_clusters == "auto", settings.n_init, labels)
        found._k = (low + high) / 2
        return found

    def enter(self, phase: Phase, now: float) -> str:
        """Note that a phase begins, and return its name."""
        self._begun.setdefault(phase, now)
        if phase in (Phase.SCALING, Phase.ALIGNING):
            self._since = now
        return phase.value

    def add(self, phase: Phase, plan: Plan, last: Round, now: float) -> str:
        """Note a round, and return the name of what the run is doing."""
        first = not self._current and plan.purpose  # of a start, for which rows are prepared
        if phase == Phase.SCALING or first:  # they say little about other rounds
            self._since = now
            self._current = phase if first else ""
            return phase.value
        halves = plan.algorithm.key.startswith(_HALVES)
        k = getattr(plan.algorithm, "n_clusters", 1)
        self._current = phase
        part = _START if plan.purpose else phase
        k = min(k, self.largest_k)  # a start has many centres, and rounds have other costs, too
        self._done[part] += k / 2 if halves else k  # each half has its own centres
        if not halves and not plan.purpose and plan.algorithm.has_parameter("max_rounds"):
            self._predict(phase, plan, last)
        return _STABILITY if halves else phase.value

    def _predict(self, phase: Phase, plan: Plan, last: Round) -> None:
        """Predict the rounds of a clustering; in a sweep over k only the first one is complete."""
        if phase == Phase.CLUSTERING:
            self._k = plan.algorithm.n_clusters
        elif phase != Phase.CHOOSING or (self._main is not None and self._main is not plan):
            return
        if plan is not self._main:
            self._main, self._shifts = plan, []
        self._shifts.append(getattr(last.state, "shift", math.nan))
        predicted = predict_rounds(plan.algorithm, last, self._shifts)
        self._rounds = predicted or max(self._rounds, 1.5 * (last.number + 1))

    def seconds_left(self, now: float) -> float | None:
        """About how long the rest takes; None: nothing is known yet."""
        done = sum(self._done.values())
        if self._since is None or done == 0:
            return None
        labelling = 0.0
        if self.writes_labels:  # rows are read again, which takes about as long as the first time
            labelling = self._since - self._begun.get(Phase.READING, self._since)
        if Phase.LABELLING in self._begun:
            return max(0.0, labelling - (now - self._begun[Phase.LABELLING]))
        return (now - self._since) / done * self._work_left() + labelling

    def _work_left(self) -> float:
        """Work of the current phase and of those after it."""
        expected: dict[str, float] = {
            Phase.CHOOSING: LIMIT * self.largest_k * self._rounds if self.chooses_k else 0.0,
            Phase.CLUSTERING: self.n_init * (self._rounds + 2) * self._k,
            Phase.COMPARING: 0.0,
            Phase.DESCRIBING: _QUERIES_AT_THE_END * self._k,
        }
        order = list(expected)
        now = order.index(self._current)
        rest = max(0.0, expected[self._current] - self._done[self._current])
        return rest + sum(expected[phase] for phase in order[now + 1 :])


def predict_rounds(algorithm: Any, last: Round, shifts: list[float]) -> int | None:
    """Predict the number of rounds from how fast the centres slow down; None: unknown."""
    limit = getattr(algorithm, "max_rounds", None)
    if limit is None or len(shifts) <= _LOOK_BACK or not hasattr(algorithm, "unit"):
        return None
    now, before = shifts[-1], shifts[-1 - _LOOK_BACK]
    target = algorithm.tol * algorithm.unit(last.state.centers)
    if not (0 < now < before < math.inf) or target <= 0:
        return None
    rate = math.log(before / now) / _LOOK_BACK
    left = max(0.0, math.log(now / target) / rate)
    return min(int(limit), last.number + 1 + math.ceil(left))
