"""A headless Chromium controlled over two pipes: no driver, no extra package, no port."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import pytest

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
)


def chromium() -> str | None:
    """The first Chromium or Chrome on this machine."""
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    return next((found for name in names if (found := shutil.which(name))), None)


@dataclass
class Tab:
    """One page of the browser, with its errors, warnings and requests."""

    to_browser: BinaryIO
    from_browser: BinaryIO
    session: str = ""
    last: int = 0
    events: list[dict[str, Any]] = field(default_factory=list)

    def call(self, method: str, **params: Any) -> Any:
        """Send a command of the DevTools protocol and return its result."""
        self.last += 1
        message = {"id": self.last, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        self.to_browser.write(json.dumps(message).encode() + b"\0")
        self.to_browser.flush()
        while (answer := self._read()).get("id") != self.last:
            self.events.append(answer)
        assert "error" not in answer, answer
        return answer["result"]

    def _read(self) -> dict[str, Any]:
        letters = bytearray()
        while (letter := self.from_browser.read(1)) != b"\0":
            assert letter, "the browser went away"
            letters += letter
        found: dict[str, Any] = json.loads(letters)
        return found

    def run(self, body: str) -> Any:
        """Run the body of a function in the page and return its result."""
        return self.value(f"(() => {{ {body} }})()")

    def value(self, expression: str) -> Any:
        """Evaluate an expression in the page, and wait for promises."""
        found = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def open(
        self, page: Path | str, width: int = 1280, height: int = 900, dark: bool = False
    ) -> None:
        """Load a file, or an address and wait until its figures are drawn."""
        self.events.clear()
        self.look(width, height, dark)
        if isinstance(page, str):
            self.call("Page.navigate", url=page)
            self.drawn(1)
            return
        self.call("Page.navigate", url=page.resolve().as_uri())
        self._wait("location.protocol === 'file:'", "the page did not load")

    def look(self, width: int, height: int = 900, dark: bool = False) -> None:
        """Set the size of the window and the colours that the reader prefers."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 500,
        )

    def drawn(self, times: int) -> None:
        """Wait until all figures have been drawn this number of times."""
        condition = f"Number(document.documentElement.dataset.drawn || 0) >= {times}"
        self._wait(condition, "the figures were not drawn")

    def _wait(self, condition: str, otherwise: str) -> None:
        for _ in range(3000):
            if self.value(
                f"new Promise(done => setTimeout(() => done({condition}"
                " && document.readyState === 'complete'), 30))"
            ):
                return
        raise AssertionError(otherwise)

    def complaints(self) -> list[str]:
        """Errors and warnings of the page, its scripts and its policy."""
        noisy = ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled")
        return [json.dumps(e["params"]) for e in self.events if e["method"] in noisy]

    def requests(self) -> list[str]:
        """All requests, except for the page itself."""
        asked = [e["params"] for e in self.events if e["method"] == "Network.requestWillBeSent"]
        urls = [one["request"]["url"] for one in asked if one.get("type") != "Document"]
        return [url for url in urls if not url.startswith("data:")]


@contextmanager
def tab() -> Iterator[Tab]:
    """A browser with one empty page; skips where there is no Chromium."""
    program = chromium()
    if program is None:
        pytest.skip("no Chromium or Chrome on this machine")
    (commands, to_browser), (from_browser, answers) = os.pipe(), os.pipe()
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
        os.fdopen(to_browser, "wb") as writer,
        os.fdopen(from_browser, "rb") as reader,
    ):
        # It reads commands from descriptor 3 and replies on 4.
        start = f'exec "$0" "$@" 3</dev/fd/{commands} 4>/dev/fd/{answers}'
        process = subprocess.Popen(
            ["/bin/sh", "-c", start, program, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(commands, answers),
        )
        os.close(commands)
        os.close(answers)
        try:
            yield _attached(Tab(writer, reader))
        finally:
            process.kill()
            process.wait()


def _attached(found: Tab) -> Tab:
    page = None
    while page is None:  # it opens its first page when it is ready
        targets = found.call("Target.getTargets")["targetInfos"]
        page = next((t["targetId"] for t in targets if t["type"] == "page"), None)
    session = found.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
    found.session = session
    for domain in ("Page", "Runtime", "Log", "Network"):
        found.call(f"{domain}.enable")
    return found
