"""``fedclust server``: run a study over a federation's clients."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from .signals import ended_by_signals


def server(
    study: Annotated[Path, typer.Argument(help="The study file.")],
    kits: Annotated[Path, typer.Option(help="Folder with the kits server/ and admin/.")],
    out: Annotated[
        Path | None, typer.Option(help="The run's folder; else beside the study.")
    ] = None,
    force: Annotated[bool, typer.Option(help="Replace a run that is there.")] = False,
    resume: Annotated[bool, typer.Option(help="Continue a run that was interrupted.")] = False,
    deadline: Annotated[float, typer.Option(help="Seconds for a client's answer.")] = 120.0,
    wait: Annotated[float, typer.Option(help="Most seconds to wait for clients.")] = 600.0,
    grace: Annotated[float, typer.Option(help="Seconds for those beyond the quorum.")] = 5.0,
) -> None:
    """Start the server, wait for clients, run the study, and stop again.

    Writes what `fedclust run` writes, and incidents.jsonl if there were any; labels are written
    by the clients, each beside its own file.
    """
    from ..deploy.coordinator import How, run_federated
    from ..deploy.kits import read_kit
    from ..deploy.run_client import check_certificate
    from ..study import read_study

    asked = read_study(study, files=False)
    folder = out or study.with_name(f"{study.stem}-run")
    console = Console()
    for role in ("server", "admin"):
        check_certificate(read_kit(kits / role, role), lambda words: _say(console, words))
    try:
        with ended_by_signals():
            run_federated(
                asked,
                kits,
                folder,
                How(deadline, wait, grace),
                lambda line: _show(console, line),
                resume=resume,
                force=force,
            )
    except SystemExit:
        _say(console, "Interrupted: the same command with --resume goes on from the last round.")
        raise
    console.print(f"Model, history and report: {folder}; labels are at the clients.")


def _show(console: Console, line: dict[str, Any]) -> None:
    """A line of progress; what clients wrote is never taken for markup."""
    if "say" in line:
        _say(console, line["say"])
    elif "incident" in line:
        one = line["incident"]
        where = f"{one['plan']}, round {one['round']}"
        _say(console, f"{one['client']}: {one['what']} ({where})", "yellow")
    else:
        words = f"{line['phase']}: {line['plan']}, round {line['round']}: {line['answers']} answers"
        _say(console, words, "dim")


def _say(console: Console, words: str, style: str | None = None) -> None:
    console.print(words, style=style, markup=False, highlight=False, soft_wrap=True)
