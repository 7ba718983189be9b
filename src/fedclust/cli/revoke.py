"""``fedclust revoke``: refuse a client's kit from now on."""

from pathlib import Path
from typing import Annotated

import typer

from .printing import say


def revoke(
    federation: Annotated[Path, typer.Argument(help="The federation file.")],
    client: Annotated[str, typer.Argument(help="The client whose kit is refused from now on.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder of the kits; default: beside the federation file.")
    ] = None,
) -> None:
    """Refuse a client's certificate and identity from now on; this cannot be undone."""
    from ..deploy.federation_file import read_federation
    from ..deploy.revocation import revoke

    settings = read_federation(federation)
    folder = out or federation.with_name(f"{federation.stem}-kits")
    done = revoke(settings, folder, client)
    say(f"Revoked {client!r}. The server refuses its kit from its next start on.")
    if done.listed:
        say(f"Delete the line of {client!r} from {federation}.")
    say(f"If the server runs elsewhere, copy {done.refused} into its kit.")
    if done.others:
        say(
            f"Send {done.peers} to {', '.join(done.others)}, to replace the file in their kits. "
            f"They then refuse masked studies with {client!r}."
        )
