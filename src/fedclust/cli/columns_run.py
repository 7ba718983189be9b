"""What ``fedclust run`` prints of a study over split columns."""

import json
from collections.abc import Iterator
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from ..results import RunDescription


def show_columns(console: Console, done: Any, *, report: bool, as_json: bool) -> None:
    """Sizes of clusters, what the server was trusted with, and where owners find their part."""
    about, sizes = done.model.about, dict(zip(done.model.ids, done.model.sizes, strict=True))
    labels = {owner: str(path) for owner, path in done.labels.items()}
    if as_json:
        summary = {
            "folder": str(done.folder),
            "clusters": [{"id": id, "size": size} for id, size in sizes.items()],
            "rounds": about.rounds,
            "converged": about.converged,
            "inertia": about.inertia,
            "n_records": done.n_records,
            "offered": dict(done.offered),
            "labels": labels,
        }
        typer.echo(json.dumps(summary))
        return
    table = Table(title=f"{len(sizes)} clusters in {about.rounds} rounds")
    for name in ("cluster", "records"):
        table.add_column(name, justify="right")
    for id, size in sizes.items():
        table.add_row(str(id), f"{size:,}")
    console.print(table)
    for owner, n in done.offered.items():
        words = f"{done.n_records:,} of the {n:,} rows that {owner} offers are at all owners."
        console.print(words, soft_wrap=True, markup=False)
    for words in explain_end(about, "distances"):
        console.print(words, soft_wrap=True, markup=False)
    words = f"Privacy, {about.privacy.tier}: {about.privacy.guarantee}"
    console.print(words, soft_wrap=True, markup=False)
    for owner, path in labels.items():
        words = f"Labels of {owner}, and its part of the centres: {path}"
        console.print(words, soft_wrap=True, markup=False)
    shown = done.folder / "report.html" if report else done.folder
    what = "Report" if report else "Model and history"
    console.print(f"{what}: {shown}", soft_wrap=True, markup=False)


def explain_end(about: RunDescription, moving: str) -> Iterator[str]:
    """Say what ended a run that did not converge."""
    if about.ended_by_tier:
        tier = about.privacy.tier
        yield f"The run stopped after {about.rounds} rounds: the tier {tier!r} ends it there."
    elif not about.converged:
        yield f"The {moving} still changed when rounds ran out: raise max_rounds, or tol."
