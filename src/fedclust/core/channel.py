"""The way to the clients, and what it says of those who did not answer."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from .message import Message

if TYPE_CHECKING:
    from .loop import Plan, Request


class Channel(Protocol):
    """The way to the clients: this process, or a network."""

    def clients(self) -> Iterable[str]:
        """Ids of the clients that can be asked now."""

    def ask(self, plan: "Plan", request: "Request") -> Iterable[tuple[str, Message]]:
        """Replies of those it goes to, in any order; a client that fails is left out."""


@runtime_checkable
class Lossy(Protocol):
    """What a channel that loses answers says too: how many must come, why others did not."""

    @property
    def quorum(self) -> int:
        """Fewest answers to a request that went to as many."""

    def why(self) -> str:
        """What is known of clients that did not answer, as a sentence's end."""


def quorum_of(channel: Channel) -> int:
    """Fewest answers that the channel stands for."""
    return channel.quorum if isinstance(channel, Lossy) else 1


def reasons_for_silence(channel: Channel) -> str:
    """What the channel knows of those who did not answer."""
    return channel.why() if isinstance(channel, Lossy) else ""
