"""Tables of the page, in the papers' own layout: published value and ours side by side."""

import csv
import io
from collections.abc import Sequence

import numpy as np

from .experiment import Experiment, Grid
from .verdict import ABSENT, DIFFERS, FEW, NOISY, Outcome, Results

COLUMNS = (
    "table",
    "row",
    "column",
    "statistic",
    "published",
    "published runs",
    "ours",
    "standard deviation",
    "runs",
    "allowed difference",
    "verdict",
    "groups of runs",
    "reason",
)


def in_layout(outcomes: Sequence[Outcome]) -> list[str]:
    """One Markdown table per table of the paper."""
    lines: list[str] = []
    for title in dict.fromkeys(one.cell.table for one in outcomes):
        here = [one for one in outcomes if one.cell.table == title]
        columns = list(dict.fromkeys(one.cell.column for one in here))
        lines += [
            "",
            f"| {title} | " + " | ".join(columns) + " |",
            "|---" * (len(columns) + 1) + "|",
        ]
        found = {(one.cell.row, one.cell.column): one for one in here}
        for row in dict.fromkeys(one.cell.row for one in here):
            texts = [_entry(found[row, c]) if (row, c) in found else "" for c in columns]
            lines.append(f"| {row} | " + " | ".join(texts) + " |")
    return lines[1:]


def _entry(one: Outcome) -> str:
    """Published / ours; bold if it differs, ~ if our runs vary too much, † for two groups."""
    if one.verdict == ABSENT:
        return f"{one.cell.published} / cannot be had"
    mark = "†" if one.groups else ""
    ours = f"{decimals(one)}{mark}" if one.runs else "not run"
    text = f"{one.cell.published or '-'} / {ours}"
    if one.verdict == DIFFERS:
        return f"**{text}**"
    if one.verdict == FEW:
        return f"{text} ({one.runs} of {one.needed})"
    return f"{text} ~" if one.verdict == NOISY else text


def decimals(one: Outcome) -> str:
    """Our value, with one digit more than the printed one."""
    if one.cell.published is None:
        return f"{one.ours:.4g}"
    digits = len(one.cell.published.partition(".")[2]) + 1
    text = f"{one.ours:.{digits}f}" if abs(one.ours) < 1e6 else f"{one.ours:.2e}"
    return text.replace("0.", ".", 1) if one.cell.published.startswith(".") else text


def as_csv(outcomes: Sequence[Outcome]) -> str:
    """All cells with what their verdict rests on."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for one in outcomes:
        cell, ran = one.cell, one.runs > 0
        reason = cell.absent or (cell.because if one.verdict == DIFFERS else "")
        writer.writerow(
            [cell.table, cell.row, cell.column, cell.statistic, cell.published, cell.published_runs,
             f"{one.ours:.6g}" if ran else "", f"{one.sd:.3g}" if ran else "", one.runs,
             f"{one.limit:.3g}" if np.isfinite(one.limit) else "", one.verdict, one.groups, reason]
        )  # fmt: skip
    return text.getvalue()


def reasons(outcomes: Sequence[Outcome]) -> list[str]:
    """Why cells differ: each reason once, with its cells."""
    differing = [one for one in outcomes if one.verdict == DIFFERS]
    lines = []
    for because in dict.fromkeys(one.cell.because for one in differing):
        cells = [one for one in differing if one.cell.because == because]
        known = because or "no reason was found that we could test"
        verb = "differs" if len(cells) == 1 else "differ"
        lines.append(f"- {len(cells)} {verb} ({_names(cells)}): {known}.")
    return lines


def _names(outcomes: Sequence[Outcome]) -> str:
    names = [", ".join(filter(None, (o.cell.table, o.cell.row, o.cell.column))) for o in outcomes]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return "; ".join(names[:3]) + more


def grid(one: Grid, results: Results) -> list[str]:
    """Means and standard deviations over runs, and how many runs there are."""
    values = {
        label: [[r[q] for r in results.get(t, {}).values() if q in r] for _, t, q in points]
        for label, points in one.lines.items()
    }
    counts = sorted({len(runs) for row in values.values() for runs in row})
    runs = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else str(counts[0])
    head = [f"{one.title} ({runs} runs each)", *one.ticks, *filter(None, [one.beside_title])]
    lines = ["", "| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for label, row in values.items():
        texts = [_spread(runs, one.decimals) if runs else "not run" for runs in row]
        texts += [one.beside[label]] if one.beside else []
        lines.append(f"| `{label}` | " + " | ".join(texts) + " |")
    return (
        lines
        if one.beside
        else ["", f"<details><summary>{one.title}</summary>", *lines, "", "</details>"]
    )


def _spread(values: Sequence[float], digits: int) -> str:
    return f"{np.mean(values):,.{digits}f} ± {np.std(values):,.{digits}f}"


def count(outcomes: Sequence[Outcome], verdict: str) -> int:
    """How many published numbers have that verdict."""
    return sum(one.verdict == verdict for one in outcomes)


def published(experiment: Experiment) -> int:
    """How many published numbers an experiment has."""
    return sum(cell.published is not None for cell in experiment.cells)
