"""The ServerApp's part: bytes to SuperNodes and back over Flower's grid, and a study that asks."""

import logging
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from flwr.app import Context, Message, RecordDict
from flwr.serverapp import Grid, ServerApp

from ...core import ConfigError, TooFewClients
from . import NAME, NAME_KEY, REQUEST
from .messages import carried, carrying, named, reason

POLL = 0.25  # seconds between questions to the SuperLink
_HELLO = 60.0  # seconds in which a SuperNode says its name
_FITS = r"[A-Za-z0-9_-]{1,60}"
_log = logging.getLogger("flwr")  # what is said there is what 'flwr log' shows


class GridTransport:
    """Bytes to SuperNodes and bytes back; clients have the names their node-config gives them."""

    def __init__(self, grid: Grid, *, poll: float = POLL) -> None:
        self._grid, self._poll = grid, poll
        self._nodes: dict[str, int] = {}  # by name; Flower's ids stay in here

    def clients(self) -> list[str]:
        """Names of those who were met."""
        return sorted(self._nodes)

    def exchange(
        self, clients: Sequence[str], request: bytes, seconds: float
    ) -> Iterator[tuple[str, bytes | str]]:
        """Each client's answer, or why there is none."""
        start, n = time.monotonic(), 0
        online = set(self._grid.get_node_ids())
        there = {self._nodes[c]: c for c in clients if self._nodes.get(c) in online}
        for client in sorted(set(clients) - set(there.values())):
            yield client, "is not connected"
        pushed = self._push(there, REQUEST, carrying(request), seconds)
        for node in sorted(set(there) - set(pushed.values())):
            yield there[node], "the SuperLink does not take the message"
        while pushed:
            for node, reply in self._pulled(pushed):
                answer = carried(reply)
                n += isinstance(answer, bytes)
                yield there[node], answer
            left = start + seconds - time.monotonic()
            if left <= 0:
                break
            time.sleep(min(self._poll, left) if pushed else 0.0)
        _log.info("%d of %d answered in %.1f s", n, len(clients), time.monotonic() - start)

    def wait(self, least: int, seconds: float, grace: float) -> list[str]:
        """Meet SuperNodes until there are enough, and the others had their chance."""
        end, enough = time.monotonic() + seconds, float("inf")
        met: set[int] = set()
        hellos: dict[str, int] = {}
        while True:
            new = sorted(set(self._grid.get_node_ids()) - met)
            hellos |= self._push(new, NAME, RecordDict(), _HELLO)
            met |= set(new)
            for node, reply in self._pulled(hellos):
                self._meet(node, reply)
            now = time.monotonic()
            if len(self._nodes) >= least:
                enough = min(enough, now)
                if not hellos or now - enough >= grace:
                    return self.clients()
            elif now > end:
                raise TooFewClients(
                    f"{len(self._nodes)} clients came within {seconds:g} s, not {least}: "
                    f"{', '.join(self.clients()) or 'nobody'}"
                )
            time.sleep(self._poll)

    def _meet(self, node: int, reply: Message) -> None:
        name = named(reply)
        if reply.has_error():
            _log.warning("SuperNode %d did not say its name: %s", node, reason(reply.error))
        elif not re.fullmatch(_FITS, name):
            _log.warning("SuperNode %d has no usable %s: %.60r", node, NAME_KEY, name)
        elif name in self._nodes:
            raise ConfigError(f"two SuperNodes are called {name!r}; give each its own {NAME_KEY}")
        else:
            self._nodes[name] = node

    def _push(
        self, nodes: Iterable[int], kind: str, content: RecordDict, seconds: float
    ) -> dict[str, int]:
        """Ids of the messages that were taken, and whom they go to; they die at the deadline."""
        nodes = list(nodes)
        if not nodes:
            return {}
        made = [Message(content, node, f"query.{kind}", ttl=seconds) for node in nodes]
        ids = list(self._grid.push_messages(made))
        return {id: node for id, node in zip(ids, nodes, strict=False) if id}

    def _pulled(self, waiting: dict[str, int]) -> Iterator[tuple[int, Message]]:
        """Replies that came, taken from those waited for.

        Only the message replied to says whose a reply is: errors come from the SuperLink itself.
        """
        for reply in self._grid.pull_messages(list(waiting)) if waiting else ():
            node = waiting.pop(reply.metadata.reply_to_message_id, None)
            if node is not None:
                yield node, reply


def server_app(study: Callable[[GridTransport, Mapping[str, Any]], object]) -> ServerApp:
    """The app that runs a study over the grid, as the run's configuration says."""
    app = ServerApp()

    @app.main()
    def main(grid: Grid, context: Context) -> None:
        study(GridTransport(grid), dict(context.run_config))

    return app
