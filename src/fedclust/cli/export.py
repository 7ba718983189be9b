"""``fedclust export``: write a model for other programs."""

from pathlib import Path
from typing import Annotated

import typer

from ..core import ConfigError


def export(
    model: Annotated[Path, typer.Argument(help="Folder of a run, or its model.json.")],
    target: Annotated[
        Path, typer.Argument(help="The file to write; its name ends in .onnx or .skops.")
    ],
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Write a model as ONNX, for any language, or as a scikit-learn pipeline (skops).

    Both give the cluster numbers of the run. ONNX also gives the memberships of fuzzy clusters.
    """
    from ..clustering.model import load
    from ..study.export import export as write

    if target.exists() and not force:
        raise ConfigError(f"{target} exists already; choose another name, or use --force")
    write(load(model), target)
    typer.echo(f"Wrote {target}")
