"""``fedclust budget``: which epsilon a study of a given size needs."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer


def budget(
    rows: Annotated[int, typer.Option(help="Rows of all clients together.")],
    clusters: Annotated[int, typer.Option(help="Number of clusters.")],
    features: Annotated[int, typer.Option(help="Columns that rows are compared by.")] = 2,
    clients: Annotated[int, typer.Option(help="Number of clients.")] = 10,
    tier: Annotated[str, typer.Option(help="dp, or secure+dp (from 3 clients on).")] = "secure+dp",
    delta: Annotated[float, typer.Option(help="The chance of telling more.")] = 1e-6,
    seeds: Annotated[int, typer.Option(help="Runs for each epsilon.")] = 3,
    out: Annotated[Path | None, typer.Option(help="Draw a picture, too (.png or .svg).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Try several epsilons on made-up data of this size, and show how well clusters are found.

    The data are round clusters six deviations apart: real ones may need more. 1 is a perfect
    agreement with the true clusters, 0 none.
    """
    from .tools.budget import draw, try_epsilons

    found = try_epsilons(rows, clusters, features, clients, tier=tier, delta=delta, n_seeds=seeds)
    if out is not None:
        draw(found, out)
    if as_json:
        typer.echo(json.dumps([asdict(one) for one in found]))
        return
    typer.echo(
        f"{rows:,} rows of {clients} clients, {clusters} clusters, {features} columns, {tier}"
    )
    for one in found:
        bar = "#" * round(40 * max(one.median, 0))
        typer.echo(f"epsilon {one.epsilon:<6g} {one.median:5.2f} (least {one.worst:.2f})  {bar}")
    good = next((one.epsilon for one in found if one.worst >= 0.95), None)
    words = f"epsilon = {good:g} finds them" if good else "none of these finds them: more rows"
    typer.echo(f"On such data {words} (at least 0.95 in every run).")
