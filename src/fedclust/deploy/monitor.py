"""Metrics and a health check over HTTP, on the loopback address only, and only for reading.

`/metrics` has the metrics, `/health` the state as JSON, with status 200 or, if something needs
attention, 503.
"""

import contextlib
import json
import threading
from collections.abc import Callable, Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Protocol

from ..core.errors import ConfigError
from ..core.files import explain
from .exposition import CONTENT_TYPE, Family, render

LOOPBACK = "127.0.0.1"
_HOSTS = (LOOPBACK, "localhost")  # a page in a browser cannot send these names for itself
_IDLE = 5.0  # seconds after which a connection that asks nothing is closed


class Health(NamedTuple):
    """Whether all is well, and what that is judged by."""

    ok: bool
    state: dict[str, Any]


class Source(Protocol):
    """What can be asked for the metrics and the health of a process."""

    def families(self) -> Iterable[Family]:
        """The metrics."""

    def health(self) -> Health:
        """The state."""


class _Answer(NamedTuple):
    status: int
    kind: str
    body: str


def answer(path: str, host: str, source: Source) -> _Answer:
    """The answer to a request for a path."""
    if host.rpartition(":")[0] not in _HOSTS and host not in _HOSTS:
        return _Answer(403, "text/plain", "ask for 127.0.0.1 or localhost\n")
    if path == "/metrics":
        return _Answer(200, CONTENT_TYPE, render(source.families()))
    if path == "/health":
        ok, state = source.health()
        text = json.dumps({"status": "ok" if ok else "failing", **state}) + "\n"
        return _Answer(200 if ok else 503, "application/json", text)
    return _Answer(404, "text/plain", "there are /metrics and /health\n")


def _handler(source: Source) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Answers GET and HEAD; all else is refused by the base class."""

        timeout = _IDLE
        server_version, sys_version = "fedclust", ""

        def do_GET(self) -> None:
            self._reply(with_body=True)

        def do_HEAD(self) -> None:
            self._reply(with_body=False)

        def _reply(self, *, with_body: bool) -> None:
            try:
                status, kind, text = answer(self.path, self.headers.get("Host", ""), source)
            except Exception as problem:  # a damaged file must not look like a healthy client
                status, kind, text = 500, "text/plain", f"{type(problem).__name__}\n"
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if with_body:
                self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Log nothing: a scraper asks every few seconds."""

    return Handler


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a connection that was closed early."""


@contextlib.contextmanager
def serving(port: int | None, source: Source, on_ready: Callable[[str], object]) -> Iterator[None]:
    """Serve for the duration of the block, unless there is no port; port 0 chooses a free one."""
    if port is None:
        yield
        return
    try:
        server = _Server((LOOPBACK, port), _handler(source))
    except OSError as problem:
        raise ConfigError(
            f"--metrics-port {port}: {explain(problem)}; choose another port"
        ) from None
    except OverflowError:
        raise ConfigError(f"--metrics-port {port}: a port is between 0 and 65535") from None
    with server:
        threading.Thread(target=server.serve_forever, daemon=True, name="metrics").start()
        on_ready(f"metrics: http://{LOOPBACK}:{server.server_port}/metrics")
        try:
            yield
        finally:
            server.shutdown()
