"""``fedclust client``: answer for one client, in the foreground."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from .signals import ended_by_signals


def client(
    kit: Annotated[Path, typer.Argument(help="The client's kit: a folder.")],
) -> None:
    """Connect out to the server, and answer what client.toml allows, until ended (Ctrl-C)."""
    from ..federation.member import run_client

    console = Console()
    with ended_by_signals():
        run_client(kit, lambda words: console.print(words, markup=False, highlight=False))
