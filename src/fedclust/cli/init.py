"""``fedclust init``: write a first study file from the clients' files."""

from pathlib import Path
from typing import Annotated

import typer

from ..core import ConfigError
from .printing import say


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
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="Setting of [data], such as --set decimal=, (repeatable)."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing study file.")] = False,
) -> None:
    """Write a study file with comments, from the columns that all clients' files have."""
    from ..core.files import write_text
    from ..data.settings import FileSettings
    from ..study import read_study
    from .tools.draft import draft
    from .tools.set_option import parse_settings

    if out.exists() and not force:
        raise ConfigError(f"{out} exists already; choose another --out, or use --force")
    settings = parse_settings(set_ or [], FileSettings)
    if not files:
        files, n_clusters = _prompt_for_files(n_clusters)
    drafted = draft(_name_clients(files), out, _parse_n_clusters(n_clusters), settings)
    write_text(out, drafted.text)
    for note in drafted.notes:
        say(note)
    read_study(out)  # raises if the draft is not a valid study
    say(f"Wrote {out}. Review it, then run: fedclust check {out}")


def _prompt_for_files(n_clusters: str) -> tuple[list[str], str]:
    typer.echo("Each client is one data owner. Press Enter to end the list.")
    files: list[str] = []
    while True:
        name = typer.prompt(f"Name of client {len(files) + 1}", default="", show_default=False)
        if not name.strip():
            break
        files.append(_prompt_for_file(name.strip()))
    wanted = typer.prompt('Number of clusters, or "auto"', default=n_clusters)
    return files, wanted


def _prompt_for_file(name: str) -> str:
    """NAME=PATH from two answers, or from one that is a file itself."""
    from ..data.files import named_files
    from ..data.formats import has_format

    path = Path(name).expanduser()
    if named_files(path) or has_format(path):
        client = _name_of(path)
        say(f"{name} is the file of client {client!r}.")
        return f"{client}={name}"
    return f"{name}={typer.prompt(f'File of {name}').strip()}"


def _name_clients(files: list[str]) -> dict[str, Path]:
    named: dict[str, Path] = {}
    for given in files:
        name, equals, path = given.partition("=")
        file = Path(path if equals else given).expanduser()
        name = name if equals else _name_of(file)
        if name in named:
            raise ConfigError(f"two clients are named {name!r}; give NAME=PATH")
        named[name] = file
    return named


def _name_of(file: Path) -> str:
    """The name of a client whose file is "north.csv" or "north.csv.gz"; a glob has no name."""
    stem = Path(file.stem).stem if file.suffix.lower() in (".gz", ".bz2", ".xz") else file.stem
    plain = stem.strip("*?[]-_. ")
    return plain or file.absolute().parent.name


def _parse_n_clusters(given: str) -> int | str:
    if given == "auto":
        return given
    if not given.isdigit() or int(given) < 1:
        raise ConfigError(f'n_clusters must be a positive integer or "auto", got {given!r}')
    return int(given)
