"""``fedclust client``: run a client in the foreground."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from .printing import show
from .signals import exit_on_signals


def client(
    kit: Annotated[Path, typer.Argument(help="Folder of the client's kit.")],
    new_identity: Annotated[
        bool,
        typer.Option(
            "--new-identity", help="Make a new identity key that only you know, and exit."
        ),
    ] = False,
) -> None:
    """Connect to the server and answer the requests that client.toml allows, until Ctrl-C."""
    from ..deploy.run_client import change_identity, run_client

    console = Console()

    def tell(text: str) -> None:
        show(console, text)

    if new_identity:
        change_identity(kit, tell)
        return
    with exit_on_signals():
        run_client(kit, tell)
