"""``fedclust budget``: find the epsilon that a study of a given size needs."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer


def budget(
    rows: Annotated[int, typer.Option(help="Rows of all clients together.")],
    clusters: Annotated[int, typer.Option(help="Number of clusters.")],
    features: Annotated[int, typer.Option(help="Number of features.")] = 2,
    clients: Annotated[int, typer.Option(help="Number of clients.")] = 10,
    tier: Annotated[
        str, typer.Option(help="Privacy tier: dp, or secure+dp, which needs 3 clients or more.")
    ] = "secure+dp",
    delta: Annotated[
        float, typer.Option(help="Privacy parameter delta: the probability that epsilon fails.")
    ] = 1e-6,
    seeds: Annotated[int, typer.Option(help="Number of runs for each epsilon.")] = 3,
    out: Annotated[
        Path | None, typer.Option(help="Also draw the scores, into a .png or .svg file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the scores as JSON.")] = False,
) -> None:
    """Try several values of epsilon on simulated data of this size.

    The data are round clusters, six standard deviations apart; real data may need a larger epsilon.
    The score is the adjusted Rand index: 1 is perfect agreement with the true clusters, 0 is none.
    """
    from .tools.budget import draw, try_epsilons

    tried = try_epsilons(rows, clusters, features, clients, tier=tier, delta=delta, n_seeds=seeds)
    if out is not None:
        draw(tried, out)
    if as_json:
        typer.echo(json.dumps([asdict(one) for one in tried]))
        return
    typer.echo(
        f"{rows:,} rows of {clients} clients, {clusters} clusters, {features} features, tier {tier}"
    )
    for one in tried:
        bar = "#" * round(40 * max(one.median, 0))
        typer.echo(f"epsilon {one.epsilon:<6g} {one.median:5.2f} (worst {one.worst:.2f})  {bar}")
    good = next((one.epsilon for one in tried if one.worst >= 0.95), None)
    if good:
        typer.echo(f"On such data epsilon = {good:g} is enough (at least 0.95 in every run).")
    else:
        typer.echo("None of these is enough (0.95 in every run); use more rows.")
