"""``python -m papers``: reproduce the papers' tables and figures, from a checkout."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from . import report
from .experiment import Experiment, Task, is_measured
from .experiments import EXPERIMENTS
from .harness import Job, execute, open_jobs
from .store import Store
from .tables import as_csv
from .verdict import VERDICTS, count_claims, judge

app = typer.Typer(
    help="Run the papers' experiments and compare them with the published values.",
    pretty_exceptions_enable=False,
)


@app.command(name="list")
def list_(
    stored: Annotated[
        Path, typer.Argument(help="Stored results, from which times are estimated.")
    ] = Path("docs/papers"),
) -> None:
    """List the experiments, and the minutes of CPU that they take."""
    table = Table()
    for heading in ("id", "what", "runs", "minutes", "quick runs", "minutes"):
        table.add_column(heading, no_wrap=heading == "id")
    counts: tuple[Callable[[Task], int], ...] = (lambda task: task.runs, lambda task: task.quick)
    totals = [(0, 0.0, 0), (0, 0.0, 0)]
    for one in EXPERIMENTS.values():
        store = Store.read(stored, one)
        here = [(sum(map(n, one.tasks)), *store.estimate(n)) for n in counts]
        totals = [_add(*pair) for pair in zip(totals, here, strict=True)]
        table.add_row(one.id, one.title, *_costs(here))
    table.add_row("all", "", *_costs(totals))
    Console().print(table)


Cost = tuple[int, float, int]  # runs, CPU seconds, and runs whose time is not known


def _add(a: Cost, b: Cost) -> Cost:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def _costs(costs: Sequence[Cost]) -> list[str]:
    """Runs and minutes; a plus where the time of some runs is not known."""
    return [
        text
        for runs, seconds, unknown in costs
        for text in (str(runs), f"{seconds / 60:.1f}" + ("+" if unknown else ""))
    ]


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
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; one per core.")] = None,
    minutes: Annotated[float | None, typer.Option(min=0, help="Stop after this time.")] = None,
) -> None:
    """Run experiments. Every finished run is kept, and is not repeated by a further call."""
    chosen = [e for i, e in EXPERIMENTS.items() if id == "all" or (id and i.startswith(id))]
    if not chosen:
        raise typer.BadParameter(
            f"unknown experiment {id!r}; 'python -m papers list' shows all ids"
        )
    if quick and runs is not None:
        raise typer.BadParameter("--quick and --runs cannot be combined; use one of them")
    out.mkdir(parents=True, exist_ok=True)
    console = Console()
    stores = {one.id: Store.read(out, one) for one in chosen}
    jobs = open_jobs(list(stores.values()), quick=quick, runs=runs)
    _execute(console, jobs, workers, None if minutes is None else 60 * minutes)
    _write(stores, out, out / "papers.md")
    _print_verdicts(console, stores)
    absent = {why.partition(":")[0] for store in stores.values() for why in store.failed.values()}
    if absent:
        console.print(
            f"Missing data sets: {', '.join(sorted(absent))}. Put the files into the folder set by "
            "FEDCLUST_DATA, or load them once with fedclust.datasets.load."
        )
    console.print(f"Tables and figures: {out / 'papers.md'}")


def _execute(
    console: Console, jobs: Sequence[Job], workers: int | None, seconds: float | None
) -> None:
    """Run all jobs and show the remaining time."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    again = "Finished runs are kept; the same command continues from here."
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("starting", total=len(jobs))

        def show(text: str, n: int) -> None:
            progress.update(bar, advance=n, description=text[:48])

        try:
            if not execute(jobs, show, workers=workers, seconds=seconds):
                console.print(f"The time is over. {again}")
        except KeyboardInterrupt:
            console.print(f"Stopped. {again}")
            raise typer.Exit(130) from None


def _write(stores: Mapping[str, Store], folder: Path, out: Path) -> None:
    """Write the page, a CSV file per experiment, and the figures."""
    text = report.page(stores)
    out.write_text(text if out.parent != folder else text.replace("](papers/", "]("))
    for id, store in stores.items():
        if store.experiment.cells:
            outcomes = judge(store.experiment, store.results())
            (folder / f"{id}.csv").write_text(as_csv(outcomes))
        _draw(store, folder)


def _draw(store: Store, folder: Path) -> None:
    """Draw the figure if there are results and matplotlib is installed."""
    results = store.results()
    if not any(is_measured(panel, results) for panel in store.experiment.panels):
        (folder / f"{store.experiment.id}.svg").unlink(missing_ok=True)  # of an earlier call
        return
    try:
        from .figures import draw
    except ImportError:
        return
    draw(store.experiment, results, folder)


def _print_verdicts(console: Console, stores: Mapping[str, Store]) -> None:
    table = Table(title="Verdicts")
    for heading in ("experiment", "published numbers", "claims that hold"):
        table.add_column(heading, no_wrap=heading == "experiment")
    for id, store in stores.items():
        results = store.results()
        counts = Counter(one.verdict for one in judge(store.experiment, results))
        cells = ", ".join(f"{counts[v]} {v}" for v in VERDICTS if counts[v])
        true, tested = count_claims(store.experiment, results)
        table.add_row(id, cells, f"{true} of {tested}" if tested else "")
    console.print(table)


@app.command()
def page(
    stored: Annotated[Path, typer.Argument(help="A folder of stored results.")] = Path(
        "docs/papers"
    ),
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("docs/papers.md"),
) -> None:
    """Write the page, its tables and its figures from stored results, without running anything."""
    stores = read_all(stored)
    if not any(store.runs for store in stores.values()):
        raise typer.BadParameter(f"{stored} contains no stored results")
    _write(stores, stored, out)
    Console().print(f"{out}: {len(stores)} experiments")


def read_all(folder: Path) -> dict[str, Store]:
    """The stored runs of all experiments that a folder has."""
    return {i: Store.read(folder, e) for i, e in EXPERIMENTS.items() if _has(folder, e)}


def _has(folder: Path, experiment: Experiment) -> bool:
    return (folder / f"{experiment.id}.json").is_file()


if __name__ == "__main__":
    app()
