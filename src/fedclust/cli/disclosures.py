"""``fedclust disclosures``: what has left a client."""

from collections import defaultdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table


def disclosures(
    kit: Annotated[Path, typer.Argument(help="The client's kit: a folder.")],
    every: Annotated[bool, typer.Option("--all", help="Every message, not sums.")] = False,
    reset_ledger: Annotated[
        str | None,
        typer.Option(help="Count questions anew, and write down why: for other data, say."),
    ] = None,
) -> None:
    """Show the messages that left this client: to whom, for which study, how many bytes.

    The ledger counts the questions that were answered about its data, over all studies.
    """
    from ..client.config import CLIENT_FILE, read_client_config
    from ..client.disclosures import read_disclosures
    from ..tiers.base import MAX_QUERIES

    file = read_client_config(kit / CLIENT_FILE)
    policy, consent = file.policy(), file.consent
    if reset_ledger is not None:
        policy.ledger.reset(reset_ledger)
    answered, most = policy.ledger.n_queries, consent.max_queries
    typer.echo(f"Questions answered about these data: {answered:,} of {most:,} allowed")
    if answered >= MAX_QUERIES:
        typer.echo(
            f"Studies of the tiers guarded and secure stop at {MAX_QUERIES} of them, unless their "
            '[privacy] max_queries is more; --reset-ledger "why" starts the count anew'
        )
    if policy.ledger.spent or consent.epsilon is not None:
        limit = "no limit" if consent.epsilon is None else f"{consent.epsilon:g} allowed"
        typer.echo(f"Epsilon spent, at delta {consent.delta:g}: {policy.epsilon:.3g} of {limit}")
    path = file.place(file.output.disclosures)
    lines = list(read_disclosures(path))
    console = Console()
    if not lines:
        console.print(f"Nothing has left: {path} is empty or not there.", markup=False)
        return
    console.print(_each(lines) if every else _summed(lines))
    console.print(f"Each line with its time and SHA-256: {path}", markup=False)


def _each(lines: list[dict[str, Any]]) -> Table:
    table = Table("when (UTC)", "to", "study", "message", "what", "hidden by", "bytes")
    for line in lines:
        what = f"refused: {line['refused']}" if "refused" in line else _shapes(line.get("what"))
        if "wrote" in line:
            what = f"nothing; wrote {line['wrote']} here"
        when, study = line["when"][:19].replace("T", " "), line.get("study", "")
        row = (when, line["to"], study, _name(line), what, _hidden(line), line["bytes"])
        table.add_row(*(str(cell).replace("[", r"\[") for cell in row))
    return table


def _summed(lines: list[dict[str, Any]]) -> Table:
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
    for line in lines:
        kind = "refused" if "refused" in line else line.get("plan", line.get("kind", ""))
        groups[line["to"], line.get("study", ""), kind].append(line)
    table = Table("to", "study", "message", "times", "bytes", "last")
    for (to, study, kind), group in groups.items():
        size, last = sum(line["bytes"] for line in group), group[-1]["when"]
        row = (to, study, kind, len(group), f"{size:,}", last)
        table.add_row(*(str(cell).replace("[", r"\[") for cell in row))
    return table


def _hidden(line: dict[str, Any]) -> str:
    """What stood between the rows and this message, in a word or two."""
    names = " ".join(line.get("transforms", ()))
    ways = {"PairwiseMasks": "masks", "IntegerGaussian": "noise", "ChangeGuard": "guard"}
    return ", ".join(word for name, word in ways.items() if name in names)


def _name(line: dict[str, Any]) -> str:
    return f"{line['plan']}, round {line['round']}" if "plan" in line else line.get("kind", "")


def _shapes(what: Any) -> str:
    shapes = what.items() if isinstance(what, dict) else ()
    return ", ".join(f"{name} {shape}" for name, shape in shapes)
