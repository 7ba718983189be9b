"""``fedclust run``: run a study in one process."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .printing import printable
from .progress import Watch

if TYPE_CHECKING:
    from ..clustering.model import ColumnsModel, Model
    from ..study import Outcome

_MAX_COLUMNS = 5  # more do not fit a terminal; the report has them all


def run(
    study: Annotated[Path, typer.Argument(help="The study file.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder of the run; default: beside the study.")
    ] = None,
    force: Annotated[bool, typer.Option(help="Replace the folder of an earlier run.")] = False,
    resume: Annotated[bool, typer.Option(help="Continue a run that was stopped.")] = False,
    match_run: Annotated[
        Path | None, typer.Option(help="An earlier run whose cluster numbers are kept.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Run a study in one process, with the files of all clients on this machine.

    Writes model.json, profile.json, history.jsonl, a copy of the study and report.html into a
    folder, and each client's labels beside its own data. After Ctrl-C, --resume continues the run.

    Exit code 0: done; 1: a problem with the study or the data; 130: stopped by Ctrl-C.
    """
    from ..clustering.model import load
    from ..study import read_study, run_study

    settings = read_study(study)
    folder = out or study.with_name(f"{study.stem}-run")
    earlier = load(match_run) if match_run else None
    try:
        with Watch(Console(stderr=True)) as watch:
            outcome = run_study(
                settings, folder, force=force, resume=resume, match=earlier, on_round=watch
            )
    except KeyboardInterrupt:
        again = f"fedclust run {study}" + (f" --out {out}" if out else "")
        typer.echo(f"Stopped. Continue with: {again} --resume", err=True)
        raise typer.Exit(130) from None
    if as_json:
        typer.echo(json.dumps(_summarize(outcome)))
    else:
        _show(Console(), outcome, report=settings.outputs.report)


def _summarize(outcome: "Outcome") -> dict[str, Any]:
    model, about, rows, used = outcome.model, outcome.model.about, outcome.rows, outcome.used
    return {
        "folder": str(outcome.folder),
        "clusters": [
            {"id": id, "size": size} for id, size in zip(model.ids, model.sizes, strict=True)
        ],
        "n_clusters_because": outcome.choice.why if outcome.choice else None,
        "rows": rows,
        "rows_by_client": dict(outcome.offered),
        "rows_used": used,
        "rows_left_out": None if rows is None or used is None else rows - used,
        "rounds": about.rounds if about else None,
        "converged": about.converged if about else None,
        "inertia": about.inertia if about else None,
        "labels": {client: str(path) for client, path in outcome.labels.items()},
    }


def _show(console: Console, outcome: "Outcome", *, report: bool) -> None:
    if outcome.choice is not None:
        why = outcome.choice.why
        console.print(f"{why[0].upper()}{why[1:]}", markup=False)
    console.print(_tabulate(outcome.model))
    lines = [*_write_remarks(outcome)]
    lines += [f"Labels of {client}: {path}" for client, path in outcome.labels.items()]
    shown = outcome.folder / "report.html" if report else outcome.folder
    lines.append(f"{'Report' if report else 'Model and history'}: {shown}")
    for line in lines:
        console.print(line, soft_wrap=True, markup=False)


def _tabulate(model: "Model | ColumnsModel") -> Table:
    """Sizes, and the columns of the centres that differ most, where the centres are known."""
    rounds = model.about.rounds if model.about else 0
    table = Table(title=f"{len(model.ids)} clusters in {rounds} rounds")
    names, values = _find_differing_columns(model)
    for name in ("cluster", "rows", *names):
        table.add_column(escape(printable(name)), justify="right")
    for id, size, row in zip(model.ids, model.sizes, values, strict=True):
        table.add_row(str(id), "-" if size is None else f"{size:,}", *row)
    return table


def _find_differing_columns(model: Any) -> tuple[list[str], list[list[str]]]:
    if not hasattr(model, "centers"):  # with split columns no party knows all centres
        return [], [[] for _ in model.ids]
    centers, names = model.centers, model.preparation.names
    order = (centers.min(axis=0) - centers.max(axis=0)).argsort(kind="stable")[:_MAX_COLUMNS]
    units = model.centers_in_units
    return [names[p] for p in order], [[f"{center[p]:.4g}" for p in order] for center in units]


def _write_remarks(outcome: "Outcome") -> Iterator[str]:
    model: Any = outcome.model
    n_names = len(model.preparation.names) if hasattr(model, "preparation") else 0
    if n_names > _MAX_COLUMNS:
        yield f"The table shows the {_MAX_COLUMNS} of {n_names} columns that differ most."
    yield from _explain_left_out(outcome)
    about, privacy = model.about, model.about.privacy
    small, n = sum(size is None for size in model.sizes), len(model.ids)
    if 0 < small < n:
        if privacy.limits_changes:
            yield f"{small} of {n} clusters have no size: empty, very small, or withheld."
        else:
            remedy = "choose fewer clusters, or another init or seed"
            yield f"{small} of {n} clusters have no rows or very few; {remedy}."
    if about.caveat:
        yield f"Warning: {about.caveat}."
    if privacy.tier != "none" or not hasattr(model, "centers"):
        yield f"Privacy, {privacy.tier}: {privacy.guarantee}"
    if about.ended_by_tier:
        tier = privacy.tier
        yield f"The run stopped after {about.rounds} rounds, the limit of the tier {tier!r}."
    elif not about.converged:
        yield "The run stopped before it converged: raise max_rounds, or tol."


def _explain_left_out(outcome: "Outcome") -> Iterator[str]:
    used = outcome.used
    if not hasattr(outcome.model, "centers"):  # every client has its own rows of the records
        for client, n in outcome.offered.items():
            yield f"{used:,} of the {n:,} rows of {client} are records that all clients have."
    elif outcome.rows is not None and used is not None and used < outcome.rows:
        left_out = outcome.rows - used
        yield f"{left_out:,} of {outcome.rows:,} rows were left out: they have missing values."
