"""``fedclust run``: from a study file to clusters, and labels at each client."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table


def run(
    study: Annotated[Path, typer.Argument(help="The study file.")],
    out: Annotated[
        Path | None, typer.Option(help="The run's folder; else beside the study.")
    ] = None,
    force: Annotated[bool, typer.Option(help="Replace a folder that is there.")] = False,
) -> None:
    """Run a study in one process: all clients' files are at hand.

    Writes model.json, history.jsonl, the study as it was, and a file of labels for each client.
    """
    from ..study import read_study
    from ..study.run import run_study

    console = Console()
    asked = read_study(study)
    folder = out or study.with_name(f"{study.stem}-run")
    with console.status("clustering"):
        done = run_study(asked, folder, force=force)
    table = Table(title=f"{len(done.centers)} clusters in {done.clustering.run.n_rounds} rounds")
    table.add_column("cluster", justify="right")
    table.add_column("rows", justify="right")
    for name in done.preparation.names:
        table.add_column(name, justify="right")
    for c, (size, centre) in enumerate(zip(done.sizes, done.in_units, strict=True)):
        table.add_row(str(c), f"{size:,}", *(f"{v:.4g}" for v in centre))
    console.print(table)
    if empty := int((done.sizes == 0).sum()):
        console.print(f"{empty} clusters have no rows: choose fewer, or another start.")
    console.print(f"Labels, model and history: {folder}")
