"""``fedclust flower-app``: a study as an app of Flower."""

from pathlib import Path
from typing import Annotated

import typer


def flower_app(
    folder: Annotated[Path, typer.Argument(help="A new folder for the app.")],
    study: Annotated[Path, typer.Option(help="The study file, where the SuperLink runs.")],
    out: Annotated[
        Path | None, typer.Option(help="The run's folder there; else beside the study.")
    ] = None,
    deadline: Annotated[float, typer.Option(help="Seconds for a client's answer.")] = 120.0,
    min_clients: Annotated[int, typer.Option(help="Fewest clients to begin with.")] = 1,
    kits: Annotated[
        Path | None, typer.Option(help="For a simulation: a folder with one for each client.")
    ] = None,
) -> None:
    """Write a folder with which `flwr run` runs a study; no code goes with it."""
    from ..deploy.flower.folder import ENVIRONMENT, write_app

    write_app(
        folder,
        {
            "study": str(study.absolute()),
            "out": str(out.absolute()) if out else "",
            "deadline": deadline,
            "min_clients": min_clients,
            "kits": str(kits.absolute()) if kits else "",
        },
    )
    typer.echo(f"Wrote {folder}. At the SuperLink, the SuperNodes and here, set first:")
    for name, value in ENVIRONMENT.items():
        typer.echo(f"  export {name}={value}")
    typer.echo(f"then run it over the connection of your Flower: flwr run {folder} CONNECTION")
