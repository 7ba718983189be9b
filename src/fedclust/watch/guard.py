"""Who gets an answer: only this machine, only with the token, and only for reading.

A page of another site cannot read this one. Its `Origin` and `Sec-Fetch-Site` headers are its own,
and with a name that its owner points at this machine (DNS rebinding) the `Host` header is not that
of this machine.
"""

import hmac
from collections.abc import Mapping
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

HOSTS = ("127.0.0.1", "localhost")
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def is_allowed(method: str, path: str, headers: Mapping[str, str], token: str) -> bool:
    """Whether a request gets an answer; `headers` have names in small letters."""
    host = headers.get("host", "")
    name, _, port = host.partition(":")
    if name not in HOSTS or not (port.isdigit() or not port):
        return False
    if headers.get("origin", f"http://{host}") != f"http://{host}":
        return False
    if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        return False
    given = path.split("/", 2)[1] if path.startswith("/") else ""
    known = hmac.compare_digest(given.encode(), token.encode())
    return method in ("GET", "HEAD") and known


class Guard:
    """Answers what is not allowed with an empty 404, and puts headers on everything else."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers: dict[str, str] = {}
        for key, value in scope["headers"]:
            name = key.decode("latin-1").lower()
            # Two Host headers are an attempt to show two readers two names.
            headers[name] = "" if name in headers else value.decode("latin-1")

        async def send_guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                extra = [(k.lower().encode(), v.encode()) for k, v in HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", ()), *extra]}
            await send(message)

        if is_allowed(scope["method"], scope["path"], headers, self._token):
            await self._app(scope, receive, send_guarded)
            return
        empty = {
            "type": "http.response.start",
            "status": 404,
            "headers": [(b"content-length", b"0")],
        }
        await send_guarded(empty)
        await send({"type": "http.response.body", "body": b""})
