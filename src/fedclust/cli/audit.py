"""``fedclust audit``: export what left a client as a signed file, or verify such a file."""

from pathlib import Path
from typing import Annotated

import typer

from ..core import ConfigError
from .printing import say


def audit(
    kit: Annotated[Path | None, typer.Argument(help="Folder of the client's kit.")] = None,
    out: Annotated[Path, typer.Option(help="The file to write; it must not exist.")] = Path(
        "audit.zip"
    ),
    verify: Annotated[
        Path | None, typer.Option(help="Verify this file instead; needs no kit and no network.")
    ] = None,
    identity: Annotated[
        str | None,
        typer.Option(help="With --verify: the client's public identity, or a peers.json."),
    ] = None,
) -> None:
    """Export what left a client, when, and under whose approval, as a signed zip.

    The zip begins with a page to read, report.txt. It holds no rows, and no paths of this machine.
    """
    from ..deploy.audit import export_audit, verify_audit

    if (kit is None) == (verify is None):
        raise ConfigError("give the folder of a kit to export, or --verify FILE to check a file")
    if verify is not None:
        found = verify_audit(verify, identity)
        text = (
            f"Unchanged since {found.client!r} of {found.federation!r} exported it on {found.made}"
        )
        who = f"signed by {found.identity}"
        if identity is None:
            who += f"; compare this identity with that of {found.client!r} in peers.json"
        say(f"{text}: {found.messages:,} messages, {who}.")
        return
    if identity is not None:
        raise ConfigError("--identity goes with --verify; the kit signs with its own identity")
    if kit is not None:
        made = export_audit(kit, out)
        say(f"Wrote {out}: {made.messages:,} messages, signed by {made.identity}.")
