"""``python -m papers``: reproduce the papers' tables and figures, from a checkout."""

from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from . import report
from .experiment import VERDICTS, Experiment, judge
from .experiments import EXPERIMENTS
from .harness import Job, execute, jobs

Findings = dict[str, tuple[Experiment, report.Results, Mapping[str, str]]]
app = typer.Typer(
    help="Run the papers' experiments and compare them with the published values.",
    pretty_exceptions_enable=False,
)


@app.command(name="list")
def list_() -> None:
    """List the experiments."""
    table = Table()
    for heading in ("id", "paper", "what", "runs", "quick"):
        table.add_column(heading, no_wrap=heading == "id")
    for one in EXPERIMENTS.values():
        runs, quick = (sum(getattr(t, n) for t in one.tasks) for n in ("runs", "quick"))
        table.add_row(one.id, one.paper, one.title, str(runs), str(quick))
    Console().print(table)


@app.command()
def run(
    id: Annotated[
        str, typer.Argument(help="Id of an experiment, common prefix of several ids, or 'all'.")
    ],
    quick: Annotated[bool, typer.Option(help="Few runs, without tasks that take minutes.")] = False,
    runs: Annotated[int | None, typer.Option(min=1, help="Runs of each task.")] = None,
    out: Annotated[
        Path, typer.Option(file_okay=False, help="Folder for results, tables and figures.")
    ] = Path("build/papers"),
) -> None:
    """Run experiments; finished runs of an interrupted command are not repeated."""
    chosen = {i: e for i, e in EXPERIMENTS.items() if id == "all" or (id and i.startswith(id))}
    if not chosen:
        raise typer.BadParameter(
            f"unknown experiment {id!r}; 'python -m papers list' shows all ids"
        )
    if quick and runs is not None:
        raise typer.BadParameter("--quick and --runs cannot be combined; use one of them")
    out.mkdir(parents=True, exist_ok=True)
    console = Console()
    wanted = {i: jobs(e, quick=quick, runs=runs) for i, e in chosen.items()}
    findings = _run_all(console, wanted, out)
    ordered = {i: findings[i] for i in chosen}
    (out / "papers.md").write_text(report.page(ordered).replace("](papers/", "]("))
    _print_verdicts(console, ordered)
    reasons = [reason for _, _, failed in findings.values() for reason in failed.values()]
    absent = {reason.partition(":")[0] for reason in reasons}
    if absent:
        console.print(
            f"Missing data sets: {', '.join(sorted(absent))}. Put the files into the folder set by "
            "FEDCLUST_DATA, or load them once with fedclust.datasets.load."
        )
    console.print(f"Tables and figures: {out / 'papers.md'}")


def _run_all(console: Console, wanted: Mapping[str, list[Job]], out: Path) -> Findings:
    """Run all jobs, show the remaining time, and store each experiment when it is finished."""
    findings: Findings = {}
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("starting", total=sum(map(len, wanted.values())))

        def show(text: str, n: int) -> None:
            progress.update(bar, advance=n, description=text[:48])

        try:
            with closing(execute(wanted, out / "runs", show)) as finished:
                for i, results, failed in finished:
                    findings[i] = (EXPERIMENTS[i], results, failed)
                    report.save(out, *findings[i])
                    _draw(EXPERIMENTS[i], results, out)
        except KeyboardInterrupt:
            console.print("Stopped. Finished runs are kept; the same command continues from here.")
            raise typer.Exit(130) from None
    return findings


def _draw(experiment: Experiment, results: report.Results, out: Path) -> None:
    """Draw the figure if there are results and matplotlib is installed."""
    if not results:
        return
    try:
        from .figures import draw
    except ImportError:
        return
    draw(experiment, results, out)


def _print_verdicts(console: Console, findings: Findings) -> None:
    table = Table(title="Verdicts")
    for heading in ("experiment", "cells", "claims that hold"):
        table.add_column(heading, no_wrap=heading == "experiment")
    for i, (experiment, results, failed) in findings.items():
        counts = Counter(one.verdict for one in judge(experiment, results, failed))
        cells = ", ".join(f"{counts[v]} {v}" for v in VERDICTS if counts[v])
        table.add_row(i, cells, report.count_claims(experiment, results))
    console.print(table)


@app.command()
def page(
    stored: Annotated[Path, typer.Argument(help="A folder of stored results.")] = Path(
        "docs/papers"
    ),
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("docs/papers.md"),
) -> None:
    """Write the page and its figures from stored results, without running anything."""
    findings: Findings = {}
    for i, experiment in EXPERIMENTS.items():
        if (stored / f"{i}.json").is_file():
            findings[i] = (experiment, *report.load(stored, experiment))
            _draw(experiment, findings[i][1], stored)
    if not findings:
        raise typer.BadParameter(f"{stored} contains no stored results")
    out.write_text(report.page(findings))
    Console().print(f"{out}: {len(findings)} experiments")


if __name__ == "__main__":
    app()
