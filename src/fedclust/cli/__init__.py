"""The command line: one file per command; parse, call, print."""

from typing import Annotated

import typer

from .. import __version__
from . import algorithms, demo

app = typer.Typer(
    name="fedclust",
    help="Federated clustering: the clusters of everybody's data, and no row leaves its owner.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command(name="demo")(demo.demo)
app.command(name="algorithms")(algorithms.algorithms)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fedclust {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show it.")
    ] = False,
) -> None:
    """Federated clustering: the clusters of everybody's data, and no row leaves its owner."""
