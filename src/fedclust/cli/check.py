"""``fedclust check``: check whether the data of every client fit the study."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from .printing import cell, say, show

_LISTED = 12  # clients whose rows are listed one by one

if TYPE_CHECKING:
    from ..client.files import RowCounts
    from ..study import Survey


def check(
    study: Annotated[Path, typer.Argument(help="The study file.")],
    across: Annotated[
        bool,
        typer.Option(
            "--across",
            help="Check a study across machines: only the study file, as the owners will read it.",
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the problems as JSON.")] = False,
) -> None:
    """Check the files of all clients and list all problems; nothing is computed.

    Exit code 0: the study can run (there may be warnings); 1: it cannot.
    """
    from ..follow.approval import study_hash
    from ..study import read_study, survey_study

    if across:
        _check_across(study, as_json=as_json)
        return
    settings = read_study(study)
    survey, hash = survey_study(settings), study_hash(settings)
    if as_json:
        typer.echo(json.dumps(_summarize(survey, hash)))
    else:
        _show(Console(), survey, hash, drops=settings.data.missing == "drop")
    raise typer.Exit(0 if survey.passes else 1)


def _check_across(file: Path, *, as_json: bool) -> None:
    """Show a study file as the owners of clients on other machines will read it."""
    from ..follow.approval import (
        DEFAULT_TIER,
        Following,
        following_of,
        read_mailed_study,
        study_hash,
    )
    from ..follow.words import announce_hash, describe_study
    from ..study.read import resolve_tier

    study = read_mailed_study(file)
    tier = resolve_tier(study, DEFAULT_TIER)
    followed = following_of(study, tier) is not Following.NONE
    words = list(describe_study(study)) if followed else [announce_hash(study, tier)]
    if as_json:
        hash = study_hash(study) if followed else None
        typer.echo(json.dumps({"passes": True, "hash": hash, "words": words}))
        return
    for line in words:
        say(line)


def _summarize(survey: "Survey", hash: str) -> dict[str, Any]:
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
        "hash": hash,
        "rows": survey.rows,
        "columns": [column.name for column in survey.columns],
        "notes": list(survey.notes),
        "problems": problems,
    }


def _show(console: Console, survey: "Survey", hash: str, *, drops: bool) -> None:
    from ..client.problems import group_problems

    known = {client: counts for client, counts in survey.counts.items() if counts is not None}
    rows = ", ".join(f"{client} {_count(counts, drops)}" for client, counts in known.items())
    if len(known) > _LISTED:
        rows = _summarize_rows(list(known.values()), drops)
    columns = ", ".join(column.name for column in survey.columns)
    hidden = "hidden by the tier" if survey.counts else "none"
    for line in (f"Rows: {rows or hidden}. Columns: {columns}.", *survey.notes):
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
    show(console, f"Across machines, its hash is {hash}")


def _summarize_rows(counts: "list[RowCounts]", drops: bool) -> str:
    """How many rows many clients have."""
    from ..client.files import RowCounts

    total = RowCounts(sum(c.rows for c in counts), sum(c.complete for c in counts))
    least, most = min(c.rows for c in counts), max(c.rows for c in counts)
    each = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    return f"{_count(total, drops)} at {len(counts)} clients, {each} each"


def _count(counts: "RowCounts", drops: bool) -> str:
    """How many rows there are, and how many stay if those with missing values are left out."""
    if not drops or counts.complete == counts.rows:
        return f"{counts.rows:,}"
    return f"{counts.rows:,} ({counts.complete:,} without missing values)"
