"""``fedclust report``: a run's folder as one page to read."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console


def report(
    run: Annotated[Path, typer.Argument(help="The folder that a run wrote.")],
) -> None:
    """Write report.html anew from the files of a run; it opens without a network."""
    from ..report import write_report

    Console().print(f"Report: {write_report(run)}", markup=False, soft_wrap=True)
