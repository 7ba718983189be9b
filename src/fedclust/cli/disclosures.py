"""``fedclust disclosures``: show the messages that left a client."""

from collections import defaultdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from .printing import HASH_DIGITS, cell


def disclosures(
    kit: Annotated[Path, typer.Argument(help="Folder of the client's kit.")],
    every: Annotated[
        bool, typer.Option("--all", help="List every message instead of totals.")
    ] = False,
    reset_ledger: Annotated[
        str | None,
        typer.Option(
            help="Set the query count back to zero, and log this reason, such as 'new data'."
        ),
    ] = None,
) -> None:
    """Show the messages that left this client: recipient, study, its hash and bytes.

    The ledger counts the queries that the client answered, over all studies.
    """
    from ..client.config import CLIENT_FILE, read_client_config
    from ..client.disclosures import read_disclosures
    from ..tiers.base import MAX_QUERIES

    file = read_client_config(kit / CLIENT_FILE)
    policy, consent = file.policy(), file.consent
    if reset_ledger is not None:
        policy.ledger.reset(reset_ledger)
    answered, limit = policy.ledger.n_queries, consent.max_queries
    typer.echo(f"Queries answered: {answered:,} of {limit:,} allowed")
    if answered >= MAX_QUERIES:
        typer.echo(
            f"Studies with tier guarded or secure stop at {MAX_QUERIES} queries unless they set a "
            'larger [privacy] max_queries; reset the count with --reset-ledger "reason"'
        )
    if policy.ledger.spent or consent.epsilon is not None:
        bound = "no limit" if consent.epsilon is None else f"{consent.epsilon:g} allowed"
        typer.echo(f"Epsilon spent, at delta {consent.delta:g}: {policy.epsilon:.3g} of {bound}")
    path = file.place(file.output.disclosures)
    lines = list(read_disclosures(path))
    console = Console()
    if not lines:
        console.print(f"No message has left: {path} is empty or does not exist.", markup=False)
        return
    console.print(_list_messages(lines) if every else _summarize(lines))
    console.print(f"Times and SHA-256 of all messages: {path}", markup=False)


def _list_messages(lines: list[dict[str, Any]]) -> Table:
    columns = ("when (UTC)", "to", "study", "message", "content", "protected by", "bytes", "hash")
    table = Table(*columns)
    for line in lines:
        what = f"refused: {line['refused']}" if "refused" in line else _shapes(line.get("what"))
        if "wrote" in line:
            what = f"nothing; wrote {line['wrote']} on this machine"
        when, study = line["when"][:19].replace("T", " "), line.get("study", "")
        place, size = (when, line["to"], study, _name(line)), line["bytes"]
        row = (*place, what, _protection(line), size, _hash(line))
        table.add_row(*map(cell, row))
    return table


def _summarize(lines: list[dict[str, Any]]) -> Table:
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
    for line in lines:
        kind = "refused" if "refused" in line else line.get("plan", line.get("kind", ""))
        groups[line["to"], line.get("study", ""), kind, _hash(line)].append(line)
    table = Table("to", "study", "message", "times", "bytes", "last", "hash")
    for (to, study, kind, hash), group in groups.items():
        size, last = sum(line["bytes"] for line in group), group[-1]["when"]
        row = (to, study, kind, len(group), f"{size:,}", last, hash)
        table.add_row(*map(cell, row))
    return table


def _protection(line: dict[str, Any]) -> str:
    """The kinds of protection that were applied to this message."""
    names = " ".join(line.get("transforms", ()))
    kinds = {"PairwiseMasks": "masks", "IntegerGaussian": "noise", "GroupedRows": "groups"}
    return ", ".join(word for name, word in kinds.items() if name in names)


def _hash(line: dict[str, Any]) -> str:
    """The first digits of the hash of the study that the message belongs to."""
    return str(line.get("study_hash", ""))[:HASH_DIGITS]


def _name(line: dict[str, Any]) -> str:
    return f"{line['plan']}, round {line['round'] + 1}" if "plan" in line else line.get("kind", "")


def _shapes(what: Any) -> str:
    shapes = what.items() if isinstance(what, dict) else ()
    return ", ".join(f"{name} {shape}" for name, shape in shapes)
