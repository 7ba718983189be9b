"""``fedclust doctor``: whether a kit can run."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table


def doctor(
    kit: Annotated[Path, typer.Argument(help="Anybody's kit: a folder.")],
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Look at software, keys, policy, data and connection; all problems at once.

    Exit code 0: the kit can run; 1: something has to be mended first.
    """
    from ..deploy.doctor import examine_kit

    checks = examine_kit(kit)
    if as_json:
        typer.echo(json.dumps([check._asdict() for check in checks]))
    else:
        table = Table("", "what", "found")
        for check in checks:
            mark = "[green]good[/]" if check.good else "[red]mend[/]"
            table.add_row(mark, check.what, check.says.replace("[", r"\["))
        Console().print(table)
    raise typer.Exit(0 if all(check.good for check in checks) else 1)
