"""What ``fedclust run`` prints of a study over split columns."""

import json
from typing import Any

import typer
from rich.console import Console
from rich.table import Table


def show_columns(console: Console, done: Any, *, report: bool, as_json: bool) -> None:
    """Sizes of clusters, what the server was trusted with, and where owners find their part."""
    said, sizes = done.model.about, dict(enumerate(done.model.sizes, 1))
    labels = {owner: str(path) for owner, path in done.labels.items()}
    if as_json:
        facts = {name: said[name] for name in ("rounds", "converged", "inertia", "n_records")}
        clusters = [{"id": id, "size": size} for id, size in sizes.items()]
        told = {"folder": str(done.folder), "clusters": clusters, **facts}
        typer.echo(json.dumps({**told, "offered": dict(done.offered), "labels": labels}))
        return
    table = Table(title=f"{len(sizes)} clusters in {said['rounds']} rounds")
    for name in ("cluster", "records"):
        table.add_column(name, justify="right")
    for id, size in sizes.items():
        table.add_row(str(id), f"{size:,}")
    console.print(table)
    for owner, n in done.offered.items():
        words = f"{done.n_records:,} of the {n:,} rows that {owner} offers are at all owners."
        console.print(words, soft_wrap=True, markup=False)
    if not said["converged"]:
        words = "The distances still changed when rounds ran out: raise max_rounds, or tol."
        console.print(words, soft_wrap=True, markup=False)
    privacy = said["privacy"]
    words = f"Privacy, {privacy['tier']}: {privacy['guarantee']}"
    console.print(words, soft_wrap=True, markup=False)
    for owner, path in labels.items():
        words = f"Labels of {owner}, and its part of the centres: {path}"
        console.print(words, soft_wrap=True, markup=False)
    shown = done.folder / "report.html" if report else done.folder
    what = "Report" if report else "Model and history"
    console.print(f"{what}: {shown}", soft_wrap=True, markup=False)
