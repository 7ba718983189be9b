"""``fedclust provision``: certificates and kits for a federation."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console


def provision(
    federation: Annotated[Path, typer.Argument(help="The federation file.")],
    out: Annotated[Path | None, typer.Option(help="Folder of the kits; else beside it.")] = None,
) -> None:
    """Make a kit for the server, one for each client, and the coordinator's certificate.

    Run again after a client was added: kits that are there are not touched.
    """
    from ..federation.federation_file import read_federation
    from ..federation.kits import provision

    console = Console()
    asked = read_federation(federation)
    folder = out or federation.with_name(f"{federation.stem}-kits")
    new = provision(asked, folder)
    console.print(f"Made {len(new)} kits in {folder}: {', '.join(new) or 'all were there'}.")
    console.print(f"Whom to give what: {folder / 'README.md'}")
