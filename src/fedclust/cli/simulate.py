"""``fedclust simulate``: the same question, put to many more clients in one process."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer


def simulate(
    study: Annotated[Path, typer.Argument(help="The study file.")],
    clients: Annotated[int, typer.Option(help="How many clients there are to be.")] = 1000,
    split: Annotated[
        str, typer.Option(help="iid: all alike; dirichlet: their own share of each cluster.")
    ] = "iid",
    alpha: Annotated[float, typer.Option(help="Of the Dirichlet: small is uneven.")] = 0.5,
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Deal the study's rows to simulated clients, and run its algorithm over them.

    Says what it costs and how far the result is from one client with all rows. Nothing is written.
    """
    from ..study import read_study
    from .tools.simulate import simulate as run

    found = run(read_study(study), clients, split, alpha)
    if as_json:
        typer.echo(json.dumps(asdict(found)))
        return
    fewest, median, most = found.rows
    typer.echo(f"{found.algorithm}: {found.clients:,} clients of {fewest} to {most} rows "
               f"(median {median})")  # fmt: skip
    typer.echo(f"{found.rounds} rounds in {found.seconds:.2f} s; {found.bytes_up:,} bytes sent")
    ratio = found.inertia / found.pooled if found.pooled else 1.0
    typer.echo(f"inertia {found.inertia:.6g}, {ratio:.6f} of that of one client with all rows")
