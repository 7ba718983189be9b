"""``fedclust init``: a first study file, from the clients' files or from answers."""

from pathlib import Path
from typing import Annotated

import typer

from ..core import ConfigError


def init(
    files: Annotated[
        list[str] | None,
        typer.Argument(help="Clients' files, as PATH or NAME=PATH; without any, you are asked."),
    ] = None,
    out: Annotated[Path, typer.Option(help="The study file to write.")] = Path("study.toml"),
    n_clusters: Annotated[
        str, typer.Option(help='Number of clusters, or "auto": the data choose.')
    ] = "auto",
    force: Annotated[bool, typer.Option(help="Replace a study file that is there.")] = False,
) -> None:
    """Write a commented study file, from the columns that the clients' files share."""
    from ..core.files import write_text
    from ..study import read_study
    from .tools.draft import draft

    if out.exists() and not force:
        raise ConfigError(f"{out} is there already; give another --out, or --force")
    if not files:
        files, n_clusters = _asked(n_clusters)
    text = draft(_named(files), out, _count(n_clusters))
    write_text(out, text)
    read_study(out)  # what is written here must be readable
    typer.echo(f"Wrote {out}. Look at it, then: fedclust check {out}")


def _asked(n_clusters: str) -> tuple[list[str], str]:
    typer.echo("Each client is one data owner. An empty answer ends the list.")
    files: list[str] = []
    while True:
        name = typer.prompt(f"Name of client {len(files) + 1}", default="", show_default=False)
        if not name.strip():
            break
        files.append(f"{name.strip()}={typer.prompt(f'File of {name.strip()}').strip()}")
    wanted = typer.prompt('Number of clusters, or "auto"', default=n_clusters)
    return files, wanted


def _named(files: list[str]) -> dict[str, Path]:
    named: dict[str, Path] = {}
    for given in files:
        name, equals, path = given.partition("=")
        file = Path(path if equals else given).expanduser()
        name = name if equals else file.stem
        if name in named:
            raise ConfigError(f"two clients are called {name!r}; give NAME=PATH")
        named[name] = file
    return named


def _count(given: str) -> int | str:
    if given == "auto":
        return given
    if not given.isdigit() or int(given) < 1:
        raise ConfigError(f'n_clusters must be a whole number or "auto", got {given!r}')
    return int(given)
