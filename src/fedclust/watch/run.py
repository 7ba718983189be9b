"""Watch a run: what the files of its folder say while it runs, and when it has finished."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from ..progress import (
    PROGRESS,
    ClientLine,
    RunState,
    Standing,
    federation_folder,
    unfinished_folder,
)
from ..progress.follow import Follower
from .finished import FinishedRun
from .view import ClientRow, Fact, Headline, Tone, View
from .words import data_size, duration, sentence, several, some

_TONES = {
    Standing.ABSENT: Tone.WAITING,
    Standing.APPROVAL: Tone.WAITING,
    Standing.WAITING: Tone.WAITING,
    Standing.LEFT_OUT: Tone.ALARM,
}


class RunWatch:
    """Reads the files of one run; `look` takes in what is new."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self._finished = FinishedRun(self.folder)
        self._follower: Follower | None = None
        self._state = RunState()

    def look(self) -> View:
        """What is known now."""
        live = self._find_live()
        if live is not None:
            self._read(live)
            return describe(self._state, self.folder)
        return self._finished.look() or self._describe_nothing()

    def _find_live(self) -> Path | None:
        for place in (federation_folder(self.folder), unfinished_folder(self.folder)):
            if (place / PROGRESS).exists():
                return place / PROGRESS
        return None

    def _read(self, path: Path) -> None:
        if self._follower is None or self._follower.path != path:
            self._follower = Follower(path)
        if self._follower.restarts():
            self._state = RunState()
        for line in self._follower.read_new():
            with contextlib.suppress(KeyError, TypeError, ValueError, AttributeError):
                self._state.take(line)

    def _describe_nothing(self) -> View:
        text = f"No run has begun in {self.folder}. This page shows it as soon as it begins."
        title = self.folder.name.removesuffix("-run")
        return View(kind="run", title=title, over="Study", headline=Headline(text, Tone.WAITING))


def describe(state: RunState, folder: Path) -> View:
    """The page of a run that has not finished."""
    over = _is_over(state)
    return View(
        kind="run",
        title=str(state.about.get("study", folder.name)),
        over="Study, not finished" if over else "Study, running",
        headline=find_headline(state),
        facts=tuple(_facts(state)),
        clients=tuple(_row(client, over=over) for client in state.clients.values()),
        privacy=tuple(_privacy(state)),
        warnings=tuple(reversed(state.warnings)),
        shifts=state.shifts,
        trail=state.trail,
        axes=_AXES if state.trail else ("", ""),
    )


_AXES = ("the direction in which the first centres lie farthest apart", "the second one")


def _is_over(state: RunState) -> bool:
    return bool(state.end) or not _is_alive(state.about.get("process"))


def _is_alive(process: object) -> bool:
    """Whether a process of this machine exists; one that is not known is taken to be alive."""
    if not isinstance(process, int) or process <= 0 or os.name == "nt":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def find_headline(state: RunState) -> Headline:
    """What is going on, and whom the run waits for."""
    if state.end:
        stopped = state.end.get("how") == "stopped"
        again = " Continue it with --resume." if stopped else ""
        text = sentence(str(state.end.get("text", "the run ended")))
        return Headline(text + again, Tone.WAITING if stopped else Tone.ALARM, state.when)
    if not _is_alive(state.about.get("process")):
        text = "The process of this run is gone. Continue the run with --resume."
        return Headline(text, Tone.ALARM, state.when)
    if owners := list(state.names(Standing.APPROVAL)):
        text = f"Waiting for the approval of the owner{'s' if len(owners) > 1 else ''} of "
        return Headline(text + some(owners), Tone.WAITING, _since(state, Standing.APPROVAL))
    if late := list(state.names(Standing.WAITING)):
        return _describe_waiting(state, late)
    absent = list(state.names(Standing.ABSENT))
    if absent and not state.rounds and state.asked is None and not state.phase:
        text = f"Waiting for {some(absent)} to connect"
        return Headline(text, Tone.WAITING, _since(state, Standing.ABSENT))
    return Headline(_describe_work(state), Tone.CALM, state.when)


def _since(state: RunState, standing: Standing) -> str | None:
    return next((client.since for client in state.waiting(standing)), None) or state.when


def _describe_waiting(state: RunState, late: list[str]) -> Headline:
    answered = sum(1 for _ in state.names(Standing.ANSWERED))
    n = answered + len(late)
    has = "has" if answered == 1 else "have"
    more = f"{answered} of {several(n, 'client')} {has} answered" if answered else ""
    since = _since(state, Standing.WAITING)
    return Headline(f"Waiting for {some(late)}", Tone.WAITING, since, more)


def _describe_work(state: RunState) -> str:
    if state.asked is not None and state.clients:
        return f"All clients that were asked have answered; the server is {state.phase or 'busy'}"
    return sentence(state.phase).rstrip(".") if state.phase else "The run begins"


def _facts(state: RunState) -> Iterator[Fact]:
    yield Fact("phase", state.phase or "connecting", state.plan)
    limit = state.about.get("max_rounds") if state.phase == "clustering" else None
    if state.round is not None:
        yield Fact("round", f"{state.round + 1:,}", f"of at most {limit:,}" if limit else "")
    stalled = any(client.why for client in state.waiting(Standing.WAITING))
    if (left := state.seconds_left) is not None and not stalled and not _is_over(state):
        yield Fact("time left", duration(left), "at most")
    yield Fact("last news", "", since=state.when)
    yield Fact("received", data_size(state.received), f"sent {data_size(state.sent)}")
    most = state.about.get("max_queries")
    note = f"of at most {most:,}; clients also count earlier studies" if most else "no limit"
    yield Fact("queries so far", f"{state.rounds:,}", note)
    if (planned := state.about.get("epsilon")) is not None:
        spent = state.epsilon or 0.0
        note = f"of {planned:g}, at delta {state.about.get('delta'):g}"
        yield Fact("epsilon spent", f"{spent:.3g}", note)


def _row(client: ClientLine, *, over: bool) -> ClientRow:
    rows = (client.rounds, data_size(client.bytes), client.why)
    if over and client.standing is Standing.WAITING:
        return ClientRow(client.name, "had not answered", None, *rows)
    tone = _TONES.get(client.standing, Tone.CALM)
    return ClientRow(client.name, client.standing, client.since, *rows, tone)


def _privacy(state: RunState) -> Iterator[str]:
    if tier := state.about.get("tier"):
        yield f"Tier {tier}. {state.about.get('guarantee', '')}".strip()
