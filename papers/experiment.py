"""Definition of an experiment: tasks to run, cells to compare, claims to check."""

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
_NOISY = 0.25  # of the published value: if our runs vary more, agreement is meaningless


@dataclass(frozen=True)
class Task:
    """One configuration: called with a seed, it returns named quantities."""

    name: str
    measure: Callable[..., Mapping[str, float]]
    settings: Mapping[str, Any]
    runs: int = 10
    quick: int = 2  # runs with --quick; 0: too slow for it

    def __call__(self, seed: int) -> dict[str, float]:
        """Compute all quantities of one run."""
        return {name: float(value) for name, value in self.measure(seed, **self.settings).items()}


@dataclass(frozen=True)
class Cell:
    """One published number, and the source of ours."""

    row: str
    column: str
    task: str
    quantity: str
    published: str | None  # as printed; None if the paper only shows a figure
    statistic: Statistic = "mean"
    tolerance: float = 0.0  # in addition to two standard deviations of our runs
    because: str = ""  # the reason, if ours differs


@dataclass(frozen=True)
class Claim:
    """An ordering claimed by the paper: the first task has the smaller value."""

    text: str
    quantity: str
    smaller: str
    larger: str


@dataclass(frozen=True)
class Panel:
    """A part of a figure: lines through means over runs, with a standard deviation."""

    title: str
    lines: Mapping[str, Sequence[tuple[float, str, str]]]  # label -> (x, task, quantity)
    x_label: str
    y_label: str
    log_y: bool = False
    ticks: Sequence[str] = ()  # names of the x values, for a grid of numbers instead of lines


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
    panels: Sequence[Panel] = ()  # of the figure; empty: published values against ours


class Outcome(NamedTuple):
    """A cell with its verdict."""

    cell: Cell
    ours: float
    sd: float
    runs: int
    verdict: str

    @property
    def apart(self) -> float:
        """Difference in standard deviations of our runs."""
        if self.cell.published is None or self.runs == 0:
            return math.nan
        difference = self.ours - float(self.cell.published)
        if self.sd > 1e-6 * max(abs(self.ours), 1e-6):
            return difference / self.sd
        return 0.0 if abs(difference) <= _print_precision(self.cell) else math.inf


def _print_precision(cell: Cell) -> float:
    """Half a unit of the last printed digit."""
    digits = len(cell.published.partition(".")[2]) if cell.published else 0
    return 0.5 * 10.0**-digits + 1e-12


def statistic(values: Sequence[float], kind: Statistic, score: Sequence[float] = ()) -> float:
    """The statistic that the paper reports; the best half are runs with lower scores."""
    array = np.asarray(values, dtype=float)
    if kind == "best half":
        best = np.argsort(score if len(score) == len(array) else array)
        return float(array[best[: max(1, len(array) // 2)]].mean())
    known: Mapping[str, Callable[..., Any]] = {"min": np.min, "max": np.max, "std": np.std}
    reduce = known.get(kind, np.mean)
    return float(reduce(array))


def holds(claim: Claim, results: Mapping[str, Values]) -> str:
    """Check an ordering: "holds", "does not hold", "a tie", or "not run"."""
    sides = [results.get(task, {}).get(claim.quantity) for task in (claim.smaller, claim.larger)]
    if not sides[0] or not sides[1]:
        return "not run"
    small, large = (np.asarray(side, dtype=float) for side in sides)
    error = np.sqrt(small.var() / len(small) + large.var() / len(large))
    difference = large.mean() - small.mean()
    if abs(difference) <= 2 * error:
        return "a tie"
    return "holds" if difference > 0 else "does not hold"


def judge(
    experiment: Experiment, results: Mapping[str, Values], failed: Mapping[str, str]
) -> list[Outcome]:
    """All cells with their verdicts."""
    return [_judge_cell(experiment, cell, results, failed) for cell in experiment.cells]


def _judge_cell(
    experiment: Experiment, cell: Cell, results: Mapping[str, Values], failed: Mapping[str, str]
) -> Outcome:
    of_task = results.get(cell.task, {})
    values = of_task.get(cell.quantity, ())
    too_few = cell.statistic == "std" and len(values) < 3
    if len(values) == 0 or too_few:
        defined = any(task.name == cell.task for task in experiment.tasks)
        verdict = (
            "no data here" if cell.task in failed else "not run" if defined else "not obtainable"
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
    difference = abs(ours - published)
    if difference <= max(cell.tolerance, _print_precision(cell)):
        return "reproduced"
    if difference <= 2 * sd:
        return "reproduced" if 2 * sd <= _NOISY * abs(published) else "too noisy"
    claims = [
        claim
        for claim in experiment.claims
        if cell.quantity == claim.quantity and cell.task in (claim.smaller, claim.larger)
    ]
    ordered = bool(claims) and all(holds(claim, results) == "holds" for claim in claims)
    return "ordering holds" if ordered else "differs"
