"""``fedclust server``: run a study over the clients of a federation."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from ..deploy.events import LOG_FILE, EventLog, LogFormat
from .printing import show
from .signals import exit_on_signals


def server(
    study: Annotated[Path, typer.Argument(help="The study file.")],
    kits: Annotated[Path, typer.Option(help="Folder with the kits server/ and admin/.")],
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the results. Default: study-run, beside study.toml."),
    ] = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Start again, and replace the earlier or unfinished run in this folder."
        ),
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the run that was interrupted.")
    ] = False,
    deadline: Annotated[
        float, typer.Option(help="Seconds to wait for a client's reply in each round.")
    ] = 120.0,
    wait: Annotated[
        float,
        typer.Option(
            help="Seconds to wait at the start until enough clients are connected, and until their "
            "owners have approved the study."
        ),
    ] = 600.0,
    grace: Annotated[
        float, typer.Option(help="Seconds to wait for further clients once there are enough.")
    ] = 5.0,
    log_format: Annotated[
        LogFormat, typer.Option(help=f"Format of the events in {LOG_FILE} in the server's kit.")
    ] = LogFormat.TEXT,
    metrics_port: Annotated[
        int | None,
        typer.Option(
            help="Serve metrics for Prometheus and a health check on this port of 127.0.0.1."
        ),
    ] = None,
) -> None:
    """Start the server, wait for clients, run the study, and stop the server.

    Writes the same files as `fedclust run`, and incidents.jsonl if there were incidents. Each
    client writes the labels of its rows on its own machine.
    """
    from ..deploy.coordinator import run_federated
    from ..deploy.damage import check_files
    from ..deploy.kits import read_kit
    from ..deploy.monitor import serving
    from ..deploy.quorum import RunOptions
    from ..deploy.run_client import check_certificate
    from ..deploy.server_monitor import ServerMonitor
    from ..study import read_study

    settings = read_study(study, files=False)
    folder = out or study.with_name(f"{study.stem}-run")
    console = Console()
    for role in ("server", "admin"):
        kit = read_kit(kits / role, role)
        check_certificate(kit, lambda text: show(console, text))
        check_files(kit)
    log = EventLog(kits / "server" / LOG_FILE, log_format)
    monitor = ServerMonitor(read_kit(kits / "server", "server"), study.stem, log)

    def take(line: dict[str, Any]) -> None:
        monitor.take(line)
        _show(console, line)

    options = RunOptions(deadline, wait, grace)
    try:
        with (
            exit_on_signals(),
            serving(metrics_port, monitor, lambda text: show(console, text)),
            monitor.running(),
        ):
            run_federated(settings, kits, folder, options, take, resume=resume, force=force)
    except SystemExit:
        show(console, "Interrupted. To continue, run the same command with --resume.")
        raise
    console.print(f"Model, history and report: {folder}. Labels: at each client.")


def _show(console: Console, line: dict[str, Any]) -> None:
    """Print a line of progress; text from clients is not interpreted as markup."""
    if "message" in line:
        show(console, line["message"])
    elif "waiting" in line:
        from ..follow.words import describe_wait

        show(console, describe_wait(line["waiting"]))
    elif "incident" in line:
        incident = line["incident"]
        where = f"{incident['plan']}, round {incident['round'] + 1}"
        show(console, f"{incident['client']}: {incident['what']} ({where})", "yellow")
    else:
        text = (
            f"{line['phase']}: {line['plan']}, round {line['round'] + 1}: {line['answers']} replies"
        )
        show(console, text, "dim")
