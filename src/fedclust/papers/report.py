"""What an experiment found, as JSON, as a table in Markdown, and as one page for all."""

import json
import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..core.checkpoint import write_atomically
from .experiment import VERDICTS, Experiment, Outcome, holds, judge

Results = Mapping[str, Mapping[str, list[float]]]
_DIGITS = 8  # of a stored value: what differs beyond is the machine


def save(folder: Path, experiment: Experiment, results: Results, failed: Mapping[str, str]) -> None:
    """All runs of an experiment, as numbers: the quantities that its cells, claims, panels name."""
    used = _used(experiment)
    rounded = {
        task: {
            q: [float(f"{v:.{_DIGITS}g}") for v in values]
            for q, values in found.items()
            if (task, q) in used
        }
        for task, found in results.items()
    }
    lines = ",\n".join(
        f"{json.dumps(t)}: {json.dumps(f)}" for t, f in rounded.items()
    )  # a task each
    text = (
        f'{{"id": "{experiment.id}", "failed": {json.dumps(failed)}, "results": {{\n{lines}\n}}}}\n'
    )
    write_atomically(folder / f"{experiment.id}.json", lambda file: _write(file, text))


def _used(experiment: Experiment) -> set[tuple[str, str]]:
    cells = {(cell.task, cell.quantity) for cell in experiment.cells}
    claims = {(t, c.quantity) for c in experiment.claims for t in (c.smaller, c.larger)}
    lines = [line for panel in experiment.panels for line in panel.lines.values()]
    return cells | claims | {(task, quantity) for line in lines for _, task, quantity in line}


def load(folder: Path, experiment: Experiment) -> tuple[Results, dict[str, str]]:
    """What `save` wrote."""
    stored = json.loads((folder / f"{experiment.id}.json").read_text())
    return stored["results"], stored["failed"]


def section(experiment: Experiment, results: Results, failed: Mapping[str, str]) -> str:
    """One experiment in Markdown: claims, cells, notes."""
    outcomes = judge(experiment, results, failed)
    lines = [
        f"## {experiment.title}",
        "",
        f"*{experiment.paper}* · `fedclust papers run {experiment.id}`",
    ]
    lines += ["", experiment.notes, "", f"![{experiment.title}](papers/{experiment.id}.svg)"]
    for claim in experiment.claims:
        said = {True: "holds", False: "**does not hold**", None: "not run"}[holds(claim, results)]
        lines += (
            ["", f"- {claim.text}: {said}"]
            if claim is experiment.claims[0]
            else [f"- {claim.text}: {said}"]
        )
    if outcomes:
        lines += ["", "| | method | published | ours | runs | apart | verdict |"]
        lines += ["|---|---|---|---|---|---|---|", *map(_row, outcomes)]
    for task, why in failed.items():
        lines += ["", f"{task}: {why}"]
    return "\n".join(lines)


def _row(one: Outcome) -> str:
    cell = one.cell
    if one.runs == 0:
        ours, apart = "", ""
    else:
        ours = f"{_short(one.ours)} ± {_short(one.sd)}"
        apart = (
            "" if math.isnan(one.apart) else "∞" if math.isinf(one.apart) else f"{one.apart:+.1f}"
        )
    reason = (
        f": {cell.because}" if one.verdict in ("differs", "not obtainable") and cell.because else ""
    )
    if one.verdict == "differs" and not reason:
        reason = ": no reason found"
    shown = [cell.row, cell.column, cell.published or "", ours, one.runs or "", apart]
    return "| " + " | ".join(map(str, shown)) + f" | {one.verdict}{reason} |"


def _short(value: float) -> str:
    return f"{value:.4g}"


def page(found: Mapping[str, tuple[Experiment, Results, Mapping[str, str]]]) -> str:
    """All experiments on one page, a summary first."""
    lines = [
        "# The papers, reproduced",
        "",
        "Written by `fedclust papers page` from the runs stored in `docs/papers/`, which",
        "`make papers` makes (`fedclust papers run all`). Every table and figure of the five",
        "papers beside what fedclust finds: published value, mean and standard deviation of our",
        "runs, the difference in standard deviations, and a verdict.",
        "",
        "- **reproduced**: within two standard deviations of our runs, or within the tolerance",
        "  that the experiment's file states;",
        "- **ordering holds**: the number differs, what the paper argues from it is there;",
        "- **differs**: with the reason, where one was found;",
        "- **not obtainable**: the data is not to be had; **not run**: left out here, too slow.",
        "",
        "| experiment | " + " | ".join(VERDICTS) + " | claims that hold |",
        "|---" * (len(VERDICTS) + 2) + "|",
    ]
    for experiment, results, failed in found.values():
        counts = Counter(one.verdict for one in judge(experiment, results, failed))
        kept = [holds(claim, results) for claim in experiment.claims]
        ran = [k for k in kept if k is not None]
        claims = f"{sum(ran)} of {len(ran)}" if ran else ""
        title = f"[{experiment.title}](#{_anchor(experiment.title)})"
        lines.append(
            "| " + " | ".join([title, *(str(counts[v] or "") for v in VERDICTS), claims]) + " |"
        )
    return "\n".join(lines) + "\n\n" + "\n\n".join(section(*one) for one in found.values()) + "\n"


def _anchor(title: str) -> str:
    kept = "".join(c for c in title.lower() if c.isalnum() or c in " -_")
    return kept.replace(" ", "-")


def _write(file: Any, text: str) -> None:
    file.write(text.encode())
