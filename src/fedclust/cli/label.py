"""``fedclust label``: assign new rows to the clusters of a run."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer


def label(
    model: Annotated[Path, typer.Argument(help="A run's folder, or its model.json.")],
    data: Annotated[list[Path], typer.Argument(help="Files with the columns of the study.")],
    out: Annotated[
        Path | None,
        typer.Option(
            help="File for the labels, such as labels.csv; default: Parquet, beside the data."
        ),
    ] = None,
    id: Annotated[str | None, typer.Option(help="Column that identifies rows.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="How the files are read, such as --set decimal=, (repeatable)."),
    ] = None,
    force: Annotated[bool, typer.Option(help="Replace an existing file of labels.")] = False,
) -> None:
    """Assign new rows to the clusters of a run; files may be larger than memory.

    Writes one line per row: its id or number, its cluster and, for fuzzy clusters, its memberships.
    If the study leaves out rows with missing values, the cluster of such rows is empty.
    """
    from ..clustering.model import load
    from ..data.settings import ReadOptions
    from ..study.label import label_files
    from .tools.set_option import parse_settings

    target = out or data[0].with_name(f"{data[0].stem}.labels.parquet")
    found = load(model)
    reading = replace(found.reading, **parse_settings(set_ or [], ReadOptions))
    done = label_files(replace(found, reading=reading), data, target, id=id, force=force)
    for number, size in done.sizes.items():
        typer.echo(f"cluster {number}: {size:,} rows")
    if done.left_out:
        typer.echo(f"no cluster because of missing values: {done.left_out:,} rows")
    typer.echo(f"Labels: {target}")
