"""The ServerApp: exchanges bytes with SuperNodes over Flower's grid, and runs a study."""

import logging
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from flwr.app import Context, Message, RecordDict
from flwr.serverapp import Grid, ServerApp

from ...core import ConfigError, TooFewClients
from . import NAME, NAME_KEY, REQUEST
from .messages import bytes_content, error_text, read_bytes, read_name

POLL = 0.25  # seconds between calls to the SuperLink
_HELLO = 60.0  # seconds for a SuperNode to reply with its name
_VALID_NAME = r"[A-Za-z0-9_-]{1,60}"
_log = logging.getLogger("flwr")  # shown by 'flwr log'


class GridTransport:
    """Exchanges bytes with SuperNodes; client names come from their node-config."""

    def __init__(self, grid: Grid, *, poll: float = POLL) -> None:
        self._grid, self._poll = grid, poll
        self._nodes: dict[str, int] = {}  # Flower's node ids by client name

    def clients(self) -> list[str]:
        """Names of the clients that have introduced themselves."""
        return sorted(self._nodes)

    def exchange(
        self, clients: Sequence[str], request: bytes, seconds: float
    ) -> Iterator[tuple[str, bytes | str]]:
        """Yield each client's reply, or the reason why there is none."""
        start, n = time.monotonic(), 0
        online = set(self._grid.get_node_ids())
        connected = {self._nodes[c]: c for c in clients if self._nodes.get(c) in online}
        for client in sorted(set(clients) - set(connected.values())):
            yield client, "is not connected"
        pushed = self._push(connected, REQUEST, bytes_content(request), seconds)
        for node in sorted(set(connected) - set(pushed.values())):
            yield connected[node], "the SuperLink did not accept the message"
        while pushed:
            for node, reply in self._pull(pushed):
                answer = read_bytes(reply)
                n += isinstance(answer, bytes)
                yield connected[node], answer
            left = start + seconds - time.monotonic()
            if left <= 0:
                break
            time.sleep(min(self._poll, left) if pushed else 0.0)
        _log.info("%d of %d answered in %.1f s", n, len(clients), time.monotonic() - start)

    def wait(self, least: int, seconds: float, grace: float) -> list[str]:
        """Wait until enough SuperNodes have replied with their names, plus a grace period."""
        end, enough = time.monotonic() + seconds, float("inf")
        known: set[int] = set()
        hellos: dict[str, int] = {}
        while True:
            new = sorted(set(self._grid.get_node_ids()) - known)
            hellos |= self._push(new, NAME, RecordDict(), _HELLO)
            known |= set(new)
            for node, reply in self._pull(hellos):
                self._add_node(node, reply)
            now = time.monotonic()
            if len(self._nodes) >= least:
                enough = min(enough, now)
                if not hellos or now - enough >= grace:
                    return self.clients()
            elif now > end:
                raise TooFewClients(
                    f"{len(self._nodes)} of at least {least} clients connected within {seconds:g} "
                    f"s: {', '.join(self.clients()) or 'none'}"
                )
            time.sleep(self._poll)

    def _add_node(self, node: int, reply: Message) -> None:
        name = read_name(reply)
        if reply.has_error():
            _log.warning("SuperNode %d did not send its name: %s", node, error_text(reply.error))
        elif not re.fullmatch(_VALID_NAME, name):
            _log.warning("SuperNode %d has no valid %s: %.60r", node, NAME_KEY, name)
        elif name in self._nodes:
            raise ConfigError(f"two SuperNodes are called {name!r}; give each its own {NAME_KEY}")
        else:
            self._nodes[name] = node

    def _push(
        self, nodes: Iterable[int], kind: str, content: RecordDict, seconds: float
    ) -> dict[str, int]:
        """Send messages that expire after `seconds`; return nodes by accepted message id."""
        nodes = list(nodes)
        if not nodes:
            return {}
        messages = [Message(content, node, f"query.{kind}", ttl=seconds) for node in nodes]
        ids = list(self._grid.push_messages(messages))
        return {id: node for id, node in zip(ids, nodes, strict=False) if id}

    def _pull(self, waiting: dict[str, int]) -> Iterator[tuple[int, Message]]:
        """Yield the replies that have arrived, and remove them from `waiting`.

        The node is known only from the id of the request: errors come from the SuperLink itself.
        """
        for reply in self._grid.pull_messages(list(waiting)) if waiting else ():
            node = waiting.pop(reply.metadata.reply_to_message_id, None)
            if node is not None:
                yield node, reply


def server_app(study: Callable[[GridTransport, Mapping[str, Any]], object]) -> ServerApp:
    """Create the app that runs a study over the grid with the run's configuration."""
    app = ServerApp()

    @app.main()
    def main(grid: Grid, context: Context) -> None:
        study(GridTransport(grid), dict(context.run_config))

    return app
