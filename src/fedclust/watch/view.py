"""What the page shows: values and sentences, ready to be sent as JSON."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any


class Tone(StrEnum):
    """How serious the state is."""

    CALM = "calm"
    WAITING = "waiting"
    ALARM = "alarm"
    DONE = "done"


@dataclass(frozen=True)
class Headline:
    """The one sentence that answers what is going on, and since when."""

    text: str
    tone: Tone = Tone.CALM
    since: str | None = None
    more: str = ""  # shown behind the time that has passed


@dataclass(frozen=True)
class Fact:
    """A number with its name."""

    name: str
    value: str
    note: str = ""
    since: str | None = None  # the page shows the time that has passed since then instead


@dataclass(frozen=True)
class ClientRow:
    """One client: how it stands, and what it has sent."""

    name: str
    standing: str
    since: str | None
    rounds: int
    bytes: str
    why: str
    tone: Tone = Tone.CALM


@dataclass(frozen=True)
class Message:
    """A message that left a client, or a refusal."""

    when: str
    to: str
    study: str
    what: str
    content: str
    protection: str
    bytes: str
    sha256: str
    refused: bool = False


@dataclass(frozen=True)
class Total:
    """What left a client in one study."""

    study: str
    hash: str
    approval: str
    to: str
    replies: int
    bytes: str
    refusals: int
    content: str
    protection: str
    first: str
    last: str


@dataclass(frozen=True, kw_only=True)
class View:
    """The whole page, of a run or of a client."""

    kind: str  # "run" or "client"
    title: str
    over: str  # the line above the title
    headline: Headline
    facts: tuple[Fact, ...] = ()
    clients: tuple[ClientRow, ...] = ()
    privacy: tuple[str, ...] = ()
    warnings: tuple[tuple[str, str], ...] = ()  # when, and what
    shifts: list[tuple[int, float]] = field(default_factory=list)
    trail: list[list[list[float]]] = field(default_factory=list)
    ids: tuple[int, ...] = ()  # numbers of the clusters of a finished run
    axes: tuple[str, str] = ("", "")
    totals: tuple[Total, ...] = ()
    messages: tuple[Message, ...] = ()
    more_messages: int = 0  # older ones, which the log has and the page has not

    def as_json(self) -> str:
        """The page's event; `now` lets a browser with another clock show how much time passed."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        return json.dumps({"now": now, **vars(self)}, default=_fields)


def _fields(value: Any) -> Any:
    return vars(value)
