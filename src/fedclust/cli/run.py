"""``fedclust run``: from a study file to clusters, labels at each client, and a report."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..core import ConfigError
from .columns_run import explain_end, show_columns
from .progress import Watch

_MOST_COLUMNS = 5  # more do not fit a terminal; the report has them all


def run(
    study: Annotated[Path, typer.Argument(help="The study file.")],
    out: Annotated[
        Path | None, typer.Option(help="The run's folder; else beside the study.")
    ] = None,
    force: Annotated[bool, typer.Option(help="Replace the folder of an earlier run.")] = False,
    resume: Annotated[bool, typer.Option(help="Go on with a run that was stopped.")] = False,
    like: Annotated[
        Path | None, typer.Option(help="An earlier run: clusters keep its numbers.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Run a study in one process: all clients' files are at hand.

    Writes model.json, profile.json, history.jsonl, the study as it was and report.html into a
    folder, and each client's labels beside its own data. Ctrl-C stops a run so that --resume
    goes on with it.

    Exit code 0: done; 1: the study or the data do not allow it; 130: stopped by Ctrl-C.
    """
    from ..clustering.model import load
    from ..study import read_study
    from ..study.run import run_study
    from ..study.split_columns import run_columns

    console = Console()
    asked = read_study(study)
    folder = out or study.with_name(f"{study.stem}-run")
    before = load(like) if like else None
    columns_split = asked.data.split == "columns"
    if columns_split and like:
        raise ConfigError('--like: with split = "columns" nobody has centres to compare')
    done: Any
    try:
        with Watch(Console(stderr=True)) as watch:
            how: dict[str, Any] = {"force": force, "resume": resume, "on_round": watch}
            if columns_split:
                done = run_columns(asked, folder, **how)
            else:
                done = run_study(asked, folder, like=before, **how)
    except KeyboardInterrupt:
        again = f"fedclust run {study}" + (f" --out {out}" if out else "")
        typer.echo(f"Stopped. Go on with: {again} --resume", err=True)
        raise typer.Exit(130) from None
    if columns_split:
        show_columns(console, done, report=asked.outputs.report, as_json=as_json)
    elif as_json:
        typer.echo(json.dumps(_for_machines(done)))
    else:
        _show(console, done, report=asked.outputs.report)


def _for_machines(done: Any) -> dict[str, Any]:
    about = done.model.about
    return {
        "folder": str(done.folder),
        "clusters": [
            {"id": id, "size": size}
            for id, size in zip(done.model.ids, done.model.sizes, strict=True)
        ],
        "n_clusters_because": done.choice.why if done.choice else None,
        "rows": done.rows,
        "rows_left_out": None if done.rows is None else done.rows - done.used,
        "rounds": about.rounds,
        "converged": about.converged,
        "inertia": about.inertia,
        "labels": {client: str(path) for client, path in done.labels.items()},
    }


def _show(console: Console, done: Any, *, report: bool) -> None:
    model = done.model
    if done.choice is not None:
        console.print(f"{done.choice.why[0].upper()}{done.choice.why[1:]}", markup=False)
    table = Table(title=f"{len(model.ids)} clusters in {model.about.rounds} rounds")
    names, centers = model.preparation.names, model.centers
    telling = (centers.min(axis=0) - centers.max(axis=0)).argsort(kind="stable")[:_MOST_COLUMNS]
    for name in ("cluster", "rows", *(names[p] for p in telling)):
        table.add_column(escape(name), justify="right")
    for id, size, centre in zip(model.ids, model.sizes, model.centers_in_units, strict=True):
        table.add_row(
            str(id), "-" if size is None else f"{size:,}", *(f"{centre[p]:.4g}" for p in telling)
        )
    console.print(table)
    for words in _remarks(done):
        console.print(words, soft_wrap=True, markup=False)
    for client, path in done.labels.items():
        console.print(f"Labels of {client}: {path}", soft_wrap=True, markup=False)
    shown = done.folder / "report.html" if report else done.folder
    what = "Report" if report else "Model and history"
    console.print(f"{what}: {shown}", soft_wrap=True, markup=False)


def _remarks(done: Any) -> Iterator[str]:
    model, n_names = done.model, len(done.model.preparation.names)
    if n_names > _MOST_COLUMNS:
        yield f"These {_MOST_COLUMNS} of {n_names} columns differ most."
    if done.rows is not None and done.used < done.rows:
        yield f"{done.rows - done.used:,} of {done.rows:,} rows were left out: they have gaps."
    about, privacy = model.about, model.about.privacy
    small, n = sum(size is None for size in model.sizes), len(model.ids)
    if 0 < small < n:
        why = "choose fewer, or another start"
        if privacy.limits_changes:
            why = "or the guard holds back how many"
        yield f"{small} of {n} clusters have no rows, or few: {why}."
    if about.caveat:
        yield f"Beware: {about.caveat}."
    if privacy.tier != "none":
        yield f"Privacy, {privacy.tier}: {privacy.guarantee}"
    yield from explain_end(about, "centres")
