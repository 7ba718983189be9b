"""Progress of a study: one bar for the whole run in a terminal, plain lines elsewhere."""

import time
from typing import Any, Self

from rich.console import Console, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from ..core import Plan, Round
from ..study.phases import Phase
from .printing import show
from .tools.outlook import Outlook

_DELAY = 2.0  # seconds before anything is shown
_EARLY, _LITTLE = 10.0, 0.1  # seconds, share: before both, an estimate of the rest is a guess
_PAUSE = 30.0  # seconds between two plain lines of the same step


class Watch:
    """Shows the current step, how much of the run is done, and about how long the rest takes."""

    def __init__(self, console: Console, outlook: Outlook) -> None:
        self._console, self._outlook = console, outlook
        self._started = self._said_at = time.monotonic()
        self._step = ""
        self._said: set[str] = set()
        self._share = 0.0
        self._live: Live | None = None

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live = Live(console=self._console, get_renderable=self._draw, transient=True)
            self._live.start()
        return self

    def __exit__(self, *problem: object) -> None:
        if self._live is not None:
            self._live.stop()

    def enter(self, phase: Phase) -> None:
        """Note that a phase of the study begins."""
        self._step = self._outlook.enter(phase, time.monotonic())
        self._print_line()

    def __call__(self, phase: Phase, plan: Plan, last: Round) -> None:
        """Note a round."""
        self._step = self._outlook.add(phase, plan, last, time.monotonic())
        self._print_line()

    def _measure(self) -> tuple[float, float | None]:
        """The share of the run that is done, which never falls, and the seconds that are left."""
        now = time.monotonic()
        left = self._outlook.seconds_left(now)
        if left is not None:
            elapsed = now - self._started
            self._share = max(self._share, elapsed / max(elapsed + left, 1e-9))
            if elapsed < _EARLY and self._share < _LITTLE:
                return self._share, None
        return self._share, left

    def _draw(self) -> RenderableType:
        if time.monotonic() - self._started < _DELAY:
            return Text("")
        share, left = self._measure()
        row = Table.grid(padding=(0, 1))
        bar = ProgressBar(total=1.0, completed=share, width=30, pulse=left is None)
        row.add_row(f"{self._step:<19}", bar, *_in_words(share, left))
        return row

    def _print_line(self) -> None:
        """Print the step to something that is not a terminal, such as the log of a batch job."""
        now = time.monotonic()
        new = self._step not in self._said
        if self._live is not None or now - self._started < _DELAY:
            return
        if new or now - self._said_at > _PAUSE:
            self._said.add(self._step)
            self._said_at = now
            words = ", ".join(_in_words(*self._measure()))
            line = f"{self._step}: {words}" if words else self._step
            show(self._console, line)


def _in_words(share: float, left: float | None) -> list[Any]:
    return [] if left is None else [f"{share:.0%}", f"about {format_seconds(left)} left"]


def format_seconds(seconds: float) -> str:
    """A duration in words, as exact as an estimate deserves."""
    if seconds < 60:
        return f"{max(1, round(seconds)) if seconds < 10 else 5 * round(seconds / 5)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
