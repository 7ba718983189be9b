"""Serve the page: one static page, and one stream of events that it shows."""

import asyncio
import secrets
import socket
from collections.abc import AsyncIterator, Callable
from importlib.resources import files

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from ..core.errors import ConfigError
from ..core.files import explain
from ..report.colours import PALETTE, ink_on
from .guard import Guard
from .sources import Source
from .view import View

LOOPBACK = "127.0.0.1"
INTERVAL = 0.25  # seconds between two looks at the files
_BEAT = 5.0  # seconds after which an event is sent even if nothing has changed
_PARTS = files(__package__) / "parts"
_STYLE = files("fedclust") / "report" / "parts" / "page.css"


class Feed:
    """Looks at the files while somebody watches, once for all who do."""

    def __init__(self, source: Source, interval: float = INTERVAL) -> None:
        self._source, self._interval = source, interval
        self._seen: View | None = None
        self._event = ""
        self._looked = float("-inf")
        self._number = 0

    def look(self) -> tuple[int, str]:
        """The number of the newest event, and the event."""
        now = asyncio.get_running_loop().time()
        if now - self._looked >= self._interval:
            self._looked = now
            view = self._source.look()
            if view != self._seen:
                self._seen, self._number = view, self._number + 1
                self._event = f"event: view\ndata: {view.as_json()}\n\n"
        return self._number, self._event

    async def events(self, is_over: Callable[[], bool]) -> AsyncIterator[str]:
        """The newest event, and each one after it, until the page ends."""
        shown, beat = -1, 0.0
        yield "retry: 1000\n\n"
        while not is_over():
            number, event = self.look()
            if number != shown:
                shown, beat = number, 0.0
                yield event
            elif beat >= _BEAT:
                beat = 0.0
                yield "event: beat\ndata: {}\n\n"
            await asyncio.sleep(self._interval)
            beat += self._interval


def make_app(source: Source, token: str, is_over: Callable[[], bool] = lambda: False) -> Guard:
    """The application, which answers nobody without the token; streams end when it is over."""
    feed = Feed(source)
    texts = {
        name: (_PARTS / name).read_text(encoding="utf-8") for name in ("watch.html", "watch.js")
    }
    style = _STYLE.read_text(encoding="utf-8") + (_PARTS / "watch.css").read_text(encoding="utf-8")
    colours = [f".own-{i} {{ --own: {c}; --on-own: {ink_on(c)}; }}" for i, c in enumerate(PALETTE)]

    def page(request: Request) -> Response:
        return Response(texts["watch.html"], media_type="text/html")

    def script(request: Request) -> Response:
        return Response(texts["watch.js"], media_type="text/javascript")

    def css(request: Request) -> Response:
        return Response("\n".join([style, *colours]), media_type="text/css")

    async def events(request: Request) -> Response:
        return StreamingResponse(feed.events(is_over), media_type="text/event-stream")

    routes = [("", page), ("watch.js", script), ("watch.css", css), ("events", events)]
    paths = [Route(f"/{token}/{name}", end, methods=["GET"]) for name, end in routes]
    return Guard(Starlette(routes=paths), token)


def serve(source: Source, port: int, on_ready: Callable[[str], object]) -> None:
    """Serve until Ctrl-C; port 0 chooses a free one."""
    token = secrets.token_urlsafe(24)
    listener = _listen(port)
    address = f"http://{LOOPBACK}:{listener.getsockname()[1]}/{token}/"
    settings = uvicorn.Config(
        make_app(source, token, lambda: server.should_exit),
        log_level="error",
        access_log=False,
        lifespan="off",
        server_header=False,
        loop="asyncio",
        http="h11",
        ws="none",
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(settings)
    with listener:
        on_ready(address)
        server.run(sockets=[listener])


def _listen(port: int) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((LOOPBACK, port))
        listener.listen()  # from here on the printed address answers
    except OverflowError:
        listener.close()
        raise ConfigError(f"--port {port}: a port is between 0 and 65535") from None
    except OSError as problem:
        listener.close()
        raise ConfigError(f"--port {port}: {explain(problem)}; choose another port") from None
    return listener
