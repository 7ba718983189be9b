"""``fedclust client``: run a client in the foreground."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from ..core import FedclustError
from ..deploy.events import LOG_FILE, EventLog, LogFormat
from .asking import (
    Answer,
    discard_input,
    has_input,
    print_question,
    read_answer,
    show_pending,
    show_words,
)
from .printing import show
from .signals import exit_on_signals

if TYPE_CHECKING:
    from ..deploy.client_monitor import ClientMonitor
    from ..deploy.watch import Event, Watch
    from ..follow.decisions import Pending


def client(
    kit: Annotated[Path, typer.Argument(help="Folder of the client's kit.")],
    new_identity: Annotated[
        bool,
        typer.Option(
            "--new-identity", help="Make a new identity key that only you know, and exit."
        ),
    ] = False,
    log_format: Annotated[
        LogFormat, typer.Option(help=f"Format of the events in {LOG_FILE} in the kit.")
    ] = LogFormat.TEXT,
    metrics_port: Annotated[
        int | None,
        typer.Option(
            help="Serve metrics for Prometheus and a health check on this port of 127.0.0.1."
        ),
    ] = None,
) -> None:
    """Connect to the server and answer the requests that client.toml allows, until Ctrl-C.

    Shows each study in words when it begins, or asks for your approval if client.toml has
    `approval = "ask"`.
    """
    from ..client.config import CLIENT_FILE, read_client_config
    from ..deploy.client_monitor import ClientMonitor
    from ..deploy.kits import read_kit
    from ..deploy.monitor import serving
    from ..deploy.run_client import change_identity, run_client
    from ..deploy.watch import Watch

    console = Console()

    def tell(text: str) -> None:
        show(console, text)

    if new_identity:
        change_identity(kit, tell)
        return
    about = read_kit(kit, "client")  # explains a wrong folder better than a missing client.toml
    config = read_client_config(kit / CLIENT_FILE)
    monitor = ClientMonitor(about, config, EventLog(kit / LOG_FILE, log_format))
    terminal = sys.stdin is not None and sys.stdin.isatty()
    attendant = Attendant(console, kit, Watch(config), asks=terminal, monitor=monitor)
    with exit_on_signals(), serving(metrics_port, monitor, tell), monitor.running():
        run_client(kit, tell, attendant.attend)


class Attendant:
    """Shows studies while a client runs, and asks for approval in a terminal."""

    def __init__(
        self,
        console: Console,
        kit: Path,
        watch: "Watch",
        *,
        asks: bool,
        monitor: "ClientMonitor | None" = None,
    ) -> None:
        self._console, self._kit, self._watch, self._asks = console, kit, watch, asks
        self._monitor = monitor
        self._problem: str | None = None  # of the log of events
        self._waiting: list[Pending] = []
        self._asked = False  # whether the question about the first one is on the screen

    def attend(self) -> None:
        """Show what is new, and take an answer if there is one; never waits, and never fails."""
        try:
            for event in self._watch.find_new():
                self._show(event)
                if self._monitor is not None:
                    self._monitor.note_study(event)
            self._look()
            if self._asks and self._waiting:
                self._ask()
        except (FedclustError, OSError, ValueError) as problem:  # the client itself goes on
            show_words(self._console, [f"studies cannot be shown here: {problem}"])

    def _look(self) -> None:
        """Let the monitor take in what is new; a problem of its log is shown once."""
        problem = None if self._monitor is None else self._monitor.look()
        if problem is not None and problem != self._problem:
            show_words(self._console, [problem])
        self._problem = problem

    def _show(self, event: "Event") -> None:
        from ..deploy.watch import Begins, IsRefused
        from ..follow.words import describe_study

        if isinstance(event, IsRefused):
            what = "the study" if event.whole else "a request of the study"
            show_words(self._console, [f"refused {what} {event.study!r}: {event.why}"])
        elif isinstance(event, Begins):
            name = event.study.path.stem
            show(self._console, f"follows the study {name!r}, hash {event.hash}")
            if not self._watch.approvals.decision(event.hash):  # rules, which nobody has read to
                show_words(self._console, describe_study(event.study))
        else:
            self._waiting.append(event.pending)
            if not self._asks:
                self._point_to_command(event.pending)

    def _point_to_command(self, one: "Pending") -> None:
        name = one.study.path.stem
        show(
            self._console,
            f"the study {name!r} (hash {one.hash}) waits for your approval; decide with: fedclust "
            f"approve {self._kit}",
        )

    def _ask(self) -> None:
        """Ask about the first study that waits, or read the answer."""
        one = self._waiting[0]
        if made := self._watch.approvals.decision(one.hash):
            self._next()
            show(self._console, f"\nThe study {one.study.path.stem!r} was {made} elsewhere.")
        elif not self._asked:
            show_pending(self._console, one)
            discard_input()
            print_question(self._console)
            self._asked = True
        elif has_input():
            self._take(one, sys.stdin.readline())

    def _take(self, one: "Pending", line: str) -> None:
        if not line:  # the terminal is gone
            self._asks = False
            self._point_to_command(one)
            return
        answer = read_answer(line)
        if answer is None:
            print_question(self._console)
            return
        self._next()
        if answer is Answer.LATER:
            self._point_to_command(one)
            return
        approved = answer is Answer.YES
        made = self._watch.approvals.decide(one.study.path.stem, one.hash, approved=approved)
        show(self._console, f"{made.decision.capitalize()}: {made.study!r}, hash {made.hash}.")

    def _next(self) -> None:
        self._waiting.pop(0)
        self._asked = False
