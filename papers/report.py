"""Write results as JSON, as a table in Markdown, and as one page for all experiments."""

import json
import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from .experiment import VERDICTS, Claim, Experiment, Outcome, Panel, holds, judge

Results = Mapping[str, Mapping[str, list[float]]]
_DIGITS = 8  # of a stored value: further digits depend on the machine


def save(folder: Path, experiment: Experiment, results: Results, failed: Mapping[str, str]) -> None:
    """Save the quantities of all runs that the cells, claims and panels use."""
    used = _used(experiment)
    rounded = {
        task: {
            q: [float(f"{v:.{_DIGITS}g}") for v in values]
            for q, values in quantities.items()
            if (task, q) in used
        }
        for task, quantities in results.items()
    }
    lines = ",\n".join(
        f"{json.dumps(t)}: {json.dumps(f)}" for t, f in rounded.items()
    )  # one line per task
    text = (
        f'{{"id": "{experiment.id}", "failed": {json.dumps(failed)}, "results": {{\n{lines}\n}}}}\n'
    )
    (folder / f"{experiment.id}.json").write_text(text)


def _used(experiment: Experiment) -> set[tuple[str, str]]:
    cells = {(cell.task, cell.quantity) for cell in experiment.cells}
    claims = {(t, c.quantity) for c in experiment.claims for t in (c.smaller, c.larger)}
    lines = [line for panel in experiment.panels for line in panel.lines.values()]
    return cells | claims | {(task, quantity) for line in lines for _, task, quantity in line}


def load(folder: Path, experiment: Experiment) -> tuple[Results, dict[str, str]]:
    """Load the results that `save` wrote."""
    stored = json.loads((folder / f"{experiment.id}.json").read_text())
    return stored["results"], stored["failed"]


def section(experiment: Experiment, results: Results, failed: Mapping[str, str]) -> str:
    """One experiment in Markdown: claims, cells, notes."""
    outcomes = judge(experiment, results, failed)
    lines = [f"## {experiment.title}", ""]
    lines += [
        f"*{experiment.paper}* · `python -m papers run {experiment.id}`",
        "",
        experiment.notes,
    ]
    if results:
        lines += ["", f"![{experiment.title}](papers/{experiment.id}.svg)"]
    lines += ["", *(f"- {c.text}: {_claim_text(c, results)}" for c in experiment.claims)]
    for panel in experiment.panels:
        if panel.ticks:
            lines += ["", *_matrix(panel, results)]
    if outcomes:
        lines += ["", "| | method | published | tolerance | ours | runs | apart | verdict |"]
        lines += ["|---|---|---|---|---|---|---|---|", *map(_row, outcomes)]
    if failed:
        names = sorted({why.partition(":")[0] for why in failed.values()})
        lines += ["", f"Not available on the machine that ran this: {', '.join(names)}."]
    return "\n".join(lines)


def _claim_text(claim: Claim, results: Results) -> str:
    state = holds(claim, results)
    return f"**{state}**" if state == "does not hold" else state


def _matrix(panel: Panel, results: Results) -> list[str]:
    """A grid of means as a table, with the numbers of the figure."""
    lines = [f"| {panel.title} | " + " | ".join(panel.ticks) + " |"]
    lines.append("|---" * (len(panel.ticks) + 1) + "|")
    for label, points in panel.lines.items():
        cells = [results.get(t, {}).get(q, ()) for _, t, q in points]
        shown = [_short(sum(c) / len(c)) if c else "" for c in cells]
        lines.append(f"| {label} | " + " | ".join(shown) + " |")
    return lines


def _row(one: Outcome) -> str:
    cell = one.cell
    ours = apart = ""
    if one.runs:
        ours = _short(one.ours) + (f" ± {_short(one.sd)}" if cell.statistic != "std" else "")
        far = math.isinf(one.apart)
        apart = "" if math.isnan(one.apart) else "∞" if far else f"{one.apart:+.1f}"
    reason = ""
    if one.verdict in ("differs", "not obtainable"):
        reason = f": {cell.because or 'no known reason'}"
    tolerance = f"± {cell.tolerance:.2g}" if cell.tolerance and cell.published else ""
    shown = [cell.row, cell.column, cell.published or "-", tolerance, ours, one.runs or "", apart]
    return "| " + " | ".join(map(str, shown)) + f" | {one.verdict}{reason} |"


def _short(value: float) -> str:
    return f"{value:.4g}"


def page(found: Mapping[str, tuple[Experiment, Results, Mapping[str, str]]]) -> str:
    """All experiments on one page, with a summary at the top."""
    lines = [
        "# The papers, reproduced",
        "",
        "This page is written by `python -m papers page` from the runs in `docs/papers/`, which",
        "`make papers` creates (`python -m papers run all`). It compares every table and figure",
        "of the five papers with fedclust: published value, mean and standard deviation of our",
        "runs, the difference in standard deviations, and a verdict.",
        "",
        "- **reproduced**: within two standard deviations of our runs, unless these are more than",
        "  a quarter of the published value (**too noisy**), or within the tolerance stated;",
        "- **ordering holds**: the number differs, but the paper's claim about it holds;",
        "- **differs**: with the reason, if it is known;",
        "- **not obtainable**: the data are not available; **no data here**: not on the machine",
        "  that ran this; **not run**: omitted here because it is too slow.",
        "",
        "A claim holds if the means differ by more than two standard errors; otherwise it is a",
        "tie. A dash marks a number that the paper does not print, or that is illegible in our",
        "copy. For the speed compared with the authors' code, see [benchmarks](benchmarks.md).",
        "",
        "| experiment | " + " | ".join(VERDICTS) + " | claims that hold |",
        "|---" * (len(VERDICTS) + 2) + "|",
    ]
    for experiment, results, failed in found.values():
        counts = Counter(one.verdict for one in judge(experiment, results, failed))
        claims = count_claims(experiment, results)
        title = f"[{experiment.title}](#{_anchor(experiment.title)})"
        lines.append(
            "| " + " | ".join([title, *(str(counts[v] or "") for v in VERDICTS), claims]) + " |"
        )
    return "\n".join(lines) + "\n\n" + "\n\n".join(section(*one) for one in found.values()) + "\n"


def count_claims(experiment: Experiment, results: Results) -> str:
    """How many of the tested claims hold, as text."""
    ran = [k for k in (holds(claim, results) for claim in experiment.claims) if k != "not run"]
    return f"{ran.count('holds')} of {len(ran)}" if ran else ""


def _anchor(title: str) -> str:
    kept = "".join(c for c in title.lower() if c.isalnum() or c in " -_")
    return kept.replace(" ", "-")
