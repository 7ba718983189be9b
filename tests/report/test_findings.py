"""The sentences of the page follow from the run."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from fedclust.report.amounts import DASH
from fedclust.report.features import Feature, strongest_by_column
from fedclust.report.folder import read_run
from fedclust.report.missing_table import missing_table
from fedclust.results import MissingCells

from .folders import STUDY, change, write_run
from .shapes import page_of


def test_the_summary_is_computed(tmp_path: Path) -> None:
    profile = json.loads((write_run(tmp_path) / "profile.json").read_text())
    sizes = {cluster["id"]: cluster["size"] for cluster in profile["clusters"]}
    largest = max(sizes, key=lambda id: sizes[id])
    page = page_of(tmp_path)
    share = f"{sizes[largest] / sum(sizes.values()):.0%}"
    assert f"2,700 rows of 4 clients form 3 clusters: the largest, cluster {largest}" in page.html
    assert f"holds {share} of them" in page.html
    effects = {
        name: max(abs(cluster["features"][place]["effect"]) for cluster in profile["clusters"])
        for place, name in enumerate(f["name"] for f in profile["clusters"][0]["features"])
    }
    first, second = sorted(effects, key=lambda name: -effects[name])[:2]
    first, second = (re.escape(name.replace("=", " = ")) for name in (first, second))
    assert re.search(f"They differ most in {first} .* and {second} ", page.html)


def test_a_card_names_what_differs_most(tmp_path: Path) -> None:
    profile = json.loads((write_run(tmp_path) / "profile.json").read_text())
    cards = page_of(tmp_path).html.split('<li class="card"')[1:]
    for cluster, card in zip(profile["clusters"], cards, strict=True):
        reported = sorted(cluster["features"], key=lambda f: -abs(f["effect"]))[:3]
        names = re.findall(r"<li><span>(.*?) <strong>(.*?)</strong>", card)
        assert [name for name, _ in names] == [f["name"].replace("=", " = ") for f in reported]
        for feature, (_, value) in zip(reported, names, strict=True):
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


def test_an_effect_that_is_shown_as_zero_points_nowhere(tmp_path: Path) -> None:
    profile = json.loads((write_run(tmp_path) / "profile.json").read_text())
    for cluster in profile["clusters"]:
        for feature in cluster["features"]:
            feature["effect"] = -0.04 if feature["name"] == "age" else 0.0
    change(tmp_path, "profile.json", clusters=profile["clusters"])
    card = page_of(tmp_path).html.split('<li class="card"')[1].split("</li>")[0]
    assert '<span class="effect">0.0 sd' in card


def test_one_size_is_not_a_range(tmp_path: Path) -> None:
    write_run(tmp_path, clients=["a", "b"])
    change(tmp_path, "model.json", bytes_sent={"a": 22_500, "b": 22_510})
    assert "each client sent 22.5 kB in messages" in page_of(tmp_path).html


def test_withheld_values_are_not_shown_as_none(tmp_path: Path) -> None:
    profile = json.loads((write_run(tmp_path) / "profile.json").read_text())
    first, second, third = profile["clusters"]
    first["by_client"] = dict.fromkeys(first["by_client"])
    second["by_client"]["Budapest"] = None
    third["size"] = 3
    third["features"] = [{**f, "mean": None, "sd": None, "effect": None} for f in third["features"]]
    withheld = {"cells": 5, "rows": 1234}
    change(tmp_path, "profile.json", clusters=[first, second, third], withheld=withheld)
    page = page_of(tmp_path)
    text = page.text("clusters")
    assert "5 of 12 counts by client and cluster, with 1,234 rows in all, are withheld" in text
    assert "withheld for 4 clients" in text
    assert "; withheld for 1 client " in text
    assert "Means are withheld: they would describe fewer than 5 rows" in text
    assert "; 1 of the clusters has fewer than 5." in page.html
    assert "None" not in text
    assert "nan" not in text


@pytest.mark.parametrize(
    ("coverage", "said"),
    [
        ("all", "cover every row that took part"),
        ("replied", "some clients did not reply"),
        ("released", "with the tier 'none', clients withhold part of them"),
    ],
)
def test_the_page_says_which_rows_its_statistics_cover(
    tmp_path: Path, coverage: str, said: str
) -> None:
    change(write_run(tmp_path), "profile.json", coverage=coverage, rounded=True)
    text = page_of(tmp_path).text("clusters")
    assert said in text
    assert ("are incomplete" in text) == (coverage != "all")
    assert "Means and deviations are rounded" in text
    change(tmp_path, "profile.json", coverage="none", rounded=False)
    text = page_of(tmp_path).text("clusters")
    assert "statistics of clusters" not in text
    assert "rounded" not in text


def test_the_end_of_the_run_is_told_as_it_was(tmp_path: Path) -> None:
    write_run(tmp_path)
    assert "converged after 12 rounds" in page_of(tmp_path).text("convergence")
    change(tmp_path, "model.json", converged=False)
    page = page_of(tmp_path)
    assert "stopped after 12 rounds before it converged" in page.text("convergence")
    assert page.html.count('class="note"') == 1  # beside the summary, too
    lines = (tmp_path / "history.jsonl").read_text().splitlines()
    silent = [json.dumps({**json.loads(line), "shift": float("nan")}) for line in lines]
    (tmp_path / "history.jsonl").write_text("\n".join(silent))
    page = page_of(tmp_path)
    assert "The rounds do not record how far the centres moved" in page.text("convergence")
    assert "shifts" not in page.figures
    still = [json.dumps({**json.loads(line), "shift": 0.0}) for line in lines]
    (tmp_path / "history.jsonl").write_text("\n".join(still))
    change(tmp_path, "model.json", converged=True)
    assert "It began with the final centres" in page_of(tmp_path).text("convergence")


def test_commands_fit_the_study_file_however_it_is_written(tmp_path: Path) -> None:
    write_run(tmp_path)
    study = tmp_path / "study.toml"
    for begin in ("[clients]", '["clients"]'):
        study.write_text(begin + STUDY.removeprefix("[clients]"))
        assert "fedclust run study.toml" in page_of(tmp_path).text("again")
    study.write_text(STUDY[STUDY.index("[clustering]") :])
    assert "fedclust server" in page_of(tmp_path).text("again")


@pytest.mark.parametrize(
    ("lossless", "pooled", "said"),
    [
        (True, 0.41, "lossless, so these values equal those of the pooled rows."),
        (True, None, "equal those of the pooled rows, which were not computed"),
        (True, 0.5, "The largest difference from a pooled value is 18% of it"),
        (False, 0.41, "agree to six digits"),
        (False, 0.412, "The largest difference from a pooled value is 0.49% of it"),
        (False, None, "The pooled values were not computed"),
    ],
)
def test_quality_is_compared_only_where_it_can_be(
    tmp_path: Path, lossless: bool, pooled: float | None, said: str
) -> None:
    one = {"index": "simplified-silhouette", "value": 0.41, "pooled": pooled, "better": "higher"}
    change(write_run(tmp_path), "profile.json", quality=[one])
    change(tmp_path, "model.json", lossless=lossless)
    page = page_of(tmp_path)
    assert said in page.text("quality")
    exact = "Lossless: the result equals that of the same algorithm"
    assert (exact in page.text("settings")) == lossless


def test_preparation_is_told_in_words(tmp_path: Path) -> None:
    model = json.loads((write_run(tmp_path, columns=2) / "model.json").read_text())
    reported = model["preparation"]
    reported |= {"offset": [0, 0], "scale": [1, 1]}
    change(tmp_path, "model.json", preparation=reported)
    assert "Columns were not transformed" in page_of(tmp_path).text("settings")
    reported["columns"][1]["log"] = True
    change(tmp_path, "model.json", preparation={**reported, "fill": [1.5, None]})
    text = page_of(tmp_path).text("settings")
    assert "Logarithms were taken of resting pressure. Missing values were filled in." in text
    assert "missing values become" in text


def test_an_unknown_algorithm_and_index_keep_their_names(tmp_path: Path) -> None:
    write_run(tmp_path)
    odd = {"index": "my-index", "value": None, "pooled": None, "better": "lower"}
    change(tmp_path, "profile.json", quality=[odd])
    change(tmp_path, "model.json", algorithm="mine", settings={"exact": True}, seed=None)
    page = page_of(tmp_path)
    assert "my-index" in page.text("quality")
    assert "Algorithm mine" in page.text("settings")
    assert "exact = yes" in page.text("settings")
    assert "Seed" not in page.text("settings")


def test_identities_of_an_earlier_run_are_told(tmp_path: Path) -> None:
    change(write_run(tmp_path), "model.json", matched_run="../2025-run")
    said = "Cluster numbers match the earlier run ../2025-run"
    assert said in page_of(tmp_path).text("settings")


def test_the_choice_is_told_with_its_reason(tmp_path: Path) -> None:
    page = page_of(write_run(tmp_path, clusters=5, choice=True))
    assert "Four of six indices favour 5" in page.text("choice")
    assert len([id for id in page.figures if id.startswith("choice-")]) == 6
    assert "favours 5" in page.text("choice")


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


def test_of_two_categories_the_frequent_one_is_named(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path))
    features = [
        Feature(f"ill = {word}", "ill", "", True, False, None, 0.5) for word in ("no", "yes")
    ]
    first = run.profile.clusters[0].features[0]
    own = [replace(first, mean=m, effect=e) for m, e in ((0.3, -0.6402), (0.7, 0.6398))]
    cluster = replace(run.profile.clusters[0], features=tuple(own))
    assert [f.name for f, _ in strongest_by_column(cluster, features)] == ["ill = yes"]


@pytest.mark.parametrize(("n", "corner", "rows"), [(4, "column", 4), (30, "client", 30)])
def test_missing_cells_fit_on_paper(tmp_path: Path, n: int, corner: str, rows: int) -> None:
    run = read_run(write_run(tmp_path))
    names = ["age", "sex", "sex", "ill", "dose"]
    found = [Feature(name, name, "", False, False, None, None) for name in names]
    shares = {f"client {i}": (0.0, None, None, 0.25, 1.0) for i in range(n)}
    profile = replace(run.profile, missing=MissingCells(columns=tuple(names), shares=shares))
    table = missing_table(replace(run, profile=profile), found)
    assert table is not None
    assert (table.corner, len(table.rows)) == (corner, rows)
    across = dict(table.rows)
    seen = [cells[0] for cells in across.values()] if n == 4 else across["client 3"]
    assert list(seen) == ["0%", DASH, "25%", "100%"]
