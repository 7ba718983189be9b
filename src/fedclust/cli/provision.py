"""``fedclust provision``: make the certificates and kits of a federation."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console


def provision(
    federation: Annotated[Path, typer.Argument(help="The federation file.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder for the kits; default: beside the federation file.")
    ] = None,
    renew: Annotated[
        bool, typer.Option("--renew", help="Renew the certificates of existing kits.")
    ] = False,
) -> None:
    """Make a kit for the server, one for each client, and the coordinator's certificate.

    Run it again after adding a client; existing kits do not change. With --renew, only the
    certificates of existing kits change.
    """
    from ..deploy.federation_file import read_federation
    from ..deploy.kits import provision
    from ..deploy.kits import renew as renew_kits

    settings = read_federation(federation)
    folder = out or federation.with_name(f"{federation.stem}-kits")
    if renew:
        done = renew_kits(settings, folder)
        _print(f"New certificates in {folder}: {', '.join(done)}.")
        _print(
            f"Send {folder}/clients/<name>-renewal.zip to each client, to be unpacked over its "
            "kit, and copy server/startup and admin/startup to the server's machine. The old "
            "certificates stay valid until they expire."
        )
        return
    made = provision(settings, folder)
    _print(f"Made {len(made.new)} kits in {folder}: {', '.join(made.new) or 'all exist already'}.")
    if made.outdated:
        _print(
            f"The list of identities has changed: send {folder / 'peers.json'} to "
            f"{', '.join(made.outdated)}, to replace the file in their kits. Until then they "
            "reject any cohort that includes a client they do not know."
        )
    if made.unknown:
        _print(
            f"No identity is known for {', '.join(made.unknown)}, so clients have to trust the "
            "server about each other. Run 'fedclust client KIT --new-identity' there, add the line "
            f"it prints to {folder / 'peers.json'}, and send that file to all clients."
        )
    _print(f"Which kit to send to whom: {folder / 'README.md'}")


def _print(text: str) -> None:
    Console().print(text, markup=False, highlight=False, soft_wrap=True)
