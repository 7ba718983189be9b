"""``fedclust label``: assign new rows to the clusters of a run."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .printing import say

if TYPE_CHECKING:
    from ..study.label import LabelledFile

_NAMED = 3  # files of labels that are listed by name


def label(
    model: Annotated[Path, typer.Argument(help="Folder of a run, or its model.json.")],
    data: Annotated[
        list[Path], typer.Argument(help="Files with new rows; they need the study's columns.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the labels, or a file such as labels.csv if there is one file of "
            "rows. Default: a Parquet file beside each file of rows."
        ),
    ] = None,
    id: Annotated[
        str | None,
        typer.Option(help="Column that identifies rows. Default: the id column of the study."),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="How the files are read, such as --set decimal=, (repeatable)."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace existing label files.")] = False,
) -> None:
    """Assign new rows to the clusters of a run; files may be larger than memory.

    Writes one file of labels for each file of rows, with one line per row: its id or number, its
    cluster and, for fuzzy clusters, its memberships. If the study leaves out rows with missing
    values, the cluster of such rows is empty.
    """
    from ..clustering.model import load
    from ..data.settings import ReadOptions
    from ..report.amounts import several
    from ..study.label import label_files
    from .tools.set_option import parse_settings

    found = load(model)
    reading = replace(found.reading, **parse_settings(set_ or [], ReadOptions))
    done = label_files(replace(found, reading=reading), data, out=out, id=id, force=force)
    sizes: Counter[int] = Counter()
    for file in done:
        sizes.update(file.labelled.sizes)
        for remark in file.remarks:
            say(f"Warning: {remark}.", err=True)
    for number, size in sizes.items():
        typer.echo(f"cluster {number}: {several(size, 'row')}")
    if left_out := sum(file.labelled.left_out for file in done):
        typer.echo(f"no cluster because of missing values: {several(left_out, 'row')}")
    say(f"Labels: {_list_targets(done)}")


def _list_targets(done: "list[LabelledFile]") -> str:
    named = ", ".join(str(file.target) for file in done[:_NAMED])
    return f"{named} and {len(done) - _NAMED:,} more" if len(done) > _NAMED else named
