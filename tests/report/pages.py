"""A parsed page, so that tests can inspect its content."""

import base64
import csv
import io
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

ATTRIBUTES = dict[str, str | None]
VOID = {"meta", "link", "br", "img", "input"}


@dataclass
class Page(HTMLParser):
    """Elements in order, and the text of those with an id."""

    html: str
    elements: list[tuple[str, ATTRIBUTES]] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)  # by id, with what is inside
    scripts: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._open: list[tuple[str, str | None]] = []
        self.feed(self.html)
        assert not self._open, f"elements that are not closed: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append((tag, dict(attrs).get("id")))

    def handle_endtag(self, tag: str) -> None:
        opened, _ = self._open.pop()
        assert opened == tag, f"</{tag}> closes <{opened}>"

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1][0] == "script":
            self.scripts.append(data)
        for _, id in self._open:
            if id:
                self.texts[id] = self.texts.get(id, "") + data

    def of(self, tag: str) -> list[ATTRIBUTES]:
        """The attributes of all elements of a kind."""
        return [attributes for name, attributes in self.elements if name == tag]

    def text(self, id: str) -> str:
        """The text of an element, with single spaces."""
        return " ".join(self.texts[id].split())

    @property
    def figures(self) -> dict[str, str]:
        """The SVG of each figure, by id."""
        found = re.findall(r'<div class="plot" id="([^"]+)"[^>]*>(<svg.*?</svg>)', self.html, re.S)
        return dict(found)

    def table(self, file: str) -> list[list[str]]:
        """The rows of a CSV file that the page contains."""
        (link,) = {a["href"] for a in self.of("a") if a.get("download") == file}
        text = base64.b64decode(str(link).partition("base64,")[2]).decode("utf-8-sig")
        return list(csv.reader(io.StringIO(text)))
