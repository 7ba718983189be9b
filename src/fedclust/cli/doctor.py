"""``fedclust doctor``: check whether a kit can run."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from .printing import cell


def doctor(
    kit: Annotated[Path, typer.Argument(help="Folder of the kit: client, server or admin.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the checks as JSON.")] = False,
) -> None:
    """Check software, keys, policy, data and connection, and list all problems.

    Exit code 0: the kit can run; 1: at least one check failed.
    """
    from ..deploy.doctor import examine_kit

    checks = examine_kit(kit)
    if as_json:
        typer.echo(json.dumps([check._asdict() for check in checks]))
    else:
        table = Table("", "check", "result")
        for check in checks:
            mark = "[green]OK[/]" if check.ok else "[red]FAIL[/]"
            table.add_row(mark, cell(check.name), cell(check.message))
        Console().print(table)
    raise typer.Exit(0 if all(check.ok for check in checks) else 1)
