"""``fedclust export``: write a model for other programs."""

from pathlib import Path
from typing import Annotated

import typer

from ..core import ConfigError


def export(
    model: Annotated[Path, typer.Argument(help="A run's folder, or its model.json.")],
    target: Annotated[Path, typer.Argument(help="model.onnx or model.skops.")],
    force: Annotated[bool, typer.Option(help="Replace an existing file.")] = False,
) -> None:
    """Write a model as ONNX (for any language, with memberships) or skops (scikit-learn)."""
    from ..clustering.model import load
    from ..study.export import export as write

    if target.exists() and not force:
        raise ConfigError(f"{target} exists already; choose another name, or use --force")
    write(load(model), target)
    typer.echo(f"Wrote {target}")
