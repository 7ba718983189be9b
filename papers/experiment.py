"""Definition of an experiment: tasks to run, cells to compare, claims to check, figures to draw."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Statistic = Literal["mean", "median", "min", "max", "std", "best half", "std of best half"]


@dataclass(frozen=True)
class Task:
    """One configuration: called with a seed, it returns named quantities."""

    name: str
    measure: Callable[..., Mapping[str, float]]
    settings: Mapping[str, Any]
    runs: int = 30
    quick: int = 2  # runs with --quick; 0: too slow for it
    heavy: bool = False  # minutes per run: these come last

    def __call__(self, seed: int) -> dict[str, float]:
        """Compute all quantities of one run."""
        return {name: float(value) for name, value in self.measure(seed, **self.settings).items()}


@dataclass(frozen=True)
class Cell:
    """One number of a paper, and the source of ours."""

    row: str
    column: str
    task: str
    quantity: str
    published: str | None  # as printed; None: the paper does not have this number
    statistic: Statistic = "mean"
    table: str = ""  # which of the experiment's tables it belongs to
    published_runs: int = 10
    published_sd: float | None = None  # of the paper's runs, where they are stored
    # The paper's runs start where ours do: run s of ours has its start number s % published_runs.
    shared_starts: bool = False
    because: str = ""  # if ours differs: the reason, and how it was tested
    absent: str = ""  # why there cannot be a value of ours


@dataclass(frozen=True)
class Claim:
    """An ordering claimed by the paper: the first task has the smaller value."""

    text: str
    quantity: str
    smaller: str
    larger: str
    because: str = ""  # if it does not hold


Line = Sequence[tuple[float, str, str]]  # (x, task, quantity)


@dataclass(frozen=True)
class Panel:
    """A part of a figure: lines through means over runs, with a standard deviation."""

    title: str
    lines: Mapping[str, Line]
    x_label: str
    y_label: str
    log_x: bool = False
    log_y: bool = False
    published: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)
    boxes: bool = False  # draw the runs as boxes, as the paper does
    bars: bool = False  # counts: a bar for each point of the only line
    better_half: bool = False  # show the half of the runs with the lower scores
    ticks: Sequence[str] = ()  # names of the x values


@dataclass(frozen=True)
class Scatter:
    """A part of a figure: rows, which are generated when it is drawn, with centres of one run."""

    title: str
    rows: Callable[[], tuple[Any, Any]]  # rows and their clients
    centers: Sequence[tuple[str, str]]  # task and prefix of its quantities
    k: int
    moves: tuple[str, str] | None = None  # task, prefix of where the centres were before


def is_measured(panel: Panel | Scatter, results: Mapping[str, Mapping[int, Any]]) -> bool:
    """Whether there is something to draw: a line needs two of its points.

    A line of one value, with which the others are compared, is nothing by itself.
    """
    if isinstance(panel, Scatter):
        return all(0 in results.get(task, {}) for task, _ in panel.centers)
    needed = 1 if panel.boxes else 2
    lines = [line for line in panel.lines.values() if not _is_level(line)]
    return any(
        sum(bool(results.get(task)) for _, task, _ in line) >= min(needed, len(line))
        for line in lines
    )


def _is_level(line: Line) -> bool:
    return len(line) > 1 and len({(task, quantity) for _, task, quantity in line}) == 1


@dataclass(frozen=True)
class Grid:
    """A table of means and spreads: a row per line, a column per tick."""

    title: str
    lines: Mapping[str, Line]
    ticks: Sequence[str]
    decimals: int = 0
    beside: Mapping[str, str] = field(default_factory=dict)  # a text at the end of each row
    beside_title: str = ""


def curve(task: str, quantity: str, xs: Iterable[int]) -> list[tuple[float, str, str]]:
    """A line through the quantities `quantity@x` of one task."""
    return [(x, task, f"{quantity}@{x}") for x in xs]


@dataclass(frozen=True)
class Experiment:
    """A table or a figure of a paper."""

    id: str
    title: str
    tasks: Sequence[Task]
    cells: Sequence[Cell] = ()
    claims: Sequence[Claim] = ()
    notes: str = ""
    panels: Sequence[Panel | Scatter] = ()
    grids: Sequence[Grid] = ()

    def quantities(self, task: str) -> set[str]:
        """The quantities of a task that the page uses."""
        cells = {c.quantity for c in self.cells if c.task == task}
        halves = {"score" for c in self.cells if c.task == task and "half" in c.statistic}
        claims = {c.quantity for c in self.claims if task in (c.smaller, c.larger)}
        shown = [p for p in (*self.panels, *self.grids) if not isinstance(p, Scatter)]
        lines = {q for p in shown for line in p.lines.values() for _, t, q in line if t == task}
        return cells | halves | claims | lines | self._of_pictures(task)

    def _of_pictures(self, task: str) -> set[str]:
        """Coordinates of the centres that pictures show."""
        return {
            f"{prefix} {i} {axis}"
            for panel in self.panels
            if isinstance(panel, Scatter)
            for name, prefix in (*panel.centers, *filter(None, [panel.moves]))
            if name == task
            for i in range(panel.k)
            for axis in "xy"
        }


@dataclass(frozen=True)
class Paper:
    """A paper, what we conclude about it in words, and its experiments."""

    name: str
    reference: str
    conclusion: str
    experiments: Sequence[Experiment]
    absent: Sequence[str] = ()  # what cannot be had, a line each
    bibtex: str = ""
