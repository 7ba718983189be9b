"""``fedclust check``: whether every client's data fits the study."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table


def check(
    study: Annotated[Path, typer.Argument(help="The study file.")],
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Look at every client's file before anything is computed; all problems at once.

    Exit code 0: the study can be run (there may be warnings); 1: it cannot.
    """
    from ..study import Examination, examine, read_study
    from ..study.split_columns import examine_columns

    asked = read_study(study)
    columns_split = asked.data.split == "columns"
    found: Examination = examine_columns(asked) if columns_split else examine(asked)
    if as_json:
        typer.echo(
            json.dumps(
                {
                    "passes": found.passes,
                    "rows": dict(found.rows),
                    "columns": [column.name for column in found.columns],
                    "problems": [problem._asdict() for problem in found.problems],
                }
            )
        )
        raise typer.Exit(0 if found.passes else 1)
    console = Console()
    rows = ", ".join(f"{client} {n:,}" for client, n in found.rows.items())
    columns = ", ".join(column.name for column in found.columns)
    console.print(f"Rows: {rows or 'none'}. Columns: {columns}.", markup=False)
    if found.problems:
        table = Table(title="What was found")
        for heading in ("client", "column", "problem", ""):
            table.add_column(heading)
        for one in found.problems:
            words = (one.client, one.column, one.what, "stops" if one.stops else "warning")
            table.add_row(*map(escape, words))
        console.print(table)
    console.print("The study can be run." if found.passes else "The study cannot be run like this.")
    raise typer.Exit(0 if found.passes else 1)
