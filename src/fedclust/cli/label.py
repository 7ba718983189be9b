"""``fedclust label``: clusters for rows that were not there when the clusters were found."""

from pathlib import Path
from typing import Annotated

import typer


def label(
    model: Annotated[Path, typer.Argument(help="A run's folder, or its model.json.")],
    data: Annotated[list[Path], typer.Argument(help="Files with the columns of the study.")],
    out: Annotated[
        Path | None,
        typer.Option(help="Where labels go, such as labels.csv; else to Parquet beside the data."),
    ] = None,
    id: Annotated[str | None, typer.Option(help="A column that names rows.")] = None,
    force: Annotated[bool, typer.Option(help="Replace a file of labels.")] = False,
) -> None:
    """Assign new rows to the clusters of a run, in batches: files may be larger than memory.

    Writes one line per row: its id or number, its cluster, and for fuzzy clusters its
    memberships. Rows with gaps that the study left out have an empty cluster.
    """
    from ..clustering.model import load
    from ..study.label import label_files

    target = out or data[0].with_name(f"{data[0].stem}.labels.parquet")
    done = label_files(load(model), data, target, id=id, force=force)
    for number, size in done.sizes.items():
        typer.echo(f"cluster {number}: {size:,} rows")
    if done.left_out:
        typer.echo(f"without a cluster, because of gaps: {done.left_out:,} rows")
    typer.echo(f"Labels: {target}")
