"""``fedclust init``: write a first study file from the clients' files."""

from pathlib import Path
from typing import Annotated

import typer

from ..core import ConfigError


def init(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            help="Clients' files, as PATH or NAME=PATH; if omitted, fedclust prompts for them."
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="The study file to write.")] = Path("study.toml"),
    n_clusters: Annotated[
        str, typer.Option(help='Number of clusters, or "auto" to choose it from the data.')
    ] = "auto",
    force: Annotated[bool, typer.Option("--force", help="Replace an existing study file.")] = False,
) -> None:
    """Write a study file with comments, from the columns that all clients' files have."""
    from ..core.files import write_text
    from ..study import read_study
    from .tools.draft import draft

    if out.exists() and not force:
        raise ConfigError(f"{out} exists already; choose another --out, or use --force")
    if not files:
        files, n_clusters = _prompt_for_files(n_clusters)
    text = draft(_name_clients(files), out, _parse_n_clusters(n_clusters))
    write_text(out, text)
    read_study(out)  # raises if the draft is not a valid study
    typer.echo(f"Wrote {out}. Review it, then run: fedclust check {out}")


def _prompt_for_files(n_clusters: str) -> tuple[list[str], str]:
    typer.echo("Each client is one data owner. Press Enter to end the list.")
    files: list[str] = []
    while True:
        name = typer.prompt(f"Name of client {len(files) + 1}", default="", show_default=False)
        if not name.strip():
            break
        files.append(f"{name.strip()}={typer.prompt(f'File of {name.strip()}').strip()}")
    wanted = typer.prompt('Number of clusters, or "auto"', default=n_clusters)
    return files, wanted


def _name_clients(files: list[str]) -> dict[str, Path]:
    named: dict[str, Path] = {}
    for given in files:
        name, equals, path = given.partition("=")
        file = Path(path if equals else given).expanduser()
        name = name if equals else file.stem
        if name in named:
            raise ConfigError(f"two clients are named {name!r}; give NAME=PATH")
        named[name] = file
    return named


def _parse_n_clusters(given: str) -> int | str:
    if given == "auto":
        return given
    if not given.isdigit() or int(given) < 1:
        raise ConfigError(f'n_clusters must be a positive integer or "auto", got {given!r}')
    return int(given)
