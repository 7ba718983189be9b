"""``fedclust studies``: list or cancel the studies of a federation."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from .printing import cell, say

_LONGEST = 100  # characters of a reason; --json has it in full


def studies(
    kits: Annotated[Path, typer.Option(help="Folder with the coordinator's kit, admin/.")],
    cancel: Annotated[
        str | None, typer.Option(help="Interrupt this study; it can be resumed later.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False,
) -> None:
    """List the studies that run, wait or have ended; works on the server's machine."""
    from ..deploy.kits import read_kit
    from ..deploy.queue import cancel as cancel_study
    from ..deploy.queue import list_queue, read_history

    admin = read_kit(kits / "admin", "admin").folder
    if cancel is not None:
        for ticket in cancel_study(admin, cancel):
            say(
                f"Interrupted {ticket.study!r}; continue it with --resume. Results: {ticket.folder}"
            )
        return
    queue, history = list_queue(admin), read_history(admin)
    if as_json:
        lists = {"queue": [asdict(t) for t in queue], "ended": [asdict(e) for e in history]}
        typer.echo(json.dumps(lists))
        return
    table = Table("study", "since (UTC)", "until (UTC)", "state", "results")
    for entry in history:
        why = entry.why if len(entry.why) <= _LONGEST else f"{entry.why[:_LONGEST]}..."
        state = f"{entry.outcome}: {why}" if why else str(entry.outcome)
        times = _minute(entry.since), _minute(entry.until)
        table.add_row(*map(cell, (entry.study, *times, state, entry.folder)))
    for place, ticket in enumerate(queue):
        state = f"waits, {place} before it" if place else "runs"
        table.add_row(*map(cell, (ticket.study, _minute(ticket.since), "", state, ticket.folder)))
    Console().print(table)


def _minute(when: str) -> str:
    """As in 2026-01-31 12:00; times are UTC, and --json has them in full."""
    return when[:16].replace("T", " ")
