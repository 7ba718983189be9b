"""``fedclust flower-app``: write a study as a Flower app."""

from pathlib import Path
from typing import Annotated

import typer


def flower_app(
    folder: Annotated[Path, typer.Argument(help="A new folder for the app.")],
    study: Annotated[Path, typer.Option(help="The study file, on the SuperLink's machine.")],
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the results there. Default: beside the study file."),
    ] = None,
    deadline: Annotated[float, typer.Option(help="Seconds to wait for a client's reply.")] = 120.0,
    min_clients: Annotated[int, typer.Option(help="Smallest number of clients to start with.")] = 1,
    kits: Annotated[
        Path | None,
        typer.Option(
            help="Only for a simulation on one machine: a folder with one kit per client."
        ),
    ] = None,
) -> None:
    """Write an app folder for `flwr run`; it contains no code."""
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
    typer.echo(f"Wrote {folder}. First set, on the SuperLink, on all SuperNodes and here:")
    for name, value in ENVIRONMENT.items():
        typer.echo(f"  export {name}={value}")
    typer.echo(f"Then run it over one of your Flower connections: flwr run {folder} CONNECTION")
