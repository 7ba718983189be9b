"""``fedclust example``: write an example study, with a file for each client."""

from pathlib import Path
from typing import Annotated

import typer

from ..core import ConfigError


def example(
    name: Annotated[str, typer.Argument(help="penguins, heart_disease or wholesale_customers.")],
    folder: Annotated[Path, typer.Argument(help="A new folder for the files.")],
) -> None:
    """Write a public data set as one CSV file per owner, and a study file for it.

    The penguins and the heart disease data are part of fedclust. The other data set is read from
    the folder in FEDCLUST_DATA, or downloaded, which needs fedclust[data].
    """
    from .tools.examples import EXAMPLES, write_example

    if name not in EXAMPLES:
        raise ConfigError(f"unknown example {name!r}; choose one of {', '.join(EXAMPLES)}")
    if folder.exists():
        raise ConfigError(f"{folder} exists already; choose a new folder")
    write_example(name, folder)
    typer.echo(f"Wrote {folder}/study.toml and a file for each client. Next:")
    typer.echo(f"  fedclust check {folder}/study.toml")
    typer.echo(f"  fedclust run {folder}/study.toml")
