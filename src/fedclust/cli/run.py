"""``fedclust run``: run a study in one process."""

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from .printing import cell, show

if TYPE_CHECKING:
    from ..study import Outcome, Study

_MAX_COLUMNS = 5  # more do not fit a terminal; the report has them all


def run(
    study: Annotated[Path, typer.Argument(help="The study file.")],
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the results. Default: study-run, beside study.toml."),
    ] = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Start again, and replace the earlier or unfinished run in this folder."
        ),
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the run that was interrupted.")
    ] = False,
    match_run: Annotated[
        Path | None,
        typer.Option(help="Folder of an earlier run; clusters that match keep their numbers."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Run a study in one process, with the files of all clients on this machine.

    Writes model.json, profile.json, history.jsonl, a copy of the study and report.html into a
    folder, and each client's labels beside its own data. After Ctrl-C, --resume continues the run.

    Exit code 0: the run is complete. 1: there is a problem with the study or the data. 130: the
    run was interrupted by Ctrl-C.
    """
    from ..clustering.model import load
    from ..study import read_study, run_study
    from .progress import Watch
    from .tools.outlook import Outlook

    settings = read_study(study)
    folder = out or study.with_name(f"{study.stem}-run")
    earlier = load(match_run) if match_run else None
    try:
        with Watch(Console(stderr=True), Outlook.of(settings)) as watch:
            outcome = run_study(
                settings,
                folder,
                force=force,
                resume=resume,
                match=earlier,
                on_phase=watch.enter,
                on_round=watch,
            )
    except KeyboardInterrupt:
        again = ["fedclust", "run", str(study)]
        again += ["--out", str(out)] if out else []
        again += ["--match-run", str(match_run)] if match_run else []
        typer.echo(f"Stopped. Continue with: {shlex.join([*again, '--resume'])}", err=True)
        raise typer.Exit(130) from None
    if as_json:
        typer.echo(json.dumps(_summarize(outcome)))
    else:
        _show(Console(), outcome, settings)


def _summarize(outcome: "Outcome") -> dict[str, Any]:
    model, about, rows, used = outcome.model, outcome.model.about, outcome.rows, outcome.used
    withheld = outcome.profile.withheld
    return {
        "folder": str(outcome.folder),
        "clusters": [
            {"id": id, "size": size} for id, size in zip(model.ids, model.sizes, strict=True)
        ],
        "sizes_cover": outcome.profile.coverage,
        "withheld_counts": asdict(withheld) if withheld else None,
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


def _show(console: Console, outcome: "Outcome", settings: "Study") -> None:
    if outcome.choice is not None:
        why = outcome.choice.why
        show(console, f"{why[0].upper()}{why[1:]}")
    console.print(_tabulate(outcome))
    report = settings.outputs.report
    lines = [*_write_remarks(outcome), *explain_end(outcome, settings.sampling.fraction)]
    lines += _describe_labels(outcome.labels)
    shown = outcome.folder / "report.html" if report else outcome.folder
    lines.append(f"{'Report' if report else 'Model and history'}: {shown}")
    for line in lines:
        show(console, line)


def _describe_labels(labels: Mapping[str, Path | str]) -> Iterator[str]:
    """One line, however many clients there are."""
    files = [Path(file) for file in labels.values()]
    folders = sorted({file.parent for file in files})
    if len(files) == 1:
        yield f"Labels: {files[0]}"
    elif len(folders) == 1:
        yield f"Labels: {folders[0]} ({len(files):,} files, one for each client)"
    elif folders:
        beside = Path(*folders[0].parts[-2:])
        yield f"Labels: {beside} beside each client's data ({len(files):,} files)"


def _tabulate(outcome: "Outcome") -> Table:
    """Sizes, and the features that differ most, where they are known."""
    from ..report.amounts import several

    model = outcome.model
    rounds = model.about.rounds if model.about else 0
    title = f"{several(len(model.ids), 'cluster')} in {several(rounds, 'round')}"
    table = Table(title=title)
    names, values = _find_differing_features(outcome)
    for name in ("cluster", "rows", *names):
        table.add_column(cell(name), justify="right")
    for id, size, row in zip(model.ids, model.sizes, values, strict=True):
        table.add_row(str(id), "-" if size is None else f"{size:,}", *row)
    return table


def _find_differing_features(outcome: "Outcome") -> tuple[list[str], list[list[str]]]:
    """Names and means; with split columns no party knows all features."""
    from ..report.features import rank_features

    clusters = outcome.profile.clusters
    order = rank_features(outcome.model, clusters)[:_MAX_COLUMNS]
    means = [[cluster.features[p].mean for p in order] for cluster in clusters]
    shown = [["-" if mean is None else f"{mean:.4g}" for mean in row] for row in means]
    return [clusters[0].features[p].name for p in order], shown


def _write_remarks(outcome: "Outcome") -> Iterator[str]:
    model: Any = outcome.model
    n_names = len(model.preparation.names) if hasattr(model, "preparation") else 0
    if n_names > _MAX_COLUMNS:
        yield f"The table shows the {_MAX_COLUMNS} of {n_names} columns that differ most."
    yield from _explain_left_out(outcome)
    about, privacy = model.about, model.about.privacy
    yield from _describe_sizes(outcome)
    if about.caveat:
        yield f"Warning: {about.caveat}."
    if privacy.tier != "none" or not hasattr(model, "centers"):
        yield f"Privacy, {privacy.tier}: {privacy.guarantee} {privacy.advice}".rstrip()
    if privacy.effect:
        yield privacy.effect


def explain_end(outcome: "Outcome", fraction: float) -> Iterator[str]:
    """Why a run ended before it converged; a fraction of the clients took part in each round."""
    from ..report.amounts import several

    about = outcome.model.about
    if about is None:
        return
    rounds = several(about.rounds, "round")
    if about.ended_by_tier:
        tier = about.privacy.tier
        yield f"The run stopped after {rounds}, the limit of the tier {tier!r}."
    elif not about.converged:
        remedy = "increase max_rounds or tol"
        if fraction < 1:
            remedy = f"with fraction = {fraction:g} centres keep moving, so increase tol"
        yield f"The run stopped after {rounds} before it converged; {remedy}."


def _describe_sizes(outcome: "Outcome") -> Iterator[str]:
    """What the sizes cover, what is withheld, and which clusters are empty."""
    from ..report.words import coverage_words, rounding_words, withheld_words

    model, profile = outcome.model, outcome.profile
    if profile.coverage in ("replied", "released"):
        yield coverage_words(profile, model.about.privacy.tier)
    if hasattr(model, "centers"):  # with split columns each owner sees its own part
        yield from filter(None, [withheld_words(profile)])
        every = model.about.privacy.publishes_all
        yield from filter(None, [rounding_words(profile, publishes_all=every)])
    n, unknown, empty = len(model.ids), model.sizes.count(None), model.sizes.count(0)
    if 0 < unknown < n:
        yield f"{unknown} of {n} clusters have no size: empty, very small, or withheld."
    if empty:
        remedy = "choose fewer clusters, or another init or seed"
        yield f"{empty} of {n} clusters have no rows; {remedy}."


def _explain_left_out(outcome: "Outcome") -> Iterator[str]:
    used = outcome.used
    if not hasattr(outcome.model, "centers"):  # every client has its own rows of the records
        for client, n in outcome.offered.items():
            yield f"{used:,} of the {n:,} rows of {client} are records that all clients have."
    elif outcome.rows is not None and used is not None and used < outcome.rows:
        left_out = outcome.rows - used
        yield f"{left_out:,} of {outcome.rows:,} rows were left out: they have missing values."
