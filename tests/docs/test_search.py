"""The search of the site answers newcomers, in a browser and without a network."""

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..report.browser import Tab, tab
from .more_questions import MORE_QUESTIONS
from .questions import QUESTIONS

ROOT = Path(__file__).parents[2]
SITE = ROOT / "docs" / "site"
sys.path.insert(0, str(SITE))
sections, site_files = importlib.import_module("sections"), importlib.import_module("site_files")
PACKAGES, all_sections = sections.PACKAGES, sections.all_sections
pages, slug = sections.pages, sections.slug
llms_text, search_data = site_files.llms_text, site_files.search_data


@pytest.fixture(scope="module")
def search(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    folder = tmp_path_factory.mktemp("search")
    (folder / "data.js").write_text(search_data(list(all_sections(ROOT))))
    (folder / "ask.js").write_text((SITE / "static" / "ask.js").read_text())
    scripts = '<script src="data.js"></script><script src="ask.js"></script>'
    ready = "<script>document.documentElement.dataset.drawn = 1</script>"
    (folder / "search.html").write_text(f"<!doctype html><body>{scripts}{ready}")
    with tab() as browser:
        browser.open(folder / "search.html")
        yield browser


def hits(search: Tab, question: str) -> list[str]:
    found = search.value(f"fedclustFind({question!r}).slice(0, 3).map(hit => hit[0])")
    return [str(page).rpartition("/")[2] for page in found]


def test_newcomers_find_their_answers_in_the_first_three_hits(search: Tab) -> None:
    every = QUESTIONS | MORE_QUESTIONS
    missed = {
        question: found
        for question, wanted in every.items()
        if not set(found := hits(search, question)) & set(wanted)
    }
    assert len(missed) <= len(every) // 10, missed  # 18 of 20
    assert search.complaints() == []


def test_each_of_three_newcomers_finds_eighteen_of_twenty(search: Tab) -> None:
    """Each wrote twenty questions after reading the README, and had not seen the search."""
    text = (Path(__file__).parent / "newcomers.txt").read_text()
    for newcomer in text.split("# ")[1:]:
        name, *lines = newcomer.splitlines()
        every = {question: pages.split(", ") for question, pages in (x.split(" > ") for x in lines)}
        missed = {q for q, pages in every.items() if not set(hits(search, q)) & set(pages)}
        assert len(every) == 20
        assert len(missed) <= 2, (name, missed)


def test_newcomers_find_the_section_that_answers(search: Tab) -> None:
    """Each of these questions has places instead of pages: a hit leads to the right heading."""
    lines = (Path(__file__).parent / "section_questions.txt").read_text().splitlines()
    every = dict(line.split(" > ") for line in lines)
    missed = {}
    for question, wanted in every.items():
        rows = search.value(f"fedclustFind({question!r}).slice(0, 3).map(hit => [hit[0], hit[3]])")
        found = [f"{page}#{anchor}".rpartition("/")[2].removesuffix("#") for page, anchor in rows]
        if not set(found) & set(wanted.split()):
            missed[question] = found
    assert len(missed) <= len(every) // 10, missed


def test_words_with_a_wrong_letter_and_beginnings_of_words_are_understood(search: Tab) -> None:
    assert hits(search, "firewal")[0] == hits(search, "firewall")[0]
    assert "export" in hits(search, "exprot the model to onnx")
    assert "from-scikit-fuzzy" in hits(search, "scikit-fuz")


def test_every_place_of_asked_txt_exists() -> None:
    places = {section.place for section in all_sections(ROOT)}
    assert set(sections.read_asked()) - places == set()


def test_the_first_question_of_all_is_answered_first(search: Tab) -> None:
    for question in ("how many clusters", "how many clusters?", "How many clusters are there"):
        assert hits(search, question)[0] in ("choose-k", "choosing-k"), question


def test_names_with_a_point_are_words(search: Tab) -> None:
    assert "study" in hits(search, "n_clusters max_rounds header_line")
    assert hits(search, "history.jsonl")[0] == "runs"


def test_words_that_nothing_has_find_nothing(search: Tab) -> None:
    assert hits(search, "xylophone zeppelin") == []
    assert hits(search, "the of a") == []


def test_every_public_name_is_in_the_search_and_the_reference() -> None:
    named = {section.title for section in all_sections(ROOT)}
    for package in PACKAGES:
        page = ROOT / "docs" / "reference" / f"{package.removeprefix('fedclust.')}.md"
        text = page.read_text()
        assert f"automodule:: {package}\n" in text
        assert "```python" in text, f"{page.name} has no example"
        names = {f"{package}.{name}" for name in importlib.import_module(package).__all__}
        assert not names - named
        if ":members:" not in text.partition("automodule::")[2].partition("```")[0]:
            listed = set(re.findall(r"^\.\. auto\w+:: (\S+)$", text, re.MULTILINE))
            assert not names - listed, "names that no directive describes"


def test_every_package_that_lists_names_is_in_the_reference() -> None:
    source = ROOT / "src" / "fedclust"
    listing = {
        f"fedclust.{p.parent.name}"
        for p in source.glob("*/__init__.py")
        if "__all__" in p.read_text()
    }
    inside = {"fedclust.client", "fedclust.deploy", "fedclust.follow", "fedclust.progress"}
    inside |= {"fedclust.clustering", "fedclust.cli", "fedclust.watch", "fedclust.estimators"}
    assert listing - inside <= set(PACKAGES)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_has_an_example(package: str) -> None:
    """In a snippet of its page, which the tests run, or in its docstring."""
    page = ROOT / "docs" / "reference" / f"{package.removeprefix('fedclust.')}.md"
    code = "\n".join(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL))
    module, top = importlib.import_module(package), importlib.import_module("fedclust").__all__
    without = [
        name
        for name in module.__all__
        if not re.search(rf"\b{name}\b", code)
        and ">>>" not in (getattr(module, name).__doc__ or "")
        and not (package == "fedclust.core" and name in top)  # the errors, on the first page
    ]
    assert without == []


def test_every_page_is_in_the_menu() -> None:
    docs = ROOT / "docs"
    listed = {docs / "index.md"}
    for page in pages(ROOT):
        fence = False
        for line in page.read_text().splitlines():
            fence = line.startswith("```{toctree}") or (fence and not line.startswith("```"))
            target = page.parent / f"{line.strip()}.md"
            if fence and line.strip() == "0*":
                listed |= set(page.parent.glob("0*.md"))
            elif fence and line.strip() and not line.startswith((":", "```")) and target.exists():
                listed.add(target.resolve())
    assert [str(p) for p in pages(ROOT) if p.resolve() not in listed] == []


def test_twenty_tasks_and_twelve_pictures() -> None:
    tasks = [p for p in (ROOT / "docs" / "how-to").glob("*.md") if p.stem != "index"]
    assert len(tasks) >= 20
    for page in tasks:
        assert "```python" in page.read_text() or "```sh" in page.read_text(), page.name
        assert len(page.read_text().splitlines()) <= 60, page.name
    assert len(list((ROOT / "docs" / "gallery").glob("plot_*.py"))) >= 12


def test_language_models_get_every_page() -> None:
    text = llms_text(list(all_sections(ROOT)))
    assert text.startswith("# fedclust\n")
    for page in pages(ROOT):
        assert f"]({page.relative_to(ROOT)})" in text


def test_anchors_are_those_of_the_site() -> None:
    assert slug("Use a model") == "use-a-model"
    assert slug("Why `dp`, and not `none`?") == "why-dp-and-not-none"
