"""Content and structure of the page."""

import json
import re
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from fedclust.cli import app
from fedclust.core import ConfigError
from fedclust.report import write_report
from fedclust.report.page import script_json

from .folders import change, write_run
from .pages import Page
from .shapes import SHAPES, page_of


@pytest.fixture(params=SHAPES)
def page(request: pytest.FixtureRequest, tmp_path: Path) -> Page:
    return page_of(write_run(tmp_path, **SHAPES[request.param]))


def test_parts_stand_in_order(tmp_path: Path) -> None:
    page = page_of(write_run(tmp_path, choice=True))
    assert [section["id"] for section in page.of("section")] == [
        "settings", "clients", "clusters", "places", "quality", "choice", "convergence",
        "communication", "privacy", "again",
    ]  # fmt: skip


def test_the_page_loads_nothing(page: Page) -> None:
    for _, attributes in page.elements:
        for name in ("src", "href", "srcset", "action", "data", "poster"):
            value = attributes.get(name)
            assert value is None or value.startswith(("#", "data:")), (name, value)
    style = page.html.partition("<style>")[2].partition("</style>")[0]
    assert not re.search(r"@import|url\(", style)
    assert any("default-src 'none'" in str(meta.get("content")) for meta in page.of("meta"))


def test_the_page_can_be_read_without_seeing_it(page: Page) -> None:
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(below <= above + 1 for above, below in pairwise(levels))
    assert all(head.get("scope") in ("col", "row") for head in page.of("th"))
    plots = [one for one in page.of("div") if one.get("class") == "plot"]
    assert {plot["id"] for plot in plots} == set(page.figures)
    assert all(plot["role"] == "img" and plot["aria-label"] for plot in plots)
    ids = [attributes["id"] for _, attributes in page.elements if attributes.get("id")]
    assert len(set(ids)) == len(ids)
    targets = {link["href"] for link in page.of("a")}
    assert {str(target)[1:] for target in targets} <= set(ids)


def test_figures_are_figures_that_plotly_knows(page: Page) -> None:
    graph_objects = pytest.importorskip("plotly.graph_objects")
    for figure in page.figures.values():
        text = re.sub(r"var\(--[\w-]+\)", "#123456", json.dumps(figure))
        drawn = json.loads(text)
        assert graph_objects.Figure(data=drawn["data"], layout=drawn["layout"]).data


def test_hostile_names_are_only_names(tmp_path: Path) -> None:
    bad = "</script><script>alert(1)</script><img src=x onerror=alert(2)>&\"'"
    write_run(tmp_path, clients=[bad, "var(--ink)"], study=bad)
    plain = page_of(write_run(tmp_path / "plain"))
    profile = json.loads((tmp_path / "profile.json").read_text())
    profile["clients"][0]["why"] = profile["phases"][0]["name"] = bad
    model = json.loads((tmp_path / "model.json").read_text())
    privacy = {"tier": bad, "guarantee": bad, "parameters": {}}
    model |= {"privacy": privacy, "versions": {bad: bad}, "matched_run": bad}
    change(tmp_path, "profile.json", **profile)
    change(tmp_path, "model.json", **model)
    (tmp_path / "study.toml").write_text(bad)
    page = page_of(tmp_path)
    assert not page.of("img")
    assert len(page.of("script")) == len(plain.of("script")) == 3
    assert not any(name.startswith("on") for _, given in page.elements for name in given)
    assert page.figures["sent"]["names"]["yaxis"] == [bad, "var(--ink)"]
    assert "<script" not in json.dumps(page.figures["sent"]["data"])  # Plotly reads labels as HTML
    assert bad in page.texts["settings"]


@given(st.recursive(st.text() | st.integers() | st.none(), lambda x: st.lists(x)))
def test_json_in_a_script_cannot_end_it(value: Any) -> None:
    text = script_json(value)
    assert json.loads(text) == value
    assert not set(text) & set("<>&\u2028\u2029")


def test_what_was_not_computed_is_not_shown(tmp_path: Path) -> None:
    change(write_run(tmp_path), "profile.json", quality=[], phases=[])
    page = page_of(tmp_path)
    assert "No index was computed" in page.text("quality")
    assert "sent" not in page.figures
    assert "How mixed the memberships are" not in page.html  # hard labels have no entropy


def test_a_report_is_written_whole_and_the_same_again(tmp_path: Path) -> None:
    target = write_report(write_run(tmp_path))
    first = target.read_bytes()
    assert target == tmp_path / "report.html"
    assert write_report(tmp_path).read_bytes() == first
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("absent", ["jinja2", "plotly.offline"])
def test_without_its_libraries_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, absent: str
) -> None:
    monkeypatch.setitem(sys.modules, absent, None)
    with pytest.raises(ConfigError, match=r"needs jinja2 and plotly: pip install 'fedclust\[study"):
        write_report(write_run(tmp_path))


def test_the_command_writes_the_page_or_says_why_not(tmp_path: Path) -> None:
    run = CliRunner().invoke
    shown = run(app, ["report", str(write_run(tmp_path / "a run"))])
    assert shown.exit_code == 0, shown.output
    assert shown.output.strip() == f"Report: {tmp_path / 'a run' / 'report.html'}"
    assert (tmp_path / "a run" / "report.html").is_file()
    wrong = run(app, ["report", str(tmp_path)])
    assert wrong.exit_code == 1
    assert "there is no model.json" in " ".join(wrong.output.split())


def test_columns_without_spread_or_values_are_still_written(tmp_path: Path) -> None:
    profile = json.loads((write_run(tmp_path, columns=2) / "profile.json").read_text())
    for cluster in profile["clusters"]:
        constant, unknown = cluster["features"]
        constant |= {"mean": 7.0, "sd": 0.0, "overall_mean": 7.0, "overall_sd": 0.0, "effect": None}
        unknown |= dict.fromkeys(("mean", "sd", "overall_mean", "overall_sd"))
    change(tmp_path, "profile.json", clusters=profile["clusters"])
    page = page_of(tmp_path)
    assert "They differ most in resting pressure." in page.html
    assert "None" not in page.text("clusters")
