"""``fedclust papers``: the papers' tables and figures, run again."""

from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from ..algorithms import did_you_mean
from ..core import ConfigError

app = typer.Typer(help="Run the papers' experiments, beside their published values.")


@app.command(name="list")
def list_() -> None:
    """List the experiments."""
    from ..papers.experiments import EXPERIMENTS

    table = Table()
    for heading in ("id", "paper", "what", "runs", "quick"):
        table.add_column(heading, no_wrap=heading == "id")
    for one in EXPERIMENTS.values():
        runs, quick = (sum(getattr(t, n) for t in one.tasks) for n in ("runs", "quick"))
        table.add_row(one.id, one.paper, one.title, str(runs), str(quick))
    Console().print(table)


@app.command()
def run(
    id: Annotated[str, typer.Argument(help="An experiment's id, the beginning of some, or 'all'.")],
    quick: Annotated[bool, typer.Option(help="Few runs, and none that takes minutes.")] = False,
    runs: Annotated[int | None, typer.Option(min=1, help="Runs of each task.")] = None,
    out: Annotated[Path, typer.Option(help="Where results, tables and figures go.")] = Path(
        "papers"
    ),
) -> None:
    """Run experiments; what an interrupted run has finished is not run again."""
    from ..papers.harness import jobs
    from ..papers.report import page

    chosen = _chosen(id)
    if quick and runs is not None:
        raise ConfigError("--quick and --runs: give one of them")
    if out.exists() and not out.is_dir():
        raise ConfigError(f"--out: {out} is not a folder")
    out.mkdir(parents=True, exist_ok=True)
    console = Console()
    wanted = {i: jobs(e, quick=quick, runs=runs) for i, e in chosen.items()}
    found = _made(console, chosen, wanted, out)
    ordered = {i: found[i] for i in chosen}
    (out / "papers.md").write_text(page(ordered).replace("](papers/", "]("))
    _summary(console, ordered)
    absent = {why.partition(":")[0] for _, _, failed in found.values() for why in failed.values()}
    if absent:
        console.print(
            f"Not here: {', '.join(sorted(absent))}. Put the files into the folder that "
            "FEDCLUST_DATA names, or load them once with fedclust.datasets.load."
        )
    console.print(f"Tables and figures: {out / 'papers.md'}")


def _chosen(id: str) -> dict[str, Any]:
    from ..papers.experiments import EXPERIMENTS

    chosen = {i: e for i, e in EXPERIMENTS.items() if id == "all" or (id and i.startswith(id))}
    if not chosen:
        raise ConfigError(f"no experiment {id!r}{did_you_mean(id, EXPERIMENTS)}; see papers list")
    return chosen


def _made(console: Console, chosen: dict[str, Any], wanted: Any, out: Path) -> dict[str, Any]:
    """Make all runs, with the time left shown, and store each experiment when it is finished."""
    from ..papers.harness import execute
    from ..papers.report import save

    found = {}
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("starting", total=sum(map(len, wanted.values())))

        def say(text: str, n: int) -> None:
            progress.update(bar, advance=n, description=text[:48])

        try:
            with closing(execute(wanted, out / "runs", say)) as finished:
                for i, results, failed in finished:
                    found[i] = (chosen[i], results, failed)
                    save(out, chosen[i], results, failed)
                    _draw(chosen[i], results, out)
        except KeyboardInterrupt:
            console.print("Stopped. Finished runs are kept: the same command goes on from here.")
            raise typer.Exit(130) from None
    return found


def _draw(experiment: Any, results: Any, out: Path) -> None:
    if not results:
        return
    try:
        from ..papers.figures import draw
    except ImportError:  # no matplotlib: tables are all there is
        return
    draw(experiment, results, out)


def _summary(console: Console, found: dict[str, Any]) -> None:
    from ..papers.experiment import VERDICTS, judge
    from ..papers.report import kept_claims

    table = Table(title="Verdicts")
    for heading in ("experiment", "cells", "claims that hold"):
        table.add_column(heading, no_wrap=heading == "experiment")
    for i, (experiment, results, failed) in found.items():
        counts = Counter(one.verdict for one in judge(experiment, results, failed))
        cells = ", ".join(f"{counts[v]} {v}" for v in VERDICTS if counts[v])
        table.add_row(i, cells, kept_claims(experiment, results))
    console.print(table)


@app.command()
def page(
    stored: Annotated[Path, typer.Argument(help="A folder of stored results.")] = Path(
        "docs/papers"
    ),
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("docs/papers.md"),
) -> None:
    """Write the page and its figures from stored results, running nothing."""
    from ..papers.experiments import EXPERIMENTS
    from ..papers.report import load
    from ..papers.report import page as written

    found = {}
    for i, experiment in EXPERIMENTS.items():
        if (stored / f"{i}.json").is_file():
            found[i] = (experiment, *load(stored, experiment))
            _draw(experiment, found[i][1], stored)
    if not found:
        raise ConfigError(f"{stored}: there are no stored results")
    out.write_text(written(found))
    Console().print(f"{out}: {len(found)} experiments")
