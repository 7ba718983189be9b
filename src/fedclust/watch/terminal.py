"""The same view in a terminal, for a server that is reached over SSH."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from .sources import Source
from .view import Fact, Tone, View
from .words import duration

_INTERVAL = 0.5
_ROWS = 20  # of clients or messages
_STYLES = {Tone.CALM: "", Tone.WAITING: "yellow", Tone.ALARM: "red", Tone.DONE: "green"}


def show(source: Source, console: Console, looks: int | None = None) -> None:
    """Show the view until Ctrl-C; where the output is no terminal, show it once."""
    if not console.is_terminal or looks == 1:
        console.print(draw(source.look()))
        return
    with Live(console=console, auto_refresh=False, screen=False) as live:
        while looks is None or (looks := looks - 1) >= 0:
            live.update(draw(source.look()), refresh=True)
            time.sleep(_INTERVAL)


def draw(view: View) -> RenderableType:
    """The view as text and tables; nothing of a name is obeyed by the terminal."""
    head = Text(f"{_plain(view.over)}: {_plain(view.title)}", style="bold")
    said = _plain(view.headline.text)
    if passed := _passed(view.headline.since):
        said += f" for {passed}" if view.headline.tone is Tone.WAITING else f", {passed} ago"
    if view.headline.more:
        said += f"; {_plain(view.headline.more)}"
    parts: list[RenderableType] = [head, Text(said, style=_STYLES[view.headline.tone])]
    parts.append(Text("   ".join(_fact(fact) for fact in view.facts), style="dim"))
    if view.clients:
        parts.append(_clients(view))
    if view.totals:
        parts.append(_totals(view))
    parts += [Text(_plain(text)) for text in view.privacy]
    parts += [
        Text(f"{when[:19]} {_plain(what)}", style="yellow") for when, what in view.warnings[:5]
    ]
    return Group(*parts)


def _fact(fact: Fact) -> str:
    value = f"{_passed(fact.since)} ago" if fact.since else fact.value
    note = f" ({_plain(fact.note)})" if fact.note else ""
    return f"{fact.name}: {_plain(value)}{note}"


def _clients(view: View) -> Table:
    table = Table("client", "state", "rounds", "sent", "why")
    order = sorted(view.clients, key=lambda row: row.tone is Tone.CALM)
    for row in order[:_ROWS]:
        state = ", ".join(filter(None, (row.standing, _passed(row.since))))
        cells = (row.name, state, f"{row.rounds:,}", row.bytes, row.why)
        table.add_row(*(escape(_plain(cell)) for cell in cells), style=_STYLES[row.tone])
    if len(order) > _ROWS:
        table.add_row(f"and {len(order) - _ROWS} more", "", "", "", "")
    return table


def _totals(view: View) -> Table:
    table = Table("study", "approval", "to", "replies", "left", "protected by", "last (UTC)")
    for one in view.totals[:_ROWS]:
        cells = (one.study, one.approval, one.to, f"{one.replies:,}", one.bytes, one.protection)
        table.add_row(*(escape(_plain(cell)) for cell in (*cells, one.last[:19])))
    return table


def _passed(since: str | None) -> str:
    if since is None:
        return ""
    try:
        passed = (datetime.now(UTC) - datetime.fromisoformat(since)).total_seconds()
    except (ValueError, TypeError):
        return ""
    return duration(max(0.0, passed))


def _plain(text: str) -> str:
    return "".join(_letters(text))


def _letters(text: str) -> Iterator[str]:
    for letter in text:
        yield letter if letter.isprintable() else letter.encode("unicode_escape").decode()
