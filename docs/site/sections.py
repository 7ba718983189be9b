"""The sections of all pages, from Markdown and docstrings, for the search and llms.txt."""

import importlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

HERE = Path(__file__).parent
_FENCE = re.compile(r"^(```+|~~~+|:::+)")
_CODE = re.compile(r"^```(?:python|\{).*?^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_MARKS = re.compile(r"```\w*|\|(?:-+:?\|)+|[`*|>#]+|\b_+|_+\b")
_TABLE = re.compile(r"^\|.*\|\n\|[-:| ]+\|$", re.MULTILINE)  # the first two lines of a table
_CELLS = re.compile(r"^\|[ *]*(.*?)[ |]*$", re.MULTILINE)
_POINT = re.compile(r"^\s*- ", re.MULTILINE)
_COMMENT = re.compile(r"^%.*$|^\([\w-]+\)=$", re.MULTILINE)
TOP = ("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "CHANGELOG.md")
NAMES = (
    "plot datasets study report results channels tiers algorithms metrics privacy data settings "
    "core kernels"
)
PACKAGES = ("fedclust", *(f"fedclust.{name}" for name in NAMES.split()))


@dataclass(frozen=True)
class Section:
    """A heading and the text below it, up to the next heading."""

    page: str  # path of the page without suffix, relative to the root of the site
    title: str  # of the page
    heading: str
    anchor: str  # empty for the beginning of a page
    text: str
    kind: str  # "how-to", "page", "answer", "front", "example", "api", "record" or "menu"
    asked: tuple[str, ...] = ()  # other ways to ask for it, from asked.txt

    @property
    def place(self) -> str:
        """Page and anchor, as asked.txt names them."""
        return f"{self.page}#{self.anchor}" if self.anchor else self.page


def all_sections(root: Path) -> Iterator[Section]:
    """The sections of all pages that the site has, with what people ask for each."""
    asked = read_asked()
    for section in _sections(root):
        empty = section.kind == "answer" and not section.text  # a heading over questions
        kind = "menu" if empty else section.kind
        yield replace(section, kind=kind, asked=asked.get(section.place, ()))


def read_asked() -> dict[str, tuple[str, ...]]:
    """What people ask, by the place that answers it: indented lines below the place."""
    found: dict[str, tuple[str, ...]] = {}
    place = ""
    for line in (HERE / "asked.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("  "):
            found[place] += (line.strip(),)
        elif line and not line.startswith("%"):
            found[place := line] = ()
    return found


def read_words() -> list[tuple[list[str], list[str], bool]]:
    """Words and those that they stand for, or may mean, as words.txt describes."""
    found = []
    for line in (HERE / "words.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            first, sign, last = re.split(r" ([=>~]) ", line, maxsplit=1)
            found.append((first.split(), last.split(), sign == "="))
            if sign == "~":
                found.append((last.split(), first.split(), False))
    return found


def _sections(root: Path) -> Iterator[Section]:
    for file in pages(root):
        yield from of_markdown(file, root)
    for file in sorted((root / "docs" / "gallery").glob("plot_*.py")):
        yield of_example(file)
    for package in PACKAGES:
        yield from of_package(package)


def pages(root: Path) -> list[Path]:
    """All Markdown pages, in the order of their paths."""
    docs = root / "docs"
    found = [p for p in sorted(docs.rglob("*.md")) if not {"site", "gallery"} & set(p.parts)]
    return [*(root / name for name in TOP), *found]


def of_markdown(file: Path, root: Path) -> Iterator[Section]:
    """The sections of a Markdown page."""
    page = file.relative_to(root).with_suffix("").as_posix()
    title, heading, anchor, lines, fence = "", "", "", list[str](), ""
    kind = _kind(page)
    seen: dict[str, int] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        if mark := _FENCE.match(line):
            fence = "" if fence and line.startswith(fence) else fence or mark[0]
        if fence or not re.match(r"#{1,4} ", line):
            lines.append(line)
            continue
        if title:
            yield Section(page, title, heading, anchor, plain("\n".join(lines)), kind)
        heading = plain(line.lstrip("#"))
        anchor = slug(line.lstrip("# ")) if title else ""
        number = seen[anchor] = seen.get(anchor, -1) + 1
        anchor, lines = f"{anchor}-{number}" if number and anchor else anchor, []
        title = title or heading
    yield Section(page, title, heading, anchor, plain("\n".join(lines)), kind)


def _kind(page: str) -> str:
    if page.endswith("/index") or page in ("docs/explanation", "docs/adr/README"):
        return "menu"
    if f"{page}.md" in TOP[:3]:
        return "front"
    if page == "docs/questions":
        return "answer"
    if page.startswith("docs/how-to/"):
        return "how-to"
    if page.startswith("docs/adr/") or page in ("CHANGELOG", "docs/papers", "docs/benchmarks"):
        return "record"
    return "page"


def of_example(file: Path) -> Section:
    """The text of an example of the gallery."""
    text = file.read_text(encoding="utf-8")
    found = re.search(r'"""(.*?)"""', text, re.DOTALL)
    words = found[1].strip().splitlines() if found else [file.stem]
    comments = "\n".join(re.findall(r"^# (.*)$", text, re.MULTILINE))
    body = plain("\n".join([*words[2:], comments]))
    return Section(f"docs/examples/{file.stem}", words[0], words[0], "", body, "example")


def of_package(package: str) -> Iterator[Section]:
    """The public names of a package, with the first paragraph of their docstrings."""
    module = importlib.import_module(package)
    page = f"docs/reference/{package.removeprefix('fedclust.')}"
    top = importlib.import_module("fedclust").__all__
    for name in module.__all__:
        doc = inspect.getdoc(getattr(module, name)) or ""
        text = plain(doc.split("\n\n")[0]) if callable(getattr(module, name)) else ""
        twice = package == "fedclust.core" and name in top  # the errors, which are described there
        anchor = "" if twice else f"{package}.{name}"
        yield Section(page, f"{package}.{name}", name, anchor, text, "api")


def plain(text: str) -> str:
    """Text without marks of Markdown and without code: every snippet has a seed and rows."""
    text = _LINK.sub(r"\1", _COMMENT.sub("", _CODE.sub("", text)))
    text = _CELLS.sub(lambda row: f"{row[1].replace(' | ', ': ')}.", _TABLE.sub("", text))
    text = _POINT.sub("", text)
    text = re.sub(r"\s+", " ", _MARKS.sub(" ", text))
    return re.sub(r" (?=[,;:)]|\.(?:\s|$))|(?<=\() ", "", text).strip()


def slug(heading: str) -> str:
    """The anchor of a heading, as GitHub and MyST make it.

    >>> slug("What `fedclust` does, and why")
    'what-fedclust-does-and-why'
    """
    words = _LINK.sub(r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
