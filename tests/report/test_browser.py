"""The page in a real browser: it draws without errors on screen, phone and paper."""

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from fedclust.report import write_report
from fedclust.study import read_study
from fedclust.study.run import run_study

from .browser import Tab, tab
from .folders import write_run
from .shapes import SHAPES

HOSTILE = '<a href="http://a.example">x</a><img src=y onerror="window.hacked=1">%{x}'
STUDY = """
[clients]
a = "a.csv"
b = "b.csv"
c = "c.csv"
[clustering]
algorithm = "lossless"
n_clusters = 2
[features]
x = {{ low = 0, high = 100 }}
y = {{ low = 0, high = 100 }}
[privacy]
tier = "{tier}"
"""
WIDTHS = {"desk": 1280, "phone": 390}


@pytest.fixture(scope="module")
def browser() -> Iterator[Tab]:
    with tab() as found:
        yield found


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("runs")
    shapes = {**SHAPES, "hostile": {"clients": [HOSTILE, "b"], "study": HOSTILE}}
    return {name: write_report(write_run(folder / name, **shape)) for name, shape in shapes.items()}


# Marks of a figure: cells of a heatmap are one image, everything else is paths.
DRAWN = """
return [...document.querySelectorAll('.plot')].map(plot => {
  const marks = [...plot.querySelectorAll('.hm image, .trace path, .trace .point')];
  const seen = marks.filter(mark => {
    const box = mark.getBoundingClientRect();
    return box.width > 0 || box.height > 0;
  });
  return [plot.id, seen.length];
});
"""
OUTSIDE = """
return [...document.querySelectorAll('.plot')].flatMap(plot => {
  const room = plot.getBoundingClientRect();
  return [...plot.querySelectorAll('.main-svg text')].filter(text => {
    const box = text.getBoundingClientRect();
    return box.width && (box.left < room.left - 1 || box.right > room.right + 1
      || box.top < room.top - 1 || box.bottom > room.bottom + 1);
  }).map(text => plot.id + ': ' + text.textContent);
});
"""
CROSSING = """
return [...document.querySelectorAll('.plot')].flatMap(plot =>
  ['.xaxislayer-above text', '.yaxislayer-above text'].flatMap(layer => {
    const boxes = [...plot.querySelectorAll(layer)].map(text => text.getBoundingClientRect());
    return boxes.flatMap((a, i) => boxes.slice(i + 1).filter(b => a.left < b.right - 1
      && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3).map(() => plot.id));
  }));
"""


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("shape", [*SHAPES, "hostile"])
def test_figures_are_drawn_and_nothing_is_asked_for(
    browser: Tab, reports: dict[str, Path], shape: str, width: str
) -> None:
    browser.open(reports[shape], width=WIDTHS[width], dark=width == "phone")
    assert browser.complaints() == []
    assert browser.requests() == []
    drawn = dict(browser.run(DRAWN))
    assert drawn
    assert all(drawn.values()), drawn
    assert browser.value("document.documentElement.scrollWidth") <= WIDTHS[width]
    assert browser.run(OUTSIDE) == []
    assert browser.run(CROSSING) == []


@pytest.mark.parametrize("tier", ["guarded", "secure", "dp"])
def test_what_a_tier_hides_leaves_no_hole_and_no_false_word(
    browser: Tab, tmp_path: Path, tier: str
) -> None:
    """A real run: hidden counts are neither drawn nor reported as small."""
    for library in {"secure": ["cryptography"], "dp": ["opendp"]}.get(tier, []):
        pytest.importorskip(library)
    rng = np.random.default_rng(0)
    for i, client in enumerate("abc"):
        lines = [f"{x},{y}" for x, y in rng.normal([20 + 20 * (i % 2), 50], 4, (80, 2))]
        (tmp_path / f"{client}.csv").write_text("\n".join(["x,y", *lines]) + "\n")
    (tmp_path / "s.toml").write_text(STUDY.format(tier=tier))
    done = run_study(read_study(tmp_path / "s.toml"), tmp_path / "out")
    browser.open(done.folder / "report.html")
    assert browser.complaints() == []
    drawn = dict(browser.run(DRAWN))
    drawn.pop("map", None)  # a tier may hide every cell of the map
    assert drawn
    assert all(drawn.values()), drawn
    shown = browser.value("document.body.innerText")
    assert "None" not in shown
    assert "NaN" not in shown
    assert ("means of fewer than 5 rows" in shown) == (tier != "dp")
    assert "by client and cluster" not in shown
    assert "rows in a cell" not in shown
    assert ("are incomplete" in shown) == (tier == "guarded")


