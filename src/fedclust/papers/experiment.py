"""What an experiment is: tasks to run, cells to compare, claims to check."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

Values = Mapping[str, Sequence[float]]  # one quantity of one task, over runs
Statistic = Literal["mean", "min", "max", "best half"]
VERDICTS = ("reproduced", "ordering holds", "differs", "not obtainable", "not run")


@dataclass(frozen=True)
class Task:
    """One configuration: called with a seed, it returns named quantities."""

    name: str
    measure: Callable[..., Mapping[str, float]]
    settings: Mapping[str, Any]
    runs: int = 10
    quick: int = 2  # runs with --quick; 0: too slow for it

    def __call__(self, seed: int) -> dict[str, float]:
        """All quantities of one run."""
        return {name: float(value) for name, value in self.measure(seed, **self.settings).items()}


@dataclass(frozen=True)
class Cell:
    """One published number, and where ours comes from."""

    row: str
    column: str
    task: str
    quantity: str
    published: str | None  # as printed; None where the paper draws and gives no number
    statistic: Statistic = "mean"
    tolerance: float = 0.0  # beyond two standard deviations of our runs
    because: str = ""  # the reason, where ours differs


@dataclass(frozen=True)
class Claim:
    """An ordering the paper argues for: the first task has the smaller value."""

    text: str
    quantity: str
    smaller: str
    larger: str


@dataclass(frozen=True)
class Panel:
    """A part of a figure: lines through means over runs, with a standard deviation around."""

    title: str
    lines: Mapping[str, Sequence[tuple[float, str, str]]]  # label -> (x, task, quantity)
    x_label: str
    y_label: str
    log_y: bool = False
    ticks: Sequence[str] = ()  # names of the x: the panel is then a grid of numbers, not lines


def curve(task: str, quantity: str, xs: Iterable[int]) -> list[tuple[float, str, str]]:
    """A line through the quantities `quantity@x` of one task."""
    return [(x, task, f"{quantity}@{x}") for x in xs]


@dataclass(frozen=True)
class Experiment:
    """A table or a figure of a paper."""

    id: str
    paper: str
    title: str
    tasks: Sequence[Task]
    cells: Sequence[Cell] = ()
    claims: Sequence[Claim] = ()
    notes: str = ""
    panels: Sequence[Panel] = ()  # of the figure; none: published against ours


class Outcome(NamedTuple):
    """A cell, judged."""

    cell: Cell
    ours: float
    sd: float
    runs: int
    verdict: str

    @property
    def apart(self) -> float:
        """The difference in standard deviations of our runs."""
        if self.cell.published is None or self.runs == 0:
            return math.nan
        gap = self.ours - float(self.cell.published)
        if self.sd > 1e-6 * max(abs(self.ours), 1e-6):
            return gap / self.sd
        return 0.0 if abs(gap) <= _printed(self.cell) else math.inf


def _printed(cell: Cell) -> float:
    """Half a unit of the last printed digit."""
    digits = len(cell.published.partition(".")[2]) if cell.published else 0
    return 0.5 * 10.0**-digits + 1e-12


def statistic(values: Sequence[float], how: Statistic) -> float:
    """What the paper reports of its runs."""
    ordered = np.sort(np.asarray(values, dtype=float))
    if how == "best half":
        ordered = ordered[: max(1, len(ordered) // 2)]
    return float({"min": ordered.min, "max": ordered.max}.get(how, ordered.mean)())


def holds(claim: Claim, results: Mapping[str, Values]) -> bool | None:
    """Whether the ordering is there; None where one side was not run."""
    sides = [results.get(task, {}).get(claim.quantity) for task in (claim.smaller, claim.larger)]
    if not sides[0] or not sides[1]:
        return None
    return float(np.mean(sides[0])) < float(np.mean(sides[1]))


def judge(
    experiment: Experiment, results: Mapping[str, Values], failed: Mapping[str, str]
) -> list[Outcome]:
    """Every cell with its verdict; none is dropped."""
    return [_judged(experiment, cell, results, failed) for cell in experiment.cells]


def _judged(
    experiment: Experiment, cell: Cell, results: Mapping[str, Values], failed: Mapping[str, str]
) -> Outcome:
    values = results.get(cell.task, {}).get(cell.quantity, ())
    if len(values) == 0:
        there = any(task.name == cell.task for task in experiment.tasks)
        verdict = "not run" if there and cell.task not in failed else "not obtainable"
        return Outcome(cell, math.nan, math.nan, 0, verdict)
    ours, sd = statistic(values, cell.statistic), float(np.std(values))
    if cell.published is None:
        return Outcome(cell, ours, sd, len(values), "")
    room = max(2 * sd, cell.tolerance, _printed(cell))
    if abs(ours - float(cell.published)) <= room:
        return Outcome(cell, ours, sd, len(values), "reproduced")
    mine = [
        c
        for c in experiment.claims
        if cell.quantity == c.quantity and cell.task in (c.smaller, c.larger)
    ]
    ordered = bool(mine) and all(holds(c, results) for c in mine)
    return Outcome(cell, ours, sd, len(values), "ordering holds" if ordered else "differs")
