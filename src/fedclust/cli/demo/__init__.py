"""``fedclust demo``: cluster penguins of three islands, or measured by two teams."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ...core import ConfigError


class Split(StrEnum):
    """Whether owners hold different rows or different columns."""

    rows = "rows"
    vertical = "vertical"


def demo(
    split: Annotated[
        Split,
        typer.Argument(
            help="What differs between owners: their birds (rows) or their measurements (vertical)."
        ),
    ] = Split.rows,
    out: Annotated[Path, typer.Option(help="File for the figure.")] = Path("fedclust-demo.png"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random numbers.")] = 2,
) -> None:
    """Cluster penguins of owners that do not share data: three islands, or two teams."""
    if not out.parent.is_dir():
        raise ConfigError(f"--out: there is no folder {out.parent}")
    console = Console()
    with console.status(
        "clustering penguins (the first run compiles code, which takes a few seconds)"
    ):
        from .islands import run_islands
        from .teams import run_teams

        result = run_islands(seed) if split is Split.rows else run_teams(seed)
    result.show(console)
    try:
        from matplotlib.figure import Figure
    except ImportError:
        console.print("No figure: it needs matplotlib (pip install 'fedclust\\[plot]').")
        return
    figure = Figure(figsize=(12, 7), layout="constrained")
    result.draw(figure)
    figure.savefig(out, dpi=130)
    console.print(f"Figure: {out}")
