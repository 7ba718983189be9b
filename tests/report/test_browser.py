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


DRAWN = """
document.querySelectorAll('details').forEach(one => one.open = true);
return [...document.querySelectorAll('.plot')].map(plot => {
  const marks = [...plot.querySelectorAll('path, circle, ellipse')];
  const seen = marks.filter(mark => {
    const box = mark.getBoundingClientRect();
    return box.width > 0 || box.height > 0;
  });
  return [plot.id, seen.length];
});
"""
OUTSIDE = """
document.querySelectorAll('details').forEach(one => one.open = true);
return [...document.querySelectorAll('.plot')].flatMap(plot => {
  const room = plot.getBoundingClientRect();
  return [...plot.querySelectorAll('text')].filter(text => {
    const box = text.getBoundingClientRect();
    return box.left < room.left - 2 || box.right > room.right + 2
      || box.top < room.top - 2 || box.bottom > room.bottom + 4;
  }).map(text => plot.id + ': ' + text.textContent);
});
"""
CROSSING = """
document.querySelectorAll('details').forEach(one => one.open = true);
return [...document.querySelectorAll('.plot:not(#map)')].flatMap(plot => {
  const boxes = [...plot.querySelectorAll('text:not(.note)')].map(t => t.getBoundingClientRect());
  return boxes.flatMap((a, i) => boxes.slice(i + 1).filter(b => a.left < b.right - 1
    && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3).map(() => plot.id));
});
"""
SMALL = """
document.querySelectorAll('details').forEach(one => one.open = true);
return [...document.querySelectorAll('.plot text')].filter(text =>
  text.getBoundingClientRect().height < 9).map(text => text.textContent);
"""


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("shape", [*SHAPES, "hostile"])
def test_figures_are_drawn_and_nothing_is_asked_for(
    browser: Tab, reports: dict[str, Path], shape: str, width: str
) -> None:
    browser.open(reports[shape], width=WIDTHS[width], dark=width == "phone")
    assert browser.complaints() == []
    assert browser.requests() == []
    assert browser.value("document.documentElement.scrollWidth") <= WIDTHS[width]
    drawn = dict(browser.run(DRAWN))
    assert drawn
    assert all(drawn.values()), drawn
    assert browser.value("document.documentElement.scrollWidth") <= WIDTHS[width]
    assert browser.run(OUTSIDE) == []
    assert browser.run(CROSSING) == []
    assert browser.run(SMALL) == []


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
    assert "No counts by client and cluster are published." in shown
    assert shown.count("by client and cluster") == 1  # and no table
    assert "rows in a cell" not in shown
    assert ("are incomplete" in shown) == (tier == "guarded")


def test_names_are_shown_as_they_are(browser: Tab, reports: dict[str, Path]) -> None:
    browser.open(reports["hostile"])
    names = "[...document.querySelectorAll('#privacy details th[scope=row]')].map(t => t.innerText)"
    browser.run(DRAWN)
    assert browser.value(names) == [HOSTILE, "b"]
    assert browser.value("document.querySelectorAll('.plot a, img').length") == 0
    assert browser.value("window.hacked === undefined")
    assert browser.value("document.querySelector('h1').textContent") == HOSTILE


def test_figures_follow_the_colours_that_a_reader_prefers(
    browser: Tab, reports: dict[str, Path]
) -> None:
    fill = "getComputedStyle(document.querySelector('#shifts .axis')).fill"
    cell = "getComputedStyle(document.querySelector('td.up')).backgroundColor"
    browser.open(reports["hard"])
    light = browser.value(fill), browser.value(cell)
    browser.look(1280, dark=True)
    dark = browser.value(fill), browser.value(cell)
    assert (light[0], dark[0]) == ("rgb(26, 34, 48)", "rgb(230, 234, 240)")
    assert light[1] != dark[1]


def test_the_map_shows_the_rows_of_all_clients(browser: Tab, reports: dict[str, Path]) -> None:
    grid = json.loads((reports["hard"].parent / "profile.json").read_text())["map"]["grid"]
    counts = [n for row in grid["counts"] for n in row if n]
    browser.open(reports["hard"])
    cells = "[...document.querySelectorAll('#map .cells')].map(p => p.getAttribute('d')).join('')"
    assert browser.value(cells).count("M") == len(counts)
    shown = browser.value("document.querySelector('#places .ramp').textContent")
    assert f"{max(counts)} rows in a cell" in shown


def test_a_table_is_saved_as_the_page_has_it(
    browser: Tab, reports: dict[str, Path], tmp_path: Path
) -> None:
    browser.open(reports["hard"])
    folder = str(tmp_path)
    browser.call("Page.setDownloadBehavior", behavior="allow", downloadPath=folder)
    browser.run("document.querySelector('a[download=\"profile.csv\"]').click()")
    saved = tmp_path / "profile.csv"
    for _ in range(2000):
        if saved.exists():
            break
        browser.value("new Promise(done => setTimeout(done, 50))")
    assert saved.read_bytes().startswith(b"\xef\xbb\xbfcluster,name,rows,feature,unit,mean,sd")
    assert browser.requests() == []
    assert browser.complaints() == []


@pytest.mark.parametrize("shape", ["hard", "large"])
def test_the_page_fits_on_paper(browser: Tab, reports: dict[str, Path], shape: str) -> None:
    """A dark page prints in light colours with all details open, and is restored afterwards."""
    browser.open(reports[shape], dark=True)
    browser.run(
        "window.addEventListener('beforeprint', () => { window.onPaper = "
        "document.querySelectorAll('details:not([open])').length; });"
    )
    paper = base64.b64decode(browser.call("Page.printToPDF", printBackground=False)["data"])
    assert paper.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", paper)) >= 3
    assert browser.value("window.onPaper") == 0
    assert browser.value("document.querySelectorAll('details:not([open])').length") > 0
    browser.call("Emulation.setEmulatedMedia", media="print")
    fill = "getComputedStyle(document.querySelector('#shifts .axis')).fill"
    assert browser.value(fill) == "rgb(26, 34, 48)"
    widest = "Math.max(...[...document.querySelectorAll('svg')].map(one => one.clientWidth))"
    assert browser.value(widest) <= 680
    browser.call("Emulation.setEmulatedMedia", media="")
    assert browser.complaints() == []
