"""The built site, opened from its folder: `make docs` builds it and runs these tests."""

import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..report.browser import Tab, tab
from .test_search import PACKAGES, ROOT

SITE = ROOT / "build" / "site"
PAGES = ("docs/index", "docs/how-to/choose-k", "docs/reference/fedclust", "docs/examples/index")
pytestmark = pytest.mark.skipif(not (SITE / "llms.txt").exists(), reason="run 'make docs' first")


@pytest.fixture(scope="module")
def browser() -> Iterator[Tab]:
    with tab() as found:
        yield found


def complaints(browser: Tab) -> list[str]:
    """Errors and warnings; the theme logs that it follows the colours of the system."""
    return [one for one in browser.complaints() if '"type": "log"' not in one]


def visit(browser: Tab, address: str, width: int = 1280, *, dark: bool = False) -> None:
    """Open a page of the site, and wait until it is complete."""
    browser.events.clear()
    browser.look(width, 900, dark)
    browser.call("Page.navigate", url=(SITE / address).as_uri() if "?" not in address else address)
    for _ in range(300):
        wait = "new Promise(done => setTimeout(() => done(document.readyState), 30))"
        if browser.value(wait) == "complete":
            return
    raise AssertionError(f"{address} did not load")


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_pages_need_nothing_from_outside(
    browser: Tab, page: str, width: int, *, dark: bool
) -> None:
    visit(browser, f"{page}.html", width, dark=dark)
    assert complaints(browser) == []
    assert [url for url in browser.requests() if not url.startswith("file://")] == []
    assert browser.value("document.documentElement.scrollWidth") <= width
    assert browser.value("document.querySelectorAll('h1').length") == 1


def test_the_search_page_answers_from_a_file(browser: Tab) -> None:
    question = (SITE / "search.html").as_uri() + "?q=which+port+in+the+firewall"
    visit(browser, question)
    first = str(browser.value("document.querySelector('#hits a').href"))
    assert first.startswith("file://")
    assert "docs/how-to/firewall-and-proxy.html" in first
    assert complaints(browser) == []
    assert [url for url in browser.requests() if not url.startswith("file://")] == []


def test_every_hit_leads_to_a_place_that_exists(browser: Tab) -> None:
    visit(browser, (SITE / "search.html").as_uri() + "?q=clusters")
    rows = browser.value("window.FEDCLUST_SECTIONS.map(row => [row[0], row[3]])")
    texts = {page: (SITE / f"{page}.html").read_text() for page, _ in rows}
    lost = [
        (page, anchor) for page, anchor in rows if f'id="{anchor}"' not in texts[page] and anchor
    ]
    assert lost == []


def test_every_public_name_has_its_place() -> None:
    for package in PACKAGES:
        page = SITE / "docs" / "reference" / f"{package.removeprefix('fedclust.')}.html"
        text = page.read_text() + (SITE / "docs" / "reference" / "fedclust.html").read_text()
        names = importlib.import_module(package).__all__
        places = {n: (f'id="{package}.{n}"', f'id="fedclust.{n}"') for n in names}
        lost = [n for n, ids in places.items() if not any(one in text for one in ids)]
        assert lost == [], package


def test_classes_show_their_parameters() -> None:
    """Although their ``__new__`` takes any, so that it can name wrong ones."""
    text = (SITE / "docs" / "reference" / "fedclust.html").read_text()
    shown = re.sub(r"<[^>]+>", "", text)
    assert re.search(r"fedclust\.FederatedKMeans\(n_clusters=8,\s*\*,\s*algorithm=", shown)
    assert "(*args" not in shown


def test_methods_that_are_inherited_have_their_place() -> None:
    text = (SITE / "docs" / "reference" / "fedclust.html").read_text()
    for kind in ("FederatedKMeans", "FederatedMixture", "FederatedStandardScaler"):
        for method in ("fit", "transform", "fit_transform"):
            assert f'id="fedclust.{kind}.{method}"' in text, (kind, method)
    plots = (SITE / "docs" / "reference" / "plot.html").read_text()
    assert 'id="fedclust.plot.MapDisplay.from_estimator"' in plots


def test_pages_have_twins_in_markdown() -> None:
    for line in (SITE / "llms.txt").read_text().splitlines():
        if line.startswith("- ["):
            assert (SITE / line.split("](")[1].split(")")[0]).exists(), line


def test_twins_of_the_reference_describe_every_name() -> None:
    for package in PACKAGES:
        twin = SITE / "docs" / "reference" / f"{package.removeprefix('fedclust.')}.md"
        text = twin.read_text()
        names = importlib.import_module(package).__all__
        assert [n for n in names if f"## {package}.{n}" not in text] == [], package
    text = (SITE / "docs" / "reference" / "fedclust.md").read_text()
    assert "### FederatedKMeans.fit(" in text
    assert "eval-rst" not in text
    assert "## fedclust.clustering.model.Model(" in text


def test_the_front_door_leads_in() -> None:
    assert "docs/index.html" in Path(SITE / "index.html").read_text()


def test_pictures_are_not_cut() -> None:
    """The margin of every picture of the gallery has the colour of the background."""
    images = pytest.importorskip("matplotlib.image")
    pictures = sorted((SITE / "_images").glob("sphx_glr_plot_*_001.png"))
    assert len(pictures) >= 12
    for picture in pictures:
        pixels = images.imread(picture)[..., :3]
        edges = (pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1])
        assert all((edge > 0.99).all() for edge in edges), picture.name


def test_no_page_has_a_path_or_a_warning_of_the_machine_that_built_it() -> None:
    """Such as the output of an example."""
    for page in SITE.glob("docs/**/*.html"):
        text = page.read_text(encoding="utf-8")
        assert str(ROOT) not in text, page
        assert "UserWarning: " not in text, page
