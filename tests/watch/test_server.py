"""The application and its guard, asked directly; the pages over a network are in `test_page`."""

import asyncio
import socket
from collections.abc import Mapping
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="needs fedclust[watch]")
pytest.importorskip("uvicorn", reason="needs fedclust[watch]")
from rich.console import Console

from fedclust.core import ConfigError
from fedclust.watch import terminal
from fedclust.watch.guard import HEADERS
from fedclust.watch.server import Feed, _listen, make_app
from fedclust.watch.view import Fact, Headline, Tone, View

TOKEN = "a-secret-token"
HOST = {"host": "127.0.0.1:8000"}
VIEW = View(kind="run", over="study s", title="hearts", headline=Headline("Round 3", Tone.CALM))


class Fixed:
    """A source whose view a test can replace."""

    view = VIEW

    def look(self) -> View:
        return self.view


def ask(
    path: str, method: str = "GET", headers: Mapping[str, str] | None = None, twice: bool = False
) -> tuple[int, dict[str, str], str]:
    """Status, headers and text of the application's answer."""
    given = [(k.encode(), v.encode()) for k, v in (HOST if headers is None else headers).items()]
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": given * 2 if twice else given,
    }
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(make_app(Fixed(), TOKEN)(scope, receive, send))
    found = {k.decode(): v.decode() for k, v in sent[0]["headers"]}
    return sent[0]["status"], found, b"".join(m.get("body", b"") for m in sent[1:]).decode()


@pytest.mark.parametrize(
    ("name", "kind", "word"),
    [
        ("", "text/html", "<html"),
        ("watch.js", "text/javascript", "EventSource"),
        ("watch.css", "text/css", "--own"),
    ],
)
def test_with_the_token_the_page_is_served_with_a_strict_policy(
    name: str, kind: str, word: str
) -> None:
    status, headers, body = ask(f"/{TOKEN}/{name}")
    assert status == 200
    assert headers["content-type"].startswith(kind)
    assert word in body
    assert all(headers[key.lower()] == value for key, value in HEADERS.items())


@pytest.mark.parametrize(
    ("path", "method", "headers"),
    [
        ("/", "GET", HOST),
        ("/another/", "GET", HOST),
        (f"/{TOKEN}x/", "GET", HOST),
        ("no-slash", "GET", HOST),
        (f"/{TOKEN}/", "POST", HOST),
        (f"/{TOKEN}/", "GET", {}),
        (f"/{TOKEN}/", "GET", {"host": "evil.example:8000"}),
        (f"/{TOKEN}/", "GET", {"host": "127.0.0.1:x"}),
        (f"/{TOKEN}/", "GET", {**HOST, "origin": "http://evil.example"}),
        (f"/{TOKEN}/", "GET", {**HOST, "sec-fetch-site": "cross-site"}),
    ],
)
def test_everything_else_gets_an_empty_answer(
    path: str, method: str, headers: dict[str, str]
) -> None:
    status, found, body = ask(path, method, headers)
    assert (status, body) == (404, "")
    assert found["content-security-policy"] == HEADERS["Content-Security-Policy"]


def test_two_host_headers_get_an_empty_answer() -> None:
    assert ask(f"/{TOKEN}/", twice=True)[0] == 404


def test_other_kinds_of_requests_pass_the_guard_to_an_application_without_routes_for_them() -> None:
    async def receive() -> dict[str, Any]:
        return {"type": "lifespan.shutdown"}

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(make_app(Fixed(), TOKEN)({"type": "lifespan", "app": None}, receive, send))
    assert all(message["type"].startswith("lifespan.") for message in sent)


def test_an_event_is_sent_at_once_and_after_each_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedclust.watch.server._BEAT", 0.02)
    source = Fixed()

    async def watch() -> list[str]:
        events = Feed(source, interval=0.01).events(lambda: False)
        seen = [await anext(events) for _ in range(3)]
        source.view = replace(VIEW, title="lungs")
        while "lungs" not in seen[-1]:
            seen.append(await anext(events))
        return seen

    async def count(over: bool) -> int:
        return len([one async for one in Feed(source).events(lambda: over)])

    assert asyncio.run(count(over=True)) == 1  # a stream ends with its page
    seen = asyncio.run(watch())
    assert seen[0].startswith("retry:")
    assert "hearts" in seen[1]
    assert seen[2].startswith("event: beat")


@pytest.mark.parametrize("port", [70_000, "taken"])
def test_a_port_that_cannot_be_had_is_one_sentence(port: Any) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        wanted = other.getsockname()[1] if port == "taken" else port
        with pytest.raises(ConfigError, match=f"--port {wanted}: "):
            _listen(wanted)


def test_a_terminal_is_redrawn_and_a_file_gets_one_view(tmp_path: Path) -> None:
    source, live, flat = Fixed(), StringIO(), StringIO()
    source.view = replace(VIEW, facts=(Fact("left", "3 s\x1b[2J"),))
    terminal.show(source, Console(file=live, force_terminal=True, width=80), looks=2)
    terminal.show(source, Console(file=flat, width=80))
    assert "hearts" in live.getvalue()
    assert flat.getvalue().count("hearts") == 1
    assert "\x1b" not in flat.getvalue()
