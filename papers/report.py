"""The page: totals, and for each paper what holds, its tables, and its figures."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from . import tables
from .experiment import Claim, Experiment, Panel, Paper, Scatter, is_measured
from .experiments.papers import COMPARISON, INTRODUCTION, LEGEND, PAPERS
from .store import Store
from .verdict import (
    DIFFERS,
    NOISY,
    OPEN,
    REPRODUCED,
    VERDICTS,
    Outcome,
    Results,
    count_claims,
    holds,
    judge,
)

_MANY = 6  # claims: more are folded
_GROUP = 10  # numbers of one table that differ: more are named at the top


class Section(NamedTuple):
    """An experiment with its results."""

    experiment: Experiment
    results: Results
    outcomes: Sequence[Outcome]
    store: Store


def section_of(store: Store) -> Section:
    """Judge all cells of an experiment."""
    results = store.results()
    return Section(store.experiment, results, judge(store.experiment, results), store)


def page(stores: Mapping[str, Store]) -> str:
    """All experiments on one page, with totals at the top."""
    sections = {i: section_of(store) for i, store in stores.items()}
    chapters = [
        (paper, [sections[e.id] for e in paper.experiments if e.id in sections])
        for paper in (*PAPERS, COMPARISON)
    ]
    shown = [(paper, found) for paper, found in chapters if found]
    parts = [
        _head(shown, list(stores.values())),
        *(_chapter(paper, found) for paper, found in shown),
    ]
    return "\n\n".join(parts) + "\n"


def _head(chapters: Sequence[tuple[Paper, Sequence[Section]]], stores: Sequence[Store]) -> str:
    return "\n".join([*INTRODUCTION, *_totals(chapters), "", *LEGEND, "", _costs(stores)])


def _costs(stores: Sequence[Store]) -> str:
    """How long all runs take, and the few of --quick, by the times of stored runs."""
    full = [store.estimate(lambda task: task.runs) for store in stores]
    quick = [store.estimate(lambda task: task.quick) for store in stores]
    runs = sum(task.runs for store in stores for task in store.experiment.tasks)
    unknown = sum(count for _, count in full)
    text = (
        "`python -m papers list` estimates the time of each experiment from stored runs: "
        f"{sum(s for s, _ in full) / 60:.0f} minutes of CPU for all runs, and "
        f"{sum(s for s, _ in quick) / 60:.1f} minutes for `python -m papers run all --quick`."
    )
    if unknown:
        text += (
            f" Without a stored time, and not counted, are {unknown:,} of {runs:,} runs, "
            f"{sum(count for _, count in quick)} of them quick."
        )
    return text


def _totals(chapters: Sequence[tuple[Paper, Sequence[Section]]]) -> list[str]:
    head = ["paper", "numbers", *VERDICTS, "claims that hold"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    every: list[Outcome] = []
    claims = [0, 0]
    for paper, sections in chapters:
        outcomes = [one for section in sections for one in section.outcomes if one.cell.published]
        if not outcomes:
            continue
        every += outcomes
        held = [count_claims(s.experiment, s.results) for s in sections]
        true, tested = (sum(pair[i] for pair in held) for i in (0, 1))
        claims = [claims[0] + true, claims[1] + tested]
        name = f"[{paper.name}](#{_anchor(paper.name)})"
        lines.append(_total_line(name, outcomes, true, tested))
    lines.append(_total_line("all", every, claims[0], claims[1]))
    return [*lines, "", _shares(every), *_where(chapters)]


def _shares(every: Sequence[Outcome]) -> str:
    """The totals in a sentence: of all numbers, and of those with enough runs."""
    alike, noisy, apart = (tables.count(every, verdict) for verdict in (REPRODUCED, NOISY, DIFFERS))
    judged = alike + noisy + apart
    if judged < len(every) / 2 or not judged:
        return _quick(judged, len(every))
    share = alike / len(every)
    return (
        f"{share:.0%} of the published numbers are reproduced under this rule. "
        f"Of the {judged} with enough runs, {alike / judged:.0%} are reproduced, "
        f"{noisy / judged:.0%} are too noisy, and {apart / judged:.0%} differ. "
        f"Within the limit are thus {(alike + noisy) / judged:.0%}. If all of them agreed, about "
        "one in twenty would still be outside of it by chance. Below each table are the reasons."
    )


def _quick(judged: int, numbers: int) -> str:
    """In place of the shares, if most numbers have too few runs."""
    return (
        f"Only {judged} of {numbers} numbers have the runs that a verdict needs, so that this page "
        "does not say how many are reproduced. It has values of a few runs beside the published "
        "ones, and shows that the experiments run. `python -m papers run all` adds the rest."
    )


def _where(chapters: Sequence[tuple[Paper, Sequence[Section]]]) -> list[str]:
    """The tables in which most numbers differ."""
    places: Counter[str] = Counter()
    for paper, sections in chapters:
        for section in sections:
            for one in section.outcomes:
                if one.verdict == DIFFERS:
                    places[_place(paper, section, one)] += 1
    apart, most = places.total(), [(place, n) for place, n in places.most_common() if n >= _GROUP]
    if not most:
        return []
    listed = "; ".join(f"{n} in {place}" for place, n in most)
    text = f"Of the {apart} that differ, most are in few places: {listed}."
    return ["", text + _others(chapters, most[0][0])]


def _others(chapters: Sequence[tuple[Paper, Sequence[Section]]], place: str) -> str:
    """What is left without the place where most numbers differ."""
    others = [
        one
        for paper, sections in chapters
        for section in sections
        for one in section.outcomes
        if one.cell.published and _place(paper, section, one) != place
    ]
    alike, noisy, apart = (tables.count(others, v) for v in (REPRODUCED, NOISY, DIFFERS))
    judged = max(1, alike + noisy + apart)
    return (
        f" Of the {judged} numbers with enough runs outside of {place}, {alike / judged:.0%} are "
        f"reproduced, and {(alike + noisy) / judged:.0%} are within the limit."
    )


def _place(paper: Paper, section: Section, one: Outcome) -> str:
    title = one.cell.table or section.experiment.title
    return f"{paper.name}, {title.partition(':')[0]}"


def _total_line(name: str, outcomes: Sequence[Outcome], true: int, tested: int) -> str:
    counts = [str(tables.count(outcomes, verdict) or "") for verdict in VERDICTS]
    held = f"{true} of {tested}" if tested else ""
    return "| " + " | ".join([name, str(len(outcomes)), *counts, held]) + " |"


def _chapter(paper: Paper, sections: Sequence[Section]) -> str:
    lines = [f"## {paper.name}", "", *([f"*{paper.reference}*", ""] if paper.reference else [])]
    lines.append(paper.conclusion)
    if paper.absent:
        lines += ["", "What cannot be had:", "", *(f"- {line}" for line in paper.absent)]
    if paper.bibtex:
        lines += ["", "<details><summary>BibTeX</summary>", "", "```bibtex", paper.bibtex, "```"]
        lines += ["", "</details>"]
    return "\n\n".join(["\n".join(lines), *map(section_text, sections)])


def section_text(section: Section) -> str:
    """One table or figure: notes, claims, tables, reasons, picture."""
    experiment, results, outcomes, store = section
    lines = [f"### {experiment.title}", "", experiment.notes, "", _provenance(store)]
    lines += _claims(experiment, results)
    if outcomes:
        lines += ["", *tables.in_layout(outcomes)]
        lines += ["", *tables.reasons(outcomes)] if tables.reasons(outcomes) else []
        lines += ["", f"[All values as CSV](papers/{experiment.id}.csv)"]
    for one in experiment.grids:
        lines += tables.grid(one, results)
    drawn = any(is_measured(panel, results) for panel in experiment.panels)
    if drawn:
        lines += ["", f"![{experiment.title}](papers/{experiment.id}.svg)"]
    if drawn and any(isinstance(p, Panel) and p.published for p in experiment.panels):
        lines += ["", "Diamonds are published values."]
    if drawn and any(isinstance(p, Scatter) for p in experiment.panels):
        lines += ["", "Colours are clients. Crosses are the centres of the first run."]
    if store.failed:
        names = sorted({why.partition(":")[0] for why in store.failed.values()})
        lines += ["", f"Missing data sets: {', '.join(names)}."]
    return "\n".join(lines)


def _provenance(store: Store) -> str:
    """How many runs there are, how long they took, and with which versions."""
    runs = [run for of_task in store.runs.values() for run in of_task.values()]
    tasks = store.experiment.tasks
    wanted = sum(task.runs for task in tasks)
    done = sum(min(task.runs, len(store.runs.get(task.name, {}))) for task in tasks)
    timed = [run.seconds for run in runs if run.seconds is not None]
    known = [run.versions for run in runs if run.versions]
    text = f"`python -m papers run {store.experiment.id}`: {done} of {wanted} runs"
    if timed:
        text += f", {sum(timed) / 60:.1f} minutes of CPU"
    if known:
        newest = known[-1]
        text += ", " + ", ".join(f"{name} {v}" for name, v in newest.items())
    if len(timed) < len(runs):
        text += f"; {len(runs) - len(timed)} runs are from before times and versions were stored"
    return text + "."


def _claims(experiment: Experiment, results: Results) -> list[str]:
    listed = [line for claim in experiment.claims if (line := _claim(claim, experiment, results))]
    if not listed:
        return []
    if len(listed) <= _MANY:
        return ["", *listed]
    true, tested = count_claims(experiment, results)
    summary = f"{true} of {tested} claims hold" if tested else "claims"
    return ["", f"<details><summary>{summary}</summary>", "", *listed, "", "</details>"]


def _claim(claim: Claim, experiment: Experiment, results: Results) -> str:
    state, count = holds(claim, experiment, results)
    if state == OPEN:
        return f"- {claim.text}: not run"
    shown = f"**{state}**" if state == "does not hold" else state
    reason = f"; {claim.because}" if claim.because and state == "does not hold" else ""
    return f"- {claim.text}: {shown} ({count}){reason}"


def _anchor(title: str) -> str:
    kept = "".join(c for c in title.lower() if c.isalnum() or c in " -_")
    return kept.replace(" ", "-")
