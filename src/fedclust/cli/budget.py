"""``fedclust budget``: find the epsilon that a study of a given size needs."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer


def budget(
    study: Annotated[
        Path | None,
        typer.Argument(help="Study file, from which sizes are read unless options give them."),
    ] = None,
    rows: Annotated[int | None, typer.Option(help="Rows of all clients together.")] = None,
    clusters: Annotated[int | None, typer.Option(help="Number of clusters.")] = None,
    features: Annotated[
        int | None, typer.Option(help="Number of features; default: 2.", show_default=False)
    ] = None,
    clients: Annotated[
        int | None, typer.Option(help="Number of clients; default: 10.", show_default=False)
    ] = None,
    tier: Annotated[
        str | None,
        typer.Option(help="Privacy tier: dp, or secure+dp (the default), for 3 clients or more."),
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(help="Privacy parameter delta, the probability that epsilon fails: 1e-6."),
    ] = None,
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
    from .tools.budget import Sizes, draw, read_sizes, try_epsilons

    given = Sizes(rows, clusters, features, clients, tier, delta)
    sizes = given.complete(Sizes() if study is None else read_sizes(study))
    n_rows, k, n_features, n_clients, tier, delta = sizes
    tried = try_epsilons(n_rows, k, n_features, n_clients, tier=tier, delta=delta, n_seeds=seeds)
    if out is not None:
        draw(tried, out)
    if as_json:
        typer.echo(json.dumps([asdict(one) for one in tried]))
        return
    typer.echo(
        f"{n_rows:,} rows of {n_clients} clients, {k} clusters, {n_features} features, tier {tier}"
    )
    for one in tried:
        bar = "#" * round(40 * max(one.median, 0))
        typer.echo(f"epsilon {one.epsilon:<6g} {one.median:5.2f} (worst {one.worst:.2f})  {bar}")
    good = next((one.epsilon for one in tried if one.worst >= 0.95), None)
    if good:
        typer.echo(f"On such data epsilon = {good:g} is enough (at least 0.95 in every run).")
    else:
        typer.echo("None of these is enough (0.95 in every run); use more rows.")
