"""Draw experiments as in the papers, with the published points drawn in."""

import math
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("Agg")  # draw to files, without a screen
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from .experiment import Experiment, Line, Panel, Scatter, is_measured
from .verdict import Results

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F3C8D", "#999999")
MARKERS = ("o", "s", "^", "v", "P", "X", "*", "h")
# Files must be the same in every run: no date, and ids from a fixed salt.
_REPRODUCIBLE = {"svg.hashsalt": "fedclust", "svg.fonttype": "none"}
_TICKS = 4  # of so few points all are named
_PUBLISHED: dict[str, Any] = {
    "marker": "D",
    "ms": 4.5,
    "mfc": "none",
    "mec": "black",
    "mew": 1.1,
    "ls": "none",
}


def draw(experiment: Experiment, results: Results, folder: Path) -> Path:
    """Draw the figure of an experiment as SVG."""
    path = folder / f"{experiment.id}.svg"
    panels = [p for p in experiment.panels if is_measured(p, results)]
    columns = _columns(panels)
    rows = math.ceil(len(panels) / columns) or 1
    with matplotlib.rc_context(_REPRODUCIBLE):
        figure = Figure(figsize=(3.7 * columns + 0.6, 2.9 * rows + 0.6), layout="constrained")
        drawn = [(figure.add_subplot(rows, columns, i + 1), p) for i, p in enumerate(panels)]
        for axes, panel in drawn:
            _draw_panel(axes, panel, results)
        _legends(figure, drawn)
        figure.savefig(path, metadata={"Date": None})
    return path


def _columns(panels: Sequence[Panel | Scatter]) -> int:
    """Panels next to each other: those of one quantity, or pairs and quartets."""
    labels = [panel.y_label for panel in panels if isinstance(panel, Panel)]
    alike = len(list(takewhile(lambda label: label == labels[0], labels)))
    if 1 < alike < min(5, len(panels)) and len(panels) % alike == 0:
        return alike
    if len(panels) in (1, 2, 4):
        return len(panels) if len(panels) < 3 else 2
    return 4 if len(panels) == 16 else 3


def _draw_panel(axes: Any, panel: Panel | Scatter, results: Results) -> None:
    if isinstance(panel, Scatter):
        _scatter(axes, panel, results)
    elif panel.boxes:
        _boxes(axes, panel, results)
    else:
        _lines(axes, panel, results)
    axes.set_title(panel.title, fontsize=9.5)
    axes.tick_params(which="both", labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)


def _legends(figure: Any, drawn: Sequence[tuple[Any, Panel | Scatter]]) -> None:
    """One legend below the panels; with two kinds of panels, that of the first kind above."""
    kinds: dict[tuple[str, ...], list[Any]] = {}
    for axes, panel in drawn:
        if isinstance(panel, Panel) and not panel.boxes and len(panel.lines) > 1:
            kinds.setdefault(tuple(panel.lines), []).append((axes, panel))
    places = ("upper center", "lower center") if len(kinds) > 1 else ("lower center",)
    for place, found in zip(places, kinds.values(), strict=False):
        handles, labels = found[0][0].get_legend_handles_labels()
        if any(panel.published for _, panel in found):
            handles, labels = [*handles, Line2D([], [], **_PUBLISHED)], [*labels, "published"]
        ncols = min(len(labels), 2 * figure.axes[0].get_gridspec().ncols + 1)
        where = {"loc": f"outside {place}", "ncols": ncols}
        figure.legend(handles, labels, fontsize=8, frameon=False, **where)


