"""``fedclust example``: a study to try, with a file for each client."""

from pathlib import Path
from typing import Annotated

import typer

from ..core import ConfigError


def example(
    name: Annotated[str, typer.Argument(help="penguins, heart_disease, wholesale_customers.")],
    folder: Annotated[Path, typer.Argument(help="A new folder for the files.")],
) -> None:
    """Write a public data set as one CSV file for each owner, and a study of them.

    The penguins come with fedclust. The others are read from the folder that FEDCLUST_DATA
    names, or downloaded, which needs the extra 'data' of fedclust.
    """
    from .tools.examples import EXAMPLES, write_example

    if name not in EXAMPLES:
        raise ConfigError(f"there is no example {name!r}; there are {', '.join(EXAMPLES)}")
    if folder.exists():
        raise ConfigError(f"{folder} is there already; give a folder that is not")
    write_example(name, folder)
    typer.echo(f"Wrote {folder}/study.toml and a file for each client. Next:")
    typer.echo(f"  fedclust check {folder}/study.toml")
    typer.echo(f"  fedclust run {folder}/study.toml")
