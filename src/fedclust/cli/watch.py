"""``fedclust watch``: one page that shows what a study or a client does."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ..core.errors import ConfigError
from ..core.extras import install_command, missing_extras
from .printing import show


def watch(
    path: Annotated[
        Path,
        typer.Argument(
            help="A study file, the folder of a run, the folder of a coordinator's kits, or a "
            "client's kit."
        ),
    ],
    port: Annotated[int, typer.Option(help="Port on 127.0.0.1. Default: one that is free.")] = 0,
    terminal: Annotated[
        bool, typer.Option("--terminal", help="Show it in this terminal instead, as over SSH.")
    ] = False,
) -> None:
    """Show a study while it runs, or what has left a client, on a page of this machine.

    The page only reads files. It can be opened and ended at any time, and the study goes on. On
    this machine, everybody who has the printed address can read the page. No other machine can.
    """
    from ..watch.sources import open_source

    if not terminal and (absent := missing_extras(["watch"])):
        raise ConfigError(
            f"the page needs more packages: {install_command(absent)}; or use --terminal"
        )
    source, console = open_source(path), Console()
    try:
        if terminal:
            from ..watch.terminal import show as show_here

            show_here(source, console)
            return
        from ..watch.server import serve

        serve(
            source, port, lambda address: show(console, f"{address}  (Ctrl-C ends the page only)")
        )
    except KeyboardInterrupt:
        return
