"""``fedclust provision``: certificates and kits for a federation."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console


def provision(
    federation: Annotated[Path, typer.Argument(help="The federation file.")],
    out: Annotated[Path | None, typer.Option(help="Folder of the kits; else beside it.")] = None,
    renew: Annotated[
        bool, typer.Option("--renew", help="New certificates for the kits that are there.")
    ] = False,
) -> None:
    """Make a kit for the server, one for each client, and the coordinator's certificate.

    Run again after a client was added: kits that are there are not touched. With --renew nothing
    but their certificates is.
    """
    from ..deploy.federation_file import read_federation
    from ..deploy.kits import provision
    from ..deploy.kits import renew as renew_kits

    asked = read_federation(federation)
    folder = out or federation.with_name(f"{federation.stem}-kits")
    if renew:
        done = renew_kits(asked, folder)
        _say(f"New certificates in {folder}: {', '.join(done)}.")
        _say(
            f"Hand out {folder}/clients/<name>-renewal.zip, to be unpacked over the client's kit; "
            "copy server/startup and admin/startup to the server's machine. Certificates of before "
            "are accepted until they end."
        )
        return
    made = provision(asked, folder)
    _say(f"Made {len(made.new)} kits in {folder}: {', '.join(made.new) or 'all were there'}.")
    if made.outdated:
        _say(
            f"The list of identities has changed: give {folder / 'peers.json'} to "
            f"{', '.join(made.outdated)}, who put it into their kits. Until they have, they refuse "
            "to be hidden among clients that they do not know."
        )
    if made.unknown:
        _say(
            f"Nobody knows the identity of {', '.join(made.unknown)}, so clients believe the "
            "server about who the others are. 'fedclust client KIT --new-identity' makes one: "
            f"add the line it prints to {folder / 'peers.json'}, and give that file to everybody."
        )
    _say(f"Whom to give what: {folder / 'README.md'}")


def _say(words: str) -> None:
    Console().print(words, markup=False, highlight=False, soft_wrap=True)
