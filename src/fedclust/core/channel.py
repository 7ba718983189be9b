"""How the server reaches clients, and how missing replies are reported."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from .errors import Reason
from .message import Message

if TYPE_CHECKING:
    from .loop import Plan, Request


class Channel(Protocol):
    """A connection to the clients: within this process, or over a network."""

    def clients(self) -> Iterable[str]:
        """Ids of the clients that can be asked now."""

    def ask(self, plan: "Plan", request: "Request") -> Iterable[tuple[str, Message]]:
        """Replies of the clients it is sent to, in any order; a client that fails is left out."""


@runtime_checkable
class Lossy(Protocol):
    """A channel that can lose replies: how many it needs, and why others are missing."""

    @property
    def quorum(self) -> int:
        """Fewest replies that a request to at least as many clients needs."""

    def reasons(self) -> Mapping[str, Reason]:
        """Why there is no usable reply, by client, since its last good one."""


def quorum_of(channel: Channel) -> int:
    """Fewest replies that the channel needs."""
    return channel.quorum if isinstance(channel, Lossy) else 1


def reasons_of(channel: Channel) -> Mapping[str, Reason]:
    """Why replies are missing, as far as the channel knows."""
    return channel.reasons() if isinstance(channel, Lossy) else {}


class Wrapper:
    """A channel in front of another; subclasses override what they change."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel

    def clients(self) -> Iterable[str]:
        """Ids of the clients that can be asked now."""
        return self.channel.clients()

    def ask(self, plan: "Plan", request: "Request") -> Iterable[tuple[str, Message]]:
        """Replies of the clients it is sent to."""
        return self.channel.ask(plan, request)

    @property
    def quorum(self) -> int:
        """Fewest replies that the channel behind needs."""
        return quorum_of(self.channel)

    def reasons(self) -> Mapping[str, Reason]:
        """Why replies are missing, as far as the channel behind knows."""
        return reasons_of(self.channel)
