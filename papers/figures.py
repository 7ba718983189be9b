"""Draw experiments: lines as in the papers, or published values against ours."""

import math
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("Agg")  # draw to files, without a screen
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from .experiment import Experiment, Outcome, Panel, judge
from .report import Results

COLOURS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#000000",
    "#999999",
    "#7F3C8D",
    "#11A579",
    "#A5AA99",
    "#E73F74",
)
# Files must be the same in every run: no date, and ids from a fixed salt.
_REPRODUCIBLE = {"svg.hashsalt": "fedclust", "svg.fonttype": "none"}


def draw(experiment: Experiment, results: Results, folder: Path) -> Path:
    """Draw the figure of an experiment as SVG."""
    path = folder / f"{experiment.id}.svg"
    panels = experiment.panels
    columns = min(3, len(panels)) or 1
    rows = math.ceil(len(panels) / columns) or 1
    with matplotlib.rc_context(_REPRODUCIBLE):
        figure = Figure(figsize=(4.2 * columns + 1.2, 3.1 * rows + 0.6), layout="constrained")
        if panels:
            drawn = [
                (figure.add_subplot(rows, columns, i + 1), panel) for i, panel in enumerate(panels)
            ]
            for axes, panel in drawn:
                (_grid if panel.ticks else _lines)(axes, panel, results)
            _legends(figure, [(axes, panel) for axes, panel in drawn if not panel.ticks])
        else:
            judged = [o for o in judge(experiment, results, {}) if o.runs]
            (_bars if len(judged) <= 24 else _against)(figure.add_subplot(), judged)
        figure.savefig(path, metadata={"Date": None})
    return path


def _legends(figure: Any, drawn: list[tuple[Any, Panel]]) -> None:
    """One legend below if all panels have the same lines, else one per kind of panel."""
    kinds: dict[tuple[str, ...], Any] = {}
    for axes, panel in drawn:
        kinds.setdefault(tuple(panel.lines), axes)
    if len(kinds) < 2:
        entries = next(iter(kinds.values())).get_legend_handles_labels() if kinds else ((), ())
        if entries[0]:
            columns = min(6, len(entries[1]))
            figure.legend(
                *entries, loc="outside lower center", ncols=columns, fontsize=8, frameon=False
            )
        return
    for axes in kinds.values():
        if axes.get_legend_handles_labels()[0]:
            axes.legend(fontsize=7, frameon=False)


def _lines(axes: Any, panel: Panel, results: Results) -> None:
    for colour, (label, points) in zip(COLOURS, panel.lines.items(), strict=False):
        measured = [(x, results[t][q]) for x, t, q in points if q in results.get(t, {})]
        if not measured:
            continue
        xs = [x for x, _ in measured]
        means = np.array([np.mean(values) for _, values in measured])
        sds = np.array([np.std(values) for _, values in measured])
        axes.plot(xs, means, "o-", ms=3, lw=1.3, c=colour, label=label)
        low = np.where(means > sds, means - sds, means / 2) if panel.log_y else means - sds
        axes.fill_between(xs, low, means + sds, color=colour, alpha=0.15, lw=0)
    if panel.log_y:
        axes.set_yscale("log")
    axes.set_title(panel.title, fontsize=10)
    axes.set_xlabel(panel.x_label, fontsize=8)
    axes.set_ylabel(panel.y_label, fontsize=8)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)


def _grid(axes: Any, panel: Panel, results: Results) -> None:
    """Draw means as numbers, one row per line and one column per x; darker is larger."""
    values = np.full((len(panel.lines), len(panel.ticks)), np.nan)
    for row, points in enumerate(panel.lines.values()):
        for x, task, quantity in points:
            if quantity in results.get(task, {}):
                values[row, int(x)] = np.mean(results[task][quantity])
    shade = np.log10(np.maximum(values, 1e-12)) if panel.log_y else values
    axes.imshow(shade, cmap="Blues", aspect="auto", alpha=0.75)
    for (row, column), value in np.ndenumerate(values):
        if np.isfinite(value):
            text = f"{value / 1000:.1f}k" if value >= 1000 else f"{value:.3g}"
            axes.text(column, row, text, ha="center", va="center", fontsize=6.5)
    axes.set_xticks(range(len(panel.ticks)), panel.ticks, fontsize=8)
    axes.set_yticks(range(len(panel.lines)), list(panel.lines), fontsize=8)
    axes.set_title(panel.title, fontsize=10)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)


def _against(axes: Any, judged: list[Outcome]) -> None:
    """Plot our values against the published ones; they agree on the line."""
    judged = [one for one in judged if one.cell.published]
    columns = list(dict.fromkeys(o.cell.column for o in judged))
    for colour, column in zip(COLOURS, columns, strict=False):
        points = [o for o in judged if o.cell.column == column]
        axes.errorbar(
            [float(o.cell.published or 0) for o in points],
            [o.ours for o in points],
            [2 * o.sd for o in points],
            fmt="o",
            ms=4,
            c=colour,
            label=column,
            lw=1,
        )
    low, high = axes.get_xlim()
    axes.plot([low, high], [low, high], c="#999999", lw=1, zorder=0)
    axes.set_xlabel("published")
    axes.set_ylabel("ours, two standard deviations")
    axes.legend(fontsize=8, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)


def _bars(axes: Any, judged: list[Outcome]) -> None:
    """Draw a group of bars per row, a bar per method, and a line at the published value."""
    rows = list(dict.fromkeys(o.cell.row for o in judged))
    columns = list(dict.fromkeys(o.cell.column for o in judged))
    width = 0.8 / max(1, len(columns))
    for one in judged:
        column = columns.index(one.cell.column)
        x = rows.index(one.cell.row) + width * (column - (len(columns) - 1) / 2)
        axes.bar(x, one.ours, width * 0.9, yerr=one.sd, color=COLOURS[column], alpha=0.75)
        if one.cell.published:
            value = float(one.cell.published)
            axes.plot([x - width / 2, x + width / 2], [value, value], c="black", lw=2)
    handles: list[Any] = [Patch(color=COLOURS[i], label=c) for i, c in enumerate(columns)]
    handles.append(Line2D([], [], c="black", lw=2, label="published"))
    axes.legend(handles=handles, fontsize=7, frameon=False)
    axes.set_xticks(range(len(rows)), rows, fontsize=7, rotation=20 if len(rows) > 3 else 0)
    axes.spines[["top", "right"]].set_visible(False)
