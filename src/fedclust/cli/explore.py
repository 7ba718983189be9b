"""``fedclust explore``: ask the summary of a run for other clusters, without its clients."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from .printing import cell, say

if TYPE_CHECKING:
    from ..clustering.model import Model
    from ..clustering.summary import DataSummary, Groups

_TRIED = 20  # numbers of clusters in the overview
_MAX_COLUMNS = 6  # of a table of clusters


def explore(
    run: Annotated[Path, typer.Argument(help="Folder of a run that has a summary.")],
    k: Annotated[int | None, typer.Option(help="Number of clusters.")] = None,
    tree: Annotated[bool, typer.Option("--tree", help="Cut Ward's tree into k clusters.")] = False,
    shapes: Annotated[
        bool, typer.Option("--shapes", help="Clusters of any shape, as many as there are.")
    ] = False,
    fuzzifier: Annotated[
        float | None, typer.Option(help="Fuzzy c-means with this fuzzifier, such as 2.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Write the model with k clusters; `fedclust label` takes the file."),
    ] = None,
) -> None:
    """Look at other numbers of clusters of a finished run; no client is asked.

    The run must have a summary: a study with n_clusters = "auto" keeps one if its tier is guarded,
    secure, dp or secure+dp. Without --k, all numbers of clusters are compared.
    """
    from ..clustering.model import load
    from ..core import ConfigError

    model = load(run)
    if tree + shapes + (fuzzifier is not None) > 1:
        raise ConfigError("give at most one of --tree, --shapes and --fuzzifier")
    summary = model.known_summary
    if k is None and not shapes:
        if out is not None or tree or fuzzifier is not None:
            raise ConfigError("give the number of clusters with --k")
        Console().print(_compare(summary))
        return
    if out is not None and (tree or shapes):
        raise ConfigError("--out: a model has centres; leave out --tree and --shapes")
    k = None if shapes else k
    Console().print(_tabulate(model, _group(summary, k, fuzzifier, tree=tree)))
    say("These clusters come from the summary, not from all rows; no client was asked.")
    if out is not None:
        _write(model.at(k or 0, fuzzifier=fuzzifier), out)
        say(f"Model: {out}")


def _group(
    summary: "DataSummary", k: int | None, fuzzifier: float | None, *, tree: bool
) -> "Groups":
    from ..clustering.summary import group_by_centers, group_by_shape, group_by_tree

    if k is None:
        return group_by_shape(summary)
    return group_by_tree(summary, k) if tree else group_by_centers(summary, k, fuzzifier)


def _compare(summary: "DataSummary") -> Table:
    """What each number of clusters explains, and what the merge to one fewer costs."""
    from ..clustering.summary import find_shapes, group_by_centers, ward_tree

    heights = ward_tree(summary).height[::-1]
    title = f"{len(summary)} micro-clusters of {summary.rows:,.0f} rows"
    if summary.bordered:
        title += f", {int(find_shapes(summary).max()) + 1} by shape"
    table = Table(title=title)
    for name in ("clusters", "explained", "tree: height of the merge to one fewer"):
        table.add_column(name, justify="right")
    for k in range(1, min(_TRIED, len(summary)) + 1):
        height = f"{heights[k - 2]:.4g}" if k > 1 else "-"
        table.add_row(str(k), f"{group_by_centers(summary, k).share:.1%}", height)
    return table


def _tabulate(model: "Model", groups: "Groups") -> Table:
    """Sizes, and the means of the columns in which the clusters differ most."""
    explained = f"{groups.share:.1%} of the inertia explained"
    table = Table(title=f"{len(groups.sizes)} clusters, {explained}")
    names, values = model.preparation.names, model.preparation.in_units(groups.centers)
    order = (-groups.centers.std(axis=0)).argsort(kind="stable")[:_MAX_COLUMNS]
    for name in ("cluster", "rows", *(names[p] for p in order)):
        table.add_column(cell(name), justify="right")
    for c, size in enumerate(groups.sizes):
        table.add_row(str(c), f"{size:,}", *(f"{values[c, p]:.4g}" for p in order))
    return table


def _write(model: "Model", target: Path) -> None:
    from ..core import ConfigError
    from ..results import write_record

    if target.suffix != ".json":
        raise ConfigError(f"--out: {target}: the name of a model ends in .json")
    if target.exists():
        raise ConfigError(f"--out: {target} exists already; choose another name")
    write_record(target, model.as_config())
