"""How the server reaches clients, and how missing replies are reported."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Protocol

from .errors import Reason
from .message import Message

if TYPE_CHECKING:
    from .loop import Plan, Request


class Channel(Protocol):
    """A connection to the clients: within this process, or over a network."""

    def clients(self) -> Iterable[str]:
        """Ids of the clients that can receive a request now."""

    def ask(self, plan: "Plan", request: "Request") -> Iterable[tuple[str, Message]]:
        """Replies of the clients it is sent to, in any order; a client that fails is left out."""


def quorum_of(channel: Channel) -> int:
    """Fewest replies that a request to at least as many clients needs; a channel may set it."""
    return int(getattr(channel, "quorum", 1))


def reasons_of(channel: Channel) -> Mapping[str, Reason]:
    """Why there is no usable reply, by client, since its last good one, if the channel knows."""
    reasons: Callable[[], Mapping[str, Reason]] | None = getattr(channel, "reasons", None)
    return {} if reasons is None else reasons()


class Absent(Exception):
    """Clients of a cohort that do not answer any more. A followed channel raises it."""

    def __init__(self, clients: Iterable[str]) -> None:
        self.clients = tuple(sorted(clients))
        super().__init__(f"no answer from {', '.join(self.clients)}")


def run_name(channel: Channel) -> str:
    """The name of the run that all clients follow; empty if they answer plans.

    A followed channel repeats requests itself, and raises `Absent` for clients that stay silent.
    """
    return getattr(channel, "run_name", "")


class Wrapper:
    """A channel in front of another; subclasses override what they change."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel

    def clients(self) -> Iterable[str]:
        """Ids of the clients that can receive a request now."""
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

    @property
    def run_name(self) -> str:
        """The name of the followed run behind it, if there is one."""
        return run_name(self.channel)

    def leave_out(self, clients: Iterable[str]) -> None:
        """Tell a followed channel that a round is repeated without some clients."""
        if self.run_name:
            self.channel.leave_out(clients)  # type: ignore[attr-defined]
