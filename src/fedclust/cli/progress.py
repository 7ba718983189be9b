"""Progress bar of a study; shown only in a terminal."""

import math
import time
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from ..core import Plan, Round

_DELAY = 2.0  # seconds before the bar is shown
_LOOK_BACK = 5  # rounds from which the number of rounds is predicted


class Watch:
    """Shows the phase, the round and the remaining time of a run."""

    def __init__(self, console: Console) -> None:
        self._quiet = not console.is_terminal
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("round {task.completed}"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
        )
        self._started = time.monotonic()
        self._shifts: list[float] = []
        self._task: Any = None
        self._shown = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        if self._shown:
            self._bar.stop()

    def __call__(self, phase: str, plan: Plan, last: Round) -> None:
        """Update the bar after a round."""
        if last.number == 0:
            self._shifts.clear()
        self._shifts.append(getattr(last.state, "shift", math.nan))
        if self._quiet or time.monotonic() - self._started < _DELAY:
            return
        if not self._shown:
            self._bar.start()
            self._shown = True
        if self._task is None or last.number == 0:
            if self._task is not None:
                self._bar.remove_task(self._task)
            self._task = self._bar.add_task(phase)
        self._bar.update(
            self._task,
            description=f"{phase} ({plan.algorithm.key})",
            completed=last.number + 1,
            total=predict_rounds(plan.algorithm, last, self._shifts),
        )


def predict_rounds(algorithm: Any, last: Round, shifts: list[float]) -> int | None:
    """Predict the number of rounds from how fast the centres slow down; None: unknown."""
    limit = getattr(algorithm, "max_rounds", None)
    if limit is None or len(shifts) <= _LOOK_BACK or not hasattr(algorithm, "unit"):
        return limit
    now, before = shifts[-1], shifts[-1 - _LOOK_BACK]
    target = algorithm.tol * algorithm.unit(last.state.centers)
    if not (0 < now < before < math.inf) or target <= 0:
        return int(limit)
    rate = math.log(before / now) / _LOOK_BACK
    left = max(0.0, math.log(now / target) / rate)
    return min(int(limit), last.number + 1 + math.ceil(left))
