"""``fedclust status``: how a running federation stands."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table


def status(
    kits: Annotated[Path, typer.Option(help="Folder with the coordinator's kit admin/.")],
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Ask a running server who is connected and how its jobs stand, and how far its study is."""
    from ..deploy.status import federation_status

    found = federation_status(kits)
    if as_json:
        typer.echo(json.dumps(found))
        return
    console = Console()
    clients = Table("client", "last heard", title="Connected")
    for name, seconds in found["clients"].items():
        clients.add_row(name, f"{seconds:.0f} s ago")
    console.print(clients)
    jobs = Table("study", "submitted", "state", title="Jobs")
    for job in found["jobs"]:
        jobs.add_row(job["study"], job["submitted"], job["state"])
    console.print(jobs)
    if running := found["running"]:
        console.print(_sentence(running), markup=False)


def _sentence(running: dict[str, Any]) -> str:
    said = f"Study {running['study']!r}: {running['phase']}"
    if "round" not in running:
        return f"{said}."
    of = f" of at most {running['most']:,}" if "most" in running else ""
    said += (
        f" ({running['plan']}), round {running['round'] + 1:,}{of}, {running['answers']} answers, "
        f"{running['since']:.0f} s ago"
    )
    left = running.get("left")
    return f"{said}." if left is None else f"{said}; at most {timedelta(seconds=int(left))} left."
