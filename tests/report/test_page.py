"""What the page says, and that it says nothing else."""

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
from fedclust.report import read_run, render, write_report
from fedclust.report.page import in_script

from .folders import change, write_run
from .pages import Page

LONG = "Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogoch " * 2
SHAPES: dict[str, dict[str, Any]] = {
    "hard": {},
    "fuzzy": {"clusters": 5, "soft": True, "choice": True},
    "large": {"clusters": 20, "columns": 40, "clients": [LONG, *(f"c{i}" for i in range(29))]},
    "one of all": {"clusters": 1, "columns": 1, "clients": ["alone"]},
    "no map": {"drawn": False},
}


def page_of(folder: Path) -> Page:
    return Page(render(read_run(folder)))


@pytest.fixture(params=SHAPES)
def page(request: pytest.FixtureRequest, tmp_path: Path) -> Page:
    return page_of(write_run(tmp_path, **SHAPES[request.param]))


def test_parts_stand_in_order(tmp_path: Path) -> None:
    page = page_of(write_run(tmp_path, choice=True))
    assert [section["id"] for section in page.of("section")] == [
        "asked", "clients", "clusters", "places", "quality", "choice", "convergence",
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


def test_the_summary_is_computed(tmp_path: Path) -> None:
    profile = json.loads((write_run(tmp_path) / "profile.json").read_text())
    sizes = {cluster["id"]: cluster["size"] for cluster in profile["clusters"]}
    largest = max(sizes, key=lambda id: sizes[id])
    page = page_of(tmp_path)
    share = f"{sizes[largest] / sum(sizes.values()):.0%}"
    assert f"2,700 rows of 4 clients form 3 clusters: the largest, cluster {largest}" in page.html
    assert f"holds {share} of them" in page.html
    spread = {
        name: sum(
            cluster["size"] * cluster["features"][place]["effect"] ** 2
            for cluster in profile["clusters"]
        )
        for place, name in enumerate(read_run(tmp_path).model["columns"])
    }
    first, second = sorted(spread, key=lambda name: -spread[name])[:2]
    assert re.search(f"They differ most in {first} .* and {second} ", page.html)


def test_a_card_names_what_differs_most(tmp_path: Path) -> None:
    profile = json.loads((write_run(tmp_path) / "profile.json").read_text())
    cards = page_of(tmp_path).html.split('<li class="card"')[1:]
    for cluster, card in zip(profile["clusters"], cards, strict=True):
        told = sorted(cluster["features"], key=lambda f: -abs(f["effect"]))[:3]
        names = re.findall(r"<li><span>(.*?) <strong>(.*?)</strong>", card)
        assert [name for name, _ in names] == [f["name"].replace("=", " = ") for f in told]
        for feature, (_, value) in zip(told, names, strict=True):
            if feature["unit"]:
                assert value == f"{feature['mean']:.0f} {feature['unit']}"
            else:
                assert value == f"{feature['mean']:.0%}"


def test_categories_of_one_column_are_named_once(tmp_path: Path) -> None:
    model = json.loads((write_run(tmp_path, columns=2) / "model.json").read_text())
    profile = json.loads((tmp_path / "profile.json").read_text())
    model["columns"] = ["sex=f", "sex=m"]
    plain = {"low": None, "high": None, "log": False, "unit": ""}
    model["preparation"]["columns"] = [{"name": "sex", "categories": ["f", "m"], **plain}]
    for cluster in profile["clusters"]:
        for feature, name in zip(cluster["features"], model["columns"], strict=True):
            feature |= {"name": name, "unit": "", "mean": 0.7, "overall_mean": 0.5, "effect": 0.4}
    change(tmp_path, "model.json", **model)
    change(tmp_path, "profile.json", **profile)
    card = page_of(tmp_path).html.split('<li class="card"')[1]
    assert len(re.findall("sex = [fm] <strong>70%", card)) == 1


def test_clusters_that_hardly_differ_are_said_to(tmp_path: Path) -> None:
    profile = json.loads((write_run(tmp_path) / "profile.json").read_text())
    for cluster in profile["clusters"]:
        for feature in cluster["features"]:
            feature["effect"] = 0.07
    change(tmp_path, "profile.json", clusters=profile["clusters"])
    page = page_of(tmp_path)
    assert "Their means hardly differ: none is more than 0.07 standard deviations" in page.html


def test_withheld_counts_are_not_shown_as_none(tmp_path: Path) -> None:
    profile = json.loads((write_run(tmp_path) / "profile.json").read_text())
    first, second, third = profile["clusters"]
    first["by_client"] = dict.fromkeys(first["by_client"])
    second["by_client"]["Budapest"] = None
    third |= {"size": None, "by_client": {}}
    third["features"] = [{**f, "mean": None, "sd": None, "effect": None} for f in third["features"]]
    change(tmp_path, "profile.json", clusters=[first, second, third])
    text = page_of(tmp_path).text("clusters")
    assert "4 clients with fewer than 5" in text
    assert "; 1 client with fewer than 5" in text
    assert "fewer than 5 rows" in text
    assert "None" not in text
    assert "nan" not in text


def test_hostile_names_are_only_names(tmp_path: Path) -> None:
    bad = "</script><script>alert(1)</script><img src=x onerror=alert(2)>&\"'"
    write_run(tmp_path, clients=[bad, "var(--ink)"], study=bad)
    plain = page_of(write_run(tmp_path / "plain"))
    profile = json.loads((tmp_path / "profile.json").read_text())
    profile["clients"][0]["why"] = profile["phases"][0]["name"] = bad
    model = json.loads((tmp_path / "model.json").read_text())
    model |= {"privacy": {"tier": bad, "promise": bad}, "versions": {bad: bad}, "like": bad}
    change(tmp_path, "profile.json", **profile)
    change(tmp_path, "model.json", **model)
    (tmp_path / "study.toml").write_text(bad)
    page = page_of(tmp_path)
    assert not page.of("img")
    assert len(page.of("script")) == len(plain.of("script")) == 3
    assert not any(name.startswith("on") for _, given in page.elements for name in given)
    assert page.figures["sent"]["names"]["yaxis"] == [bad, "var(--ink)"]
    assert "<script" not in json.dumps(page.figures["sent"]["data"])  # Plotly reads labels as HTML
    assert bad in page.texts["asked"]


@given(st.recursive(st.text() | st.integers() | st.none(), lambda x: st.lists(x)))
def test_json_in_a_script_cannot_end_it(value: Any) -> None:
    text = in_script(value)
    assert json.loads(text) == value
    assert not set(text) & set("<>&\u2028\u2029")


def test_the_end_of_the_run_is_told_as_it_was(tmp_path: Path) -> None:
    write_run(tmp_path)
    assert "converged after 12 rounds" in page_of(tmp_path).text("convergence")
    change(tmp_path, "model.json", converged=False)
    page = page_of(tmp_path)
    assert "stopped after 12 rounds without having converged" in page.text("convergence")
    assert page.html.count('class="note"') == 2  # beside the summary too, and without scripts
    lines = (tmp_path / "history.jsonl").read_text().splitlines()
    silent = [json.dumps({**json.loads(line), "shift": float("nan")}) for line in lines]
    (tmp_path / "history.jsonl").write_text("\n".join(silent))
    page = page_of(tmp_path)
    assert "No round tells how far the centres moved" in page.text("convergence")
    assert "shifts" not in page.figures


@pytest.mark.parametrize(
    ("lossless", "pooled", "said"),
    [
        (True, 0.41, "lossless: the pooled values are equal by construction"),
        (True, None, "equal by construction; they were not computed"),
        (True, 0.5, "The largest difference from a pooled value is 18% of it"),
        (False, 0.41, "equal to six digits"),
        (False, 0.412, "The largest difference from a pooled value is 0.49% of it"),
        (False, None, "The pooled values were not computed"),
    ],
)
def test_quality_is_compared_only_where_it_can_be(
    tmp_path: Path, lossless: bool, pooled: float | None, said: str
) -> None:
    one = {"index": "simplified-silhouette", "value": 0.41, "pooled": pooled, "better": "high"}
    change(write_run(tmp_path), "profile.json", quality=[one])
    change(tmp_path, "model.json", lossless=lossless)
    page = page_of(tmp_path)
    assert said in page.text("quality")
    exact = "is that of the same algorithm on one table with all rows"
    assert (exact in page.text("asked")) == lossless


def test_what_was_not_computed_is_not_shown(tmp_path: Path) -> None:
    change(write_run(tmp_path), "profile.json", quality=[], phases=[])
    page = page_of(tmp_path)
    assert "No index was computed" in page.text("quality")
    assert "sent" not in page.figures
    assert "How clear membership is" not in page.html  # hard labels have no entropy


def test_preparation_is_told_in_words(tmp_path: Path) -> None:
    model = json.loads((write_run(tmp_path, columns=2) / "model.json").read_text())
    told = model["preparation"]
    told |= {"offset": [0, 0], "scale": [1, 1]}
    change(tmp_path, "model.json", preparation=told)
    assert "Columns were clustered as they are" in page_of(tmp_path).text("asked")
    told["columns"][1]["log"] = True
    change(tmp_path, "model.json", preparation={**told, "fill": [1.5, None]})
    text = page_of(tmp_path).text("asked")
    assert "Logarithms were taken of resting pressure. Gaps were filled." in text
    assert "a gap becomes" in text


def test_an_unknown_algorithm_and_index_keep_their_names(tmp_path: Path) -> None:
    write_run(tmp_path)
    odd = {"index": "my-index", "value": None, "pooled": None, "better": "low"}
    change(tmp_path, "profile.json", quality=[odd])
    change(tmp_path, "model.json", algorithm={"algorithm": "mine", "exact": True}, seed=None)
    page = page_of(tmp_path)
    assert "my-index" in page.text("quality")
    assert "Algorithm mine" in page.text("asked")
    assert "exact = yes" in page.text("asked")
    assert "Seed" not in page.text("asked")


def test_identities_of_an_earlier_run_are_told(tmp_path: Path) -> None:
    change(write_run(tmp_path), "model.json", like="../2025-run")
    said = "Their numbers are those of the earlier run ../2025-run"
    assert said in page_of(tmp_path).text("asked")


def test_the_choice_is_told_with_its_reason(tmp_path: Path) -> None:
    page = page_of(write_run(tmp_path, clusters=5, choice=True))
    assert "5 clusters are recommended. Four of six indices favour 5" in page.text("choice")
    assert len([id for id in page.figures if id.startswith("choice-")]) == 6
    assert page.figures["choice-1"]["layout"]["shapes"][0]["x0"] == 5


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


def test_sizes_that_are_withheld_or_nothing_do_not_hide_what_differs(tmp_path: Path) -> None:
    profile = json.loads((write_run(tmp_path) / "profile.json").read_text())
    first, second, third = profile["clusters"]
    third |= {"size": 0, "by_client": dict.fromkeys(third["by_client"], 0)}
    change(tmp_path, "profile.json", clusters=[first, second, third])
    page = page_of(tmp_path)
    assert "the smallest, cluster 2, " in page.html
    assert "; 1 of the clusters has no rows. They differ most in " in page.html
    assert "in cluster 3" not in page.html.partition("</header>")[0]
    for cluster in profile["clusters"]:
        cluster["size"] = None
    change(tmp_path, "profile.json", clusters=profile["clusters"])
    assert re.search(
        r"form 3 clusters\. They differ most in .* and .*\.</p>", page_of(tmp_path).html
    )
