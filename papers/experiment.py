"""What an experiment is: tasks to run, cells to compare, claims to check."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

Values = Mapping[str, Sequence[float]]  # one quantity of one task, over runs
Statistic = Literal["mean", "min", "max", "std", "best half"]
VERDICTS = (
    "reproduced",
    "ordering holds",
    "too noisy",
    "differs",
    "not obtainable",
    "no data here",
    "not run",
)
_NOISY = 0.25  # of the published value: where our runs spread wider, agreement means nothing


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


def statistic(values: Sequence[float], how: Statistic, score: Sequence[float] = ()) -> float:
    """What the paper reports of its runs; the best half are those of the lower scores."""
    found = np.asarray(values, dtype=float)
    if how == "best half":
        best = np.argsort(score if len(score) == len(found) else found)
        return float(found[best[: max(1, len(found) // 2)]].mean())
    known: Mapping[str, Callable[..., Any]] = {"min": np.min, "max": np.max, "std": np.std}
    reduced = known.get(how, np.mean)
    return float(reduced(found))


def holds(claim: Claim, results: Mapping[str, Values]) -> str:
    """Whether the ordering is there: "holds", "does not hold", "a tie", or "not run"."""
    sides = [results.get(task, {}).get(claim.quantity) for task in (claim.smaller, claim.larger)]
    if not sides[0] or not sides[1]:
        return "not run"
    small, large = (np.asarray(side, dtype=float) for side in sides)
    error = np.sqrt(small.var() / len(small) + large.var() / len(large))
    gap = large.mean() - small.mean()
    if abs(gap) <= 2 * error:
        return "a tie"
    return "holds" if gap > 0 else "does not hold"


def judge(
    experiment: Experiment, results: Mapping[str, Values], failed: Mapping[str, str]
) -> list[Outcome]:
    """Every cell with its verdict; none is dropped."""
    return [_judged(experiment, cell, results, failed) for cell in experiment.cells]


def _judged(
    experiment: Experiment, cell: Cell, results: Mapping[str, Values], failed: Mapping[str, str]
) -> Outcome:
    of_task = results.get(cell.task, {})
    values = of_task.get(cell.quantity, ())
    if len(values) == 0 or (
        cell.statistic == "std" and len(values) < 3
    ):  # no spread of a run or two
        there = any(task.name == cell.task for task in experiment.tasks)
        verdict = (
            "no data here" if cell.task in failed else "not run" if there else "not obtainable"
        )
        return Outcome(cell, math.nan, math.nan, 0, verdict)
    ours = statistic(values, cell.statistic, of_task.get("score", ()))
    sd = float(np.std(values)) if cell.statistic in ("mean", "best half") else 0.0
    if cell.published is None:
        return Outcome(cell, ours, sd, len(values), "")
    return Outcome(cell, ours, sd, len(values), _verdict(experiment, cell, ours, sd, results))


def _verdict(
    experiment: Experiment, cell: Cell, ours: float, sd: float, results: Mapping[str, Values]
) -> str:
    published = float(cell.published or "nan")
    gap = abs(ours - published)
    if gap <= max(cell.tolerance, _printed(cell)):
        return "reproduced"
    if gap <= 2 * sd:
        return "reproduced" if 2 * sd <= _NOISY * abs(published) else "too noisy"
    mine = [
        claim
        for claim in experiment.claims
        if cell.quantity == claim.quantity and cell.task in (claim.smaller, claim.larger)
    ]
    ordered = bool(mine) and all(holds(claim, results) == "holds" for claim in mine)
    return "ordering holds" if ordered else "differs"
