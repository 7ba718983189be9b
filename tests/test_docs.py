"""Every Python snippet of the documentation runs, in order, page by page."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
TOML = re.compile(r"```toml\n(.*?)```", re.DOTALL)
SNIPPET = re.compile(r"```python\n(.*?)```", re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_snippets_run(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    namespace: dict[str, object] = {"__name__": "snippet"}
    for number, snippet in enumerate(SNIPPET.findall(page.read_text())):
        code = compile(snippet, f"{page.name}, snippet {number}", "exec")
        exec(code, namespace)
        if "print(" in snippet:
            assert capsys.readouterr().out.strip(), snippet


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_study_snippets_are_studies(page: Path, tmp_path: Path) -> None:
    """A snippet that shows other tables than [clients] is read with the clients of the first."""
    from fedclust.study import read_study

    for number, snippet in enumerate(TOML.findall(page.read_text())):
        clients = "" if "[clients]" in snippet else '[clients]\nnorth = "north.csv"\n'
        path = tmp_path / f"{number}.toml"
        path.write_text(clients + snippet)
        read_study(path)


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