def test_names_are_shown_as_they_are(browser: Tab, reports: dict[str, Path]) -> None:
    browser.open(reports["hostile"])
    ticks = "[...document.querySelectorAll('#sent .ytick text')].map(t => t.textContent)"
    first, second = browser.value(ticks)
    assert HOSTILE.startswith(first.rstrip("\u2026"))
    assert second == "b"
    assert browser.value("document.querySelectorAll('.plot a, img').length") == 0
    assert browser.value("window.hacked === undefined")
    assert browser.value("document.querySelector('h1').textContent") == HOSTILE


def test_figures_follow_the_colours_that_a_reader_prefers(
    browser: Tab, reports: dict[str, Path]
) -> None:
    fill = "getComputedStyle(document.querySelector('#shifts .xtick text')).fill"
    cell = "document.querySelector('#effects .hm image').href.baseVal"
    browser.open(reports["hard"])
    light = browser.value(fill), browser.value(cell)
    browser.look(1280, dark=True)
    browser.drawn(2)
    dark = browser.value(fill), browser.value(cell)
    assert (light[0], dark[0]) == ("rgb(26, 34, 48)", "rgb(230, 234, 240)")
    assert light[1] != dark[1]


def test_the_map_shows_the_rows_of_all_clients(browser: Tab, reports: dict[str, Path]) -> None:
    grid = json.loads((reports["hard"].parent / "profile.json").read_text())["map"]["grid"]
    browser.open(reports["hard"])
    drawn = browser.value("document.getElementById('map').data[0].z")
    assert drawn == grid["counts"]
    most = max(n for row in grid["counts"] for n in row if n)
    shown = browser.value("document.querySelector('#places .ramp').textContent")
    assert f"{most} rows in a cell" in shown


@pytest.mark.parametrize("shape", ["hard", "large"])
def test_the_page_fits_on_paper(browser: Tab, reports: dict[str, Path], shape: str) -> None:
    """A dark page prints in light colours with all details open, and is restored afterwards."""
    browser.open(reports[shape], dark=True)
    browser.run(
        "window.addEventListener('beforeprint', () => { window.onPaper = {"
        "folded: document.querySelectorAll('details:not([open])').length,"
        "widest: Math.max(...[...document.querySelectorAll('.main-svg')].map(s => s.clientWidth)),"
        "tallest: Math.max(...[...document.querySelectorAll('.plot')].map(s => s.clientHeight)),"
        "ink: getComputedStyle(document.querySelector('#shifts .xtick text')).fill}; });"
    )
    paper = base64.b64decode(browser.call("Page.printToPDF", printBackground=False)["data"])
    assert paper.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", paper)) >= 4
    seen = browser.value("window.onPaper")
    assert seen["folded"] == 0
    assert seen["widest"] <= 680
    assert seen["tallest"] <= 920
    assert seen["ink"] == "rgb(26, 34, 48)"
    browser.drawn(3)
    assert browser.value("document.querySelectorAll('details:not([open])').length") > 0
    fill = "getComputedStyle(document.querySelector('#shifts .xtick text')).fill"
    assert browser.value(fill) == "rgb(230, 234, 240)"
    assert browser.complaints() == []
