"""Content and structure of the page."""

import json
import re
import sys
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from fedclust.cli import app
from fedclust.core import ConfigError
from fedclust.report import write_report

from .folders import change, write_run
from .pages import Page
from .shapes import SHAPES, page_of


@pytest.fixture(params=SHAPES)
def page(request: pytest.FixtureRequest, tmp_path: Path) -> Page:
    return page_of(write_run(tmp_path, **SHAPES[request.param]))


def test_parts_stand_in_order(tmp_path: Path) -> None:
    page = page_of(write_run(tmp_path, choice=True))
    assert [section.get("id") or section["aria-labelledby"] for section in page.of("section")] == [
        "box-privacy", "box-evidence", "clusters", "places", "choice", "quality", "clients",
        "privacy", "convergence", "settings", "again",
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
    targets = {str(link["href"]) for link in page.of("a")}
    assert {target[1:] for target in targets if not target.startswith("data:")} <= set(ids)


def test_figures_are_well_formed_and_have_no_colours_of_their_own(page: Page) -> None:
    for id, figure in page.figures.items():
        drawn = ElementTree.fromstring(figure)
        assert len(drawn), id
        assert "nan" not in figure.lower(), id
        assert id == "map" or not re.search(r"#[0-9a-f]{3}", figure)


def test_a_page_stays_small(tmp_path: Path) -> None:
    sites = [f"site {i}" for i in range(60)]
    write_run(tmp_path, clients=sites, clusters=20, columns=40, choice=True)
    assert write_report(tmp_path).stat().st_size < 1_000_000


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
    assert len(page.of("script")) == len(plain.of("script")) == 1
    assert not any(name.startswith("on") for _, given in page.elements for name in given)
    assert bad in page.texts["settings"]
    assert bad in page.texts["privacy"]


def test_names_that_a_spreadsheet_would_run_are_quoted(tmp_path: Path) -> None:
    page = page_of(write_run(tmp_path, clients=["=cmd|' /C calc'!A0", "@b"]))
    assert [row[0] for row in page.table("clients.csv")[1:]] == ["'=cmd|' /C calc'!A0", "'@b"]


def test_tables_can_be_saved(tmp_path: Path) -> None:
    page = page_of(write_run(tmp_path, choice=True))
    profile = json.loads((tmp_path / "profile.json").read_text())
    rows = page.table("profile.csv")
    assert rows[0] == ["cluster", "name", "rows", "feature", "unit", "mean", "sd", "effect"]
    first, own = rows[1], profile["clusters"][0]["features"][0]
    assert first[3:5] == ["age", "years"]
    assert [float(value) for value in first[5:]] == [own["mean"], own["sd"], own["effect"]]
    assert [row[0] for row in rows[-5:]] == ["all"] * 5
    assert len(page.table("number-of-clusters.csv")) == 1 + 7
    assert page.table("clients.csv")[1][:3] == ["Cleveland", *[page.table("clients.csv")[1][1]] * 2]
    assert len(page.table("bytes-sent.csv")) == len(page.table("clusters-by-client.csv")) == 5
    assert len(page.table("rounds.csv")) == 13


def test_the_study_file_gives_title_and_names(tmp_path: Path) -> None:
    write_run(tmp_path)
    given = '[study]\ntitle = "Chest pain"\ndescription = "Four clinics."\n'
    (tmp_path / "study.toml").write_text(given + '[clusters]\nnames = ["Young", "Old"]\n')
    page = page_of(tmp_path)
    assert "<h1>Chest pain</h1>" in page.html
    assert "<p>Four clinics.</p>" in page.html
    names = re.findall(r'<p class="name">(.*?)</p>', page.html)
    assert names[:2] == ["Young", "Old"]
    assert len(names) == 3  # the third is made from what defines the cluster
    assert page.table("profile.csv")[1][1] == "Young"


def test_what_noise_hides_is_neither_named_nor_in_a_headline(tmp_path: Path) -> None:
    profile = json.loads((write_run(tmp_path) / "profile.json").read_text())
    clusters = profile["clusters"]
    clusters[2]["reliable"] = False
    clusters[2]["features"][1] |= {"mean": 99_999.0, "effect": 80.0}
    change(tmp_path, "profile.json", clusters=clusters)
    page = page_of(tmp_path)
    finding = page.html.partition('class="finding">')[2].partition("</p>")[0]
    assert "cluster 3" not in finding.partition("They differ")[2]
    assert "The noise hides this cluster" in page.text("clusters")
    assert "99,999" not in page.text("clusters")
    assert len(re.findall('class="name"', page.html)) == 2
    for cluster in clusters[:2]:
        cluster["reliable"] = False
    change(tmp_path, "profile.json", clusters=clusters)
    assert "The noise hides how they differ." in page_of(tmp_path).html


def test_weak_evidence_stands_at_the_top(tmp_path: Path) -> None:
    choice = json.loads((write_run(tmp_path, choice=True) / "choice.json").read_text())
    assert "Evidence: good" in page_of(tmp_path).html
    change(tmp_path, "choice.json", **{**choice, "weak": True})
    page = page_of(tmp_path)
    head = page.html.partition("<main>")[0]
    assert "Evidence: weak" in head
    assert "The evidence that there are any clusters is weak." in head


def test_only_the_figures_that_decide_are_in_the_open(tmp_path: Path) -> None:
    choice = json.loads((write_run(tmp_path, choice=True) / "choice.json").read_text())
    for score in choice["scores"]:
        score["indices"]["weakest-cluster"] = 0.9 if score["n_clusters"] <= 3 else 0.4
    change(tmp_path, "choice.json", **choice)
    page = page_of(tmp_path)
    shown = page.html.partition('id="choice"')[2].partition("<details>")[0]
    assert re.findall(r"<h3>(.*?)(?: <span|</h3>)", shown) == [
        "Simplified silhouette",
        "Weakest cluster",
    ]
    assert "at least 0.75" in shown
    assert "5 other indices, which do not decide" in page.html


def test_what_was_not_computed_is_not_shown(tmp_path: Path) -> None:
    change(write_run(tmp_path), "profile.json", quality=[], phases=[])
    page = page_of(tmp_path)
    assert "No index was computed" in page.text("quality")
    assert "Bytes sent by each client" not in page.html
    assert "How mixed the memberships are" not in page.html  # hard labels have no entropy


def test_a_report_is_written_whole_and_the_same_again(tmp_path: Path) -> None:
    target = write_report(write_run(tmp_path))
    first = target.read_bytes()
    assert target == tmp_path / "report.html"
    assert write_report(tmp_path).read_bytes() == first
    assert not list(tmp_path.glob(".*"))


def test_without_its_library_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ConfigError, match=r"needs jinja2: pip install 'fedclust\[study"):
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
