"""``fedclust simulate``: run a study over many simulated clients in one process."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer


def simulate(
    study: Annotated[Path, typer.Argument(help="The study file.")],
    clients: Annotated[int, typer.Option(help="Number of simulated clients.")] = 1000,
    split: Annotated[
        str,
        typer.Option(
            help="How rows are distributed: iid (at random) or dirichlet (clients have unequal "
            "shares of the clusters)."
        ),
    ] = "iid",
    alpha: Annotated[
        float,
        typer.Option(help="With dirichlet: the smaller, the more unequal the shares are."),
    ] = 0.5,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Distribute the study's rows over simulated clients, and run its algorithm on them.

    Prints the cost, and compares the result with that of one client with all rows. Writes no files.
    """
    from ..study import read_study
    from .tools.simulate import simulate as run

    result = run(read_study(study), clients, split, alpha)
    if as_json:
        typer.echo(json.dumps(asdict(result)))
        return
    fewest, median, most = result.rows
    typer.echo(f"{result.algorithm}: {result.clients:,} clients with {fewest} to {most} rows "
               f"(median {median})")  # fmt: skip
    typer.echo(f"{result.rounds} rounds in {result.seconds:.2f} s; {result.bytes_up:,} bytes sent")
    ratio = result.inertia / result.pooled if result.pooled else 1.0
    typer.echo(f"inertia {result.inertia:.6g}, {ratio:.6f} times that of one client with all rows")
