"""``fedclust status``: show the status of a running federation."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from .printing import cell, show


def status(
    kits: Annotated[Path, typer.Option(help="Folder with the coordinator's kit, admin/.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the status as JSON.")] = False,
) -> None:
    """Show the connected clients, the jobs and the progress of the running study."""
    from ..deploy.status import federation_status

    current = federation_status(kits)
    if as_json:
        typer.echo(json.dumps(current))
        return
    console = Console()
    clients = Table("client", "last seen", title="Connected clients")
    for name, seconds in current["clients"].items():
        clients.add_row(cell(name), f"{seconds:.0f} s ago")
    console.print(clients)
    jobs = Table("study", "submitted", "state", title="Jobs")
    for job in current["jobs"]:
        jobs.add_row(cell(job["study"]), job["submitted"], job["state"])
    console.print(jobs)
    if running := current["running"]:
        show(console, _describe(running))


def _describe(running: dict[str, Any]) -> str:
    text = f"Study {running['study']!r}: {running['phase']}"
    if "round" not in running:
        return f"{text}."
    of = f" of at most {running['max_rounds']:,}" if "max_rounds" in running else ""
    text += (
        f" ({running['plan']}), round {running['round'] + 1:,}{of}, {running['answers']} replies, "
        f"{running['seconds_ago']:.0f} s ago"
    )
    left = running.get("seconds_left")
    return f"{text}." if left is None else f"{text}; at most {timedelta(seconds=int(left))} left."
