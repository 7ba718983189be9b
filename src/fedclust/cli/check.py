"""``fedclust check``: check whether the data of every client fit the study."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from .printing import cell, show

if TYPE_CHECKING:
    from ..study import Survey


def check(
    study: Annotated[Path, typer.Argument(help="The study file.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the problems as JSON.")] = False,
) -> None:
    """Check the files of all clients and list all problems; nothing is computed.

    Exit code 0: the study can run (there may be warnings); 1: it cannot.
    """
    from ..study import read_study, survey_study

    survey = survey_study(read_study(study))
    if as_json:
        typer.echo(json.dumps(_summarize(survey)))
    else:
        _show(Console(), survey)
    raise typer.Exit(0 if survey.passes else 1)


def _summarize(survey: "Survey") -> dict[str, Any]:
    problems = [
        {
            "client": problem.client,
            "code": problem.code,
            "column": problem.column,
            "problem": problem.text,
            "blocking": problem.blocking,
        }
        for problem in survey.problems
    ]
    return {
        "passes": survey.passes,
        "rows": survey.rows,
        "columns": [column.name for column in survey.columns],
        "notes": list(survey.notes),
        "problems": problems,
    }


def _show(console: Console, survey: "Survey") -> None:
    from ..client.problems import group_problems

    known = {client: n for client, n in survey.rows.items() if n is not None}
    rows = ", ".join(f"{client} {n:,}" for client, n in known.items())
    columns = ", ".join(column.name for column in survey.columns)
    for line in (f"Rows: {rows or 'none'}. Columns: {columns}.", *survey.notes):
        show(console, line)
    if survey.problems:
        table = Table(title="Problems")
        for heading in ("client", "column", "problem", ""):
            table.add_column(heading)
        for group in group_problems(survey.problems):
            problem = group.problem
            kind = "blocking" if problem.blocking else "warning"
            cells = (group.name_clients(str), problem.column, problem.text, kind)
            table.add_row(*map(cell, cells))
        console.print(table)
    verdict = "can run" if survey.passes else "cannot run yet: fix the blocking problems"
    console.print(f"The study {verdict}.")
