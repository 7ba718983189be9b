"""The command line: one module per command, which parses options, calls, and prints."""

from typing import Annotated, Any

import typer
from click import UsageError
from rich.console import Console
from typer.core import TyperGroup

from .. import __version__
from ..core import FedclustError
from . import (
    algorithms,
    budget,
    check,
    client,
    demo,
    disclosures,
    doctor,
    example,
    export,
    flower_app,
    init,
    label,
    provision,
    report,
    run,
    server,
    simulate,
    status,
)
from .printing import printable
from .usage import explain_usage


class _Commands(TyperGroup):
    """Shows a user's mistake as one message, without a traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except UsageError as error:  # of a command or one of its options
            _print_error(f"fedclust: {explain_usage(error, self.list_commands(ctx))}")
            raise typer.Exit(2) from None
        except (FedclustError, OSError) as error:
            _print_error(f"fedclust: {error}")
            raise typer.Exit(1) from None


def _print_error(text: str) -> None:
    """Print on one line, however narrow the terminal: logs are searched by line."""
    text = printable(text)
    Console(stderr=True).print(text, style="red", markup=False, highlight=False, soft_wrap=True)


app = typer.Typer(
    name="fedclust",
    cls=_Commands,
    help="Federated clustering: find clusters in data of several owners; no row leaves its owner.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command(name="demo")(demo.demo)
app.command(name="algorithms")(algorithms.algorithms)
app.command(name="example")(example.example)
app.command(name="init")(init.init)
app.command(name="check")(check.check)
app.command(name="run")(run.run)
app.command(name="budget")(budget.budget)
app.command(name="simulate")(simulate.simulate)
app.command(name="provision")(provision.provision)
app.command(name="server")(server.server)
app.command(name="client")(client.client)
app.command(name="flower-app")(flower_app.flower_app)
app.command(name="doctor")(doctor.doctor)
app.command(name="status")(status.status)
app.command(name="disclosures")(disclosures.disclosures)
app.command(name="label")(label.label)
app.command(name="export")(export.export)
app.command(name="report")(report.report)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fedclust {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Federated clustering: find clusters in data of several owners; no row leaves its owner."""
