"""The command line: one module per command, which parses options, calls, and prints."""

from typing import Annotated, Any

import typer
from click import UsageError
from rich.console import Console
from typer.core import TyperCommand, TyperGroup

from .. import __version__
from ..core import FedclustError
from . import (
    algorithms,
    approve,
    audit,
    budget,
    check,
    client,
    demo,
    disclosures,
    doctor,
    example,
    explore,
    export,
    flower_app,
    init,
    label,
    provision,
    report,
    revoke,
    run,
    server,
    simulate,
    status,
    studies,
    watch,
)
from .printing import printable
from .usage import explain_usage


class _PlainFlags:
    """Help that shows no type for options without a value, which newer versions of typer do."""

    def get_params(self, ctx: Any) -> list[Any]:
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if getattr(param, "is_flag", False):
                param.metavar = ""
        return params


class _Command(_PlainFlags, TyperCommand):
    """One command."""


class _Commands(_PlainFlags, TyperGroup):
    """All commands; a user's mistake is shown as one message, without a traceback."""

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
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
app.command(name="demo", cls=_Command)(demo.demo)
app.command(name="algorithms", cls=_Command)(algorithms.algorithms)
app.command(name="example", cls=_Command)(example.example)
app.command(name="init", cls=_Command)(init.init)
app.command(name="check", cls=_Command)(check.check)
app.command(name="run", cls=_Command)(run.run)
app.command(name="budget", cls=_Command)(budget.budget)
app.command(name="simulate", cls=_Command)(simulate.simulate)
app.command(name="provision", cls=_Command)(provision.provision)
app.command(name="revoke", cls=_Command)(revoke.revoke)
app.command(name="server", cls=_Command)(server.server)
app.command(name="client", cls=_Command)(client.client)
app.command(name="approve", cls=_Command)(approve.approve)
app.command(name="flower-app", cls=_Command)(flower_app.flower_app)
app.command(name="doctor", cls=_Command)(doctor.doctor)
app.command(name="status", cls=_Command)(status.status)
app.command(name="watch", cls=_Command)(watch.watch)
app.command(name="studies", cls=_Command)(studies.studies)
app.command(name="disclosures", cls=_Command)(disclosures.disclosures)
app.command(name="audit", cls=_Command)(audit.audit)
app.command(name="explore", cls=_Command)(explore.explore)
app.command(name="label", cls=_Command)(label.label)
app.command(name="export", cls=_Command)(export.export)
app.command(name="report", cls=_Command)(report.report)


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