def _values(results: Results, task: str, quantity: str, *, better_half: bool = False) -> Any:
    runs = [run for run in results.get(task, {}).values() if quantity in run]
    if better_half:
        runs = sorted(runs, key=lambda run: run["score"])[: max(1, len(runs) // 2)]
    return np.array([run[quantity] for run in runs])


def _lines(axes: Any, panel: Panel, results: Results) -> None:
    for index, (label, points) in enumerate(panel.lines.items()):
        _line(axes, panel, label, points, results, index)
        marks = panel.published.get(label, ())
        if marks:
            xs, ys = zip(*marks, strict=True)
            colour = COLOURS[index % len(COLOURS)]
            axes.plot(xs, ys, **{**_PUBLISHED, "mec": colour, "zorder": 5})
    if panel.log_y:
        axes.set_yscale("log")
    if panel.log_x:
        axes.set_xscale("log", base=2)
    axes.set_xlabel(panel.x_label, fontsize=8)
    axes.set_ylabel(panel.y_label, fontsize=8)
    axes.grid(alpha=0.25)
    at = sorted({x for points in panel.lines.values() for x, _, _ in points})
    if panel.log_x or panel.bars:
        return
    if len(at) <= _TICKS:
        axes.set_xticks(at)
    elif all(float(x).is_integer() for x in at):
        axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True))


def _line(axes: Any, panel: Panel, label: str, points: Line, results: Results, index: int) -> None:
    """Means over runs, and a band of one standard deviation, which stays above zero."""
    half = panel.better_half
    found = [(x, _values(results, task, q, better_half=half)) for x, task, q in points]
    measured = [(x, values) for x, values in found if len(values)]
    if not measured:
        return
    xs = [x for x, _ in measured]
    means = np.array([v.mean() for _, v in measured])
    sds = np.array([v.std() for _, v in measured])
    colour = COLOURS[index % len(COLOURS)]
    if panel.bars:
        axes.bar(xs, means, color=colour)
        axes.set_xticks(xs)
        return
    axes.plot(
        xs, means, "-", marker=MARKERS[index % len(MARKERS)], ms=3, lw=1.2, c=colour, label=label
    )
    low = np.minimum(means, np.maximum(means - sds, means / 2 if panel.log_y else 0.0))
    axes.fill_between(xs, low, means + sds, color=colour, alpha=0.15, lw=0)


def _boxes(axes: Any, panel: Panel, results: Results) -> None:
    """Runs as boxes (median, quartiles, range within 1.5 quartiles), as the papers draw them."""
    for index, (label, points) in enumerate(panel.lines.items()):
        for x, task, quantity in points:
            values = _values(results, task, quantity)
            if len(values):
                box = axes.boxplot([values], positions=[x], widths=0.5, sym=".")
                for part in (*box["boxes"], *box["medians"]):
                    part.set_color(COLOURS[index % len(COLOURS)])
        for x, y in panel.published.get(label, ()):
            axes.plot([x], [y], **{**_PUBLISHED, "zorder": 5})
    axes.set_xticks(range(len(panel.ticks)), panel.ticks, fontsize=8)
    axes.set_xlim(-0.6, len(panel.ticks) - 0.4)
    axes.set_ylabel(panel.y_label, fontsize=8)
    axes.grid(alpha=0.25, axis="y")


def _scatter(axes: Any, panel: Scatter, results: Results) -> None:
    """Rows by client, the centres of the first run, and where they came from."""
    rows, owner = panel.rows()
    for client in np.unique(owner):  # a client has the same colour in all parts of a figure
        here, index = rows[owner == client], int(client)
        step = max(1, len(here) // 150)  # a picture of a few hundred rows shows the same
        axes.plot(
            *here[::step].T, ls="none", ms=2.2, alpha=0.55, c=COLOURS[index % len(COLOURS)],
            marker=MARKERS[index % len(MARKERS)], mew=0,
        )  # fmt: skip
    for task, prefix in panel.centers:
        centers = _at(results, task, prefix, panel.k)
        if panel.moves:
            for a, b in zip(_at(results, *panel.moves, panel.k), centers, strict=True):
                axes.plot(*zip(a, b, strict=True), c="black", lw=1)
        axes.plot(*centers.T, ls="none", marker="X", ms=9, c="black", mec="white")
    axes.set_aspect("equal", adjustable="datalim")


def _at(results: Results, task: str, prefix: str, k: int) -> Any:
    run = results[task][0]
    return np.array([[run[f"{prefix} {i} {axis}"] for axis in "xy"] for i in range(k)])
