"""``fedclust client``: answer for one client, in the foreground."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from .signals import ended_by_signals


def client(
    kit: Annotated[Path, typer.Argument(help="The client's kit: a folder.")],
    new_identity: Annotated[
        bool,
        typer.Option("--new-identity", help="Make an identity that only you know, and stop."),
    ] = False,
) -> None:
    """Connect out to the server, and answer what client.toml allows, until ended (Ctrl-C)."""
    from ..deploy.run_client import change_identity, run_client

    console = Console()

    def say(words: str) -> None:
        console.print(words, markup=False, highlight=False, soft_wrap=True)

    if new_identity:
        change_identity(kit, say)
        return
    with ended_by_signals():
        run_client(kit, say)
