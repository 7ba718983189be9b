"""``fedclust report``: write the HTML report of a run."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console


def report(
    run: Annotated[Path, typer.Argument(help="Folder of the run.")],
) -> None:
    """Regenerate report.html from the files of a run; the page needs no network."""
    from ..report import write_report

    Console().print(f"Report: {write_report(run)}", markup=False, soft_wrap=True)
