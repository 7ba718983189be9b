"""Every Python snippet of the documentation runs, in order, page by page."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fedclust.cli import app
from fedclust.data import known_formats, unregister_format

ROOT = Path(__file__).parent.parent
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
CLIENTS = '[clients]\nnorth = "north.csv"\nsouth = "south.csv"\nwest = "west.csv"\n'
SHELL = re.compile(r"```sh\n(.*?)```", re.DOTALL)
TOML = re.compile(r"```toml\n(.*?)```", re.DOTALL)
SNIPPET = re.compile(r"```python\n(.*?)```", re.DOTALL)


@pytest.fixture
def forget_formats() -> Iterator[None]:
    """Unregister the formats that a snippet registers: other tests list all that are known."""
    before = known_formats()
    yield
    for format in set(known_formats()).difference(before):
        unregister_format(format)


@pytest.mark.usefixtures("forget_formats")
@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_snippets_run(
    page: Path,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "snippet"}
    for number, snippet in enumerate(SNIPPET.findall(page.read_text())):
        code = compile(snippet, f"{page.name}, snippet {number}", "exec")
        exec(code, namespace)
        if "print(" in snippet:
            assert capsys.readouterr().out.strip(), snippet


def commands(page: Path) -> list[str]:
    blocks = SHELL.findall(page.read_text())
    return [line for block in blocks for line in block.splitlines() if line.startswith("fedclust ")]


@pytest.mark.parametrize(
    "page", [p for p in PAGES if commands(p)], ids=lambda p: str(p.relative_to(ROOT))
)
def test_commands_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every ``fedclust`` line of a ``sh`` snippet, in order, in one empty folder."""
    monkeypatch.chdir(tmp_path)
    for line in commands(page):
        words = shlex.split(line, comments=True)
        shown = CliRunner().invoke(app, words[1:])
        if words[1] == "example" and shown.exit_code:
            pytest.skip(f"the data set is not here: {shown.output}")
        assert shown.exit_code == 0, (line, shown.output)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_study_snippets_are_studies(page: Path, tmp_path: Path) -> None:
    """A snippet that shows other tables than [clients] is read with the clients of the first."""
    from fedclust.study import read_study

    for number, snippet in enumerate(TOML.findall(page.read_text())):
        clients = "" if "[clients]" in snippet else CLIENTS
        path = tmp_path / f"{number}.toml"
        path.write_text(clients + snippet)
        assert read_study(path).clients, snippet


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_there_are_snippets_to_run() -> None:
    assert sum(len(SNIPPET.findall(page.read_text())) for page in PAGES) >= 5


def test_the_readme_lists_every_algorithm() -> None:
    from fedclust.algorithms import ALGORITHMS

    listed = set(re.findall(r"^\| `([a-z0-9-]+)` \|", PAGES[0].read_text(), re.MULTILINE))
    assert listed == set(ALGORITHMS)


def test_the_architecture_page_names_every_folder_and_file_of_the_client() -> None:
    page, source = (ROOT / "ARCHITECTURE.md").read_text(), ROOT / "src" / "fedclust"
    folders = {f"{path.parent.name}/" for path in source.glob("*/__init__.py")}
    files = {path.name for path in (source / "client").glob("[a-z]*.py")}
    assert [name for name in sorted(folders | files) if f"`{name}`" not in page] == []


def test_what_the_architecture_page_and_the_glossary_name_exists() -> None:
    source = ROOT / "src" / "fedclust"
    for name in ("ARCHITECTURE.md", "CONTRIBUTING.md"):
        for path in re.findall(r"`([a-z_]+/[a-z_/]*(?:\.py)?)`", (ROOT / name).read_text()):
            assert (source / path).exists() or (ROOT / path).exists(), (name, path)
