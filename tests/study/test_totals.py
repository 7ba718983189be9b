"""Sizes and statistics of clusters are those of the pooled rows, however rows are split."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from fedclust import load
from fedclust.channels import RemoteChannel
from fedclust.cli import app
from fedclust.clustering.model import Model
from fedclust.clustering.numbering import sort_by_size
from fedclust.core.wire import unpack
from fedclust.kernels import nearest
from fedclust.report import write_report
from fedclust.study import read_study
from fedclust.study.run import Outcome, run_study
from fedclust.typing import FloatArray, IntArray

from ..report.pages import Page
from ..support.in_process import InProcess, run_across, write_kits
from ..support.sites import PLAIN, heavy_tailed, sixty_sites, write_sites
from ..support.studies import write_study

KINDS = {"hard": "n_clusters = 3", "fuzzy": "n_clusters = 3\nfuzzy = true\nmax_rounds = 30"}
TIERS = ["none", "secure"]


def read(folder: Path, name: str) -> Any:
    return json.loads((folder / name).read_text())


def run_sites(folder: Path, X: FloatArray, owner: IntArray, **settings: Any) -> Path:
    """The run's folder."""
    return outcome_of(folder, X, owner, **settings).folder


def outcome_of(folder: Path, X: FloatArray, owner: IntArray, **settings: Any) -> Outcome:
    return run_study(read_study(write_sites(folder, X, owner, **settings)), folder / "run")


def exact_model(outcome: Outcome, X: FloatArray) -> Model:
    """The model with its centres to the last digit, which the files need not have."""
    centers = np.ascontiguousarray(outcome.clustering.centers)
    labels = nearest(prepared(outcome.model, X), centers)[0]
    order = sort_by_size(np.bincount(labels, minlength=len(centers)), centers)
    model: Model = replace(outcome.model, centers=centers[order])
    return model


def prepared(model: Model, X: FloatArray) -> FloatArray:
    return model.rows({f"x{f}": X[:, f] for f in range(X.shape[1])})[0]


def assert_pooled(outcome: Outcome, X: FloatArray) -> None:
    """Compare profile.json with what one table with all rows gives.

    Under a tier that protects, numbers differ by the part of a few rows in them.
    """
    model, profile = exact_model(outcome, X), read(outcome.folder, "profile.json")
    rounded = model.about is not None and not model.about.privacy.publishes_all
    rows = prepared(model, X)
    labels = model.nearest(rows)
    scale = np.abs(model.preparation.scale).max()
    for c, cluster in enumerate(profile["clusters"]):
        own = rows[labels == c]
        assert cluster["size"] == model.sizes[c] == len(own)
        expected = {
            "mean": model.preparation.in_units(own.mean(axis=0)[None])[0],
            "sd": own.std(axis=0) * model.preparation.scale,
            "overall_mean": model.preparation.in_units(rows.mean(axis=0)[None])[0],
            "overall_sd": rows.std(axis=0) * model.preparation.scale,
            "effect": (own.mean(axis=0) - rows.mean(axis=0)) / rows.std(axis=0),
        }
        for name, values in expected.items():
            shown = [feature[name] for feature in cluster["features"]]
            if len(own) < profile["minimum"] and not name.startswith("overall"):
                assert shown == [None] * len(shown)
            elif None not in shown:  # withheld with a small cluster, if fuzzy
                unit = 1.0 if name == "effect" else scale
                few = 4 * profile["minimum"] / max(len(own), 1) if rounded else 0.0
                spread = rows.std(axis=0) * model.preparation.scale
                room = few * (1.0 if name == "effect" else spread) + 1e-9 * (np.abs(values) + unit)
                if name == "effect" and rounded:  # of two rounded numbers
                    room = room * (2 + np.abs(values))
                assert (np.abs(np.array(shown) - values) <= room).all()
    assert sum(cluster["size"] for cluster in profile["clusters"]) == len(X)
    assert profile["coverage"] == "all"
    assert profile["rounded"] == rounded


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=4, deadline=None)
@given(
    seed=st.integers(0, 1000),
    owner=st.lists(st.integers(0, 20), min_size=150, max_size=150),
    min_count=st.sampled_from([1, 2, 5, 12, 60]),
)
def test_statistics_are_those_of_the_pooled_rows(
    tier: str, kind: str, seed: int, owner: list[int], min_count: int
) -> None:
    if tier == "secure":
        pytest.importorskip("cryptography")
    X, owners = heavy_tailed(150, seed), np.array(owner)
    owners[:3] = range(3)  # masks need three clients
    with TemporaryDirectory() as folder:
        outcome = outcome_of(
            Path(folder),
            X,
            owners,
            tier=tier,
            clustering=KINDS[kind],
            privacy=f"min_count = {min_count}",
        )
        assert_pooled(outcome, X)


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("kind", KINDS)
def test_min_count_changes_no_number_and_no_size(tmp_path: Path, tier: str, kind: str) -> None:
    X, owner = sixty_sites()
    if tier == "secure":
        pytest.importorskip("cryptography")
        owner = owner % 7  # masks between sixty take their time
    clustering = KINDS[kind].replace("3", "8", 1)
    models = []
    for min_count in (1, 5, 40):
        folder = tmp_path / str(min_count)
        privacy = f"min_count = {min_count}"
        outcome = outcome_of(folder, X, owner, tier=tier, clustering=clustering, privacy=privacy)
        models.append(exact_model(outcome, X))
    for other in models[1:]:
        assert other.sizes == models[0].sizes
        assert other.ids == models[0].ids
        np.testing.assert_array_equal(other.centers, models[0].centers)
    assert list(models[0].sizes) == sorted(map(int, filter(None, models[0].sizes)), reverse=True)
    assert sum(map(int, filter(None, models[0].sizes))) == len(X)


@pytest.mark.parametrize(
    ("tier", "kind"), [("none", "hard"), ("none", "fuzzy"), ("secure", "hard")]
)
def test_sixty_sites_have_the_same_totals_everywhere(tmp_path: Path, tier: str, kind: str) -> None:
    if tier == "secure":
        pytest.importorskip("cryptography")
    X, owner = sixty_sites()
    clustering = KINDS[kind].replace("3", "8", 1)
    path = write_sites(tmp_path, X, owner, tier=tier, clustering=clustering, outputs="")
    shown = CliRunner().invoke(app, ["run", str(path)])
    assert shown.exit_code == 0, shown.output
    as_json = CliRunner().invoke(app, ["run", str(path), "--force", "--json"])
    run = tmp_path / "study-run"
    model, profile = load(run), read(run, "profile.json")
    sizes = [int(size or 0) for size in model.sizes]
    if tier == "none":
        assert np.bincount(model.nearest(prepared(model, X)), minlength=8).tolist() == sizes
    on_console = re.findall(r"│ +(\d) │ +([\d,]+) │", shown.output)
    assert [int(n.replace(",", "")) for _, n in on_console] == sizes
    said = json.loads(as_json.stdout)
    assert [cluster["size"] for cluster in said["clusters"]] == sizes
    assert said["sizes_cover"] == "all"
    assert list(model.sizes) == sizes
    assert [cluster["size"] for cluster in read(run, "model.json")["clusters"]] == sizes
    assert [cluster["size"] for cluster in profile["clusters"]] == sizes
    page = Page(write_report(run).read_text())
    cards = re.findall(r"of the rows \(([\d,]+)\)", page.text("clusters"))
    assert [int(n.replace(",", "")) for n in cards] == sizes
    assert sum(sizes) == len(X)
    if tier == "none":
        assert said["withheld_counts"] == profile["withheld"]
        words = f"{profile['withheld']['cells']:,} of 480 counts by client and cluster"
        assert words in " ".join(shown.output.split())
        assert words in page.text("clusters")
    else:
        assert said["withheld_counts"] is profile["withheld"] is None
        for words in (
            "No counts by client and cluster are published.",
            "are rounded, so that 5 rows",
        ):
            assert words in " ".join(shown.output.split())
            assert words in page.text("clusters")


def test_ugly_columns_have_the_statistics_of_the_rows_used(tmp_path: Path) -> None:
    """Missing cells, logarithms and categories; rows that are left out count nowhere."""
    X, owner = sixty_sites(1)
    X = np.column_stack([X[:, 0], np.exp(np.clip(X[:, 1], -5, 5)), X[:, 2] > 0])
    features = 'x0 = {}\nx1 = { log = true }\nx2 = { categories = ["0", "1"] }'
    holes = {(7, 0): "", (8, 0): "NA", (9, 2): "", (70, 1): "NaN", (71, 2): "NA"}
    run = run_sites(tmp_path, X, owner, features=features, missing=holes)
    model, profile = load(run), read(run, "profile.json")
    kept = np.delete(X, [row for row, _ in holes], axis=0)
    table: dict[str, Any] = {
        "x0": kept[:, 0],
        "x1": kept[:, 1],
        "x2": kept[:, 2].astype(int).astype(str),
    }
    rows = model.rows(table)[0]
    labels = model.nearest(rows)
    np.testing.assert_allclose(rows[:, :2].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(rows[:, :2].std(axis=0), 1, rtol=1e-12)
    for c, cluster in enumerate(profile["clusters"]):
        own = kept[labels == c]
        shown = {feature["name"]: feature for feature in cluster["features"]}
        assert cluster["size"] == len(own)
        assert shown["x0"]["mean"] == pytest.approx(own[:, 0].mean(), rel=1e-9)
        assert shown["x1"]["mean"] == pytest.approx(np.exp(np.log(own[:, 1]).mean()), rel=1e-9)
        assert shown["x2=1"]["mean"] == pytest.approx(own[:, 2].mean(), rel=1e-9, abs=1e-12)
        assert shown["x0"]["overall_mean"] == pytest.approx(kept[:, 0].mean(), rel=1e-9)
        assert shown["x0"]["sd"] == pytest.approx(own[:, 0].std(), rel=1e-9)


def test_counts_by_client_and_their_totals_agree(tmp_path: Path) -> None:
    X, owner = sixty_sites()
    run = run_sites(tmp_path, X, owner)
    model, profile = load(run), read(run, "profile.json")
    labels = model.nearest(prepared(model, X))
    withheld = {"cells": 0, "rows": 0}
    for c, cluster in enumerate(profile["clusters"]):
        for m in range(60):
            shown, true = (
                cluster["by_client"][f"s{m:02d}"],
                int(((owner == m) & (labels == c)).sum()),
            )
            if shown is None:
                withheld = {"cells": withheld["cells"] + 1, "rows": withheld["rows"] + true}
            else:
                assert shown == true >= profile["minimum"]
    assert profile["withheld"] == withheld
    used = {client["name"]: client["used"] for client in profile["clients"]}
    assert used == {f"s{m:02d}": int((owner == m).sum()) for m in range(60)}
    cells = [n for row in profile["map"]["grid"]["counts"] for n in row]
    assert 0.5 * len(X) < sum(n or 0 for n in cells) <= len(X)
    assert all(n is None or n >= profile["minimum"] for n in cells)


def test_clusters_of_few_rows_are_counted_but_not_described(tmp_path: Path) -> None:
    """Two rows so far from the others that they are a cluster from the default start."""
    X = np.clip(heavy_tailed(120, 0), -12, 12)
    X[:2] = [[70.0, 70.0, 70.0], [72.0, 70.0, 69.0]]
    path = write_sites(tmp_path, X, np.arange(120) % 4, clustering="n_clusters = 3", outputs="")
    shown = CliRunner().invoke(app, ["run", str(path)])
    run = tmp_path / "study-run"
    model, profile = load(run), read(run, "profile.json")
    assert model.sizes[-1] == 2
    assert model.about is not None
    assert model.about.caveat.startswith("cluster 2 has fewer than 5 rows, so model.json shows")
    assert "Warning: cluster 2 has fewer than 5 rows" in " ".join(shown.output.split())
    last = profile["clusters"][-1]
    assert {f[name] for f in last["features"] for name in ("mean", "sd", "effect")} == {None}
    assert [ellipse["id"] for ellipse in profile["map"]["ellipses"]] == [0, 1]
    row = next(line for line in shown.output.splitlines() if line.startswith("│       2"))
    assert row.count("- │") == 3
    text = Page(write_report(run).read_text()).text("clusters")
    assert "Means are withheld: they would describe fewer than 5 rows" in text
    assert "2% of the rows (2)" in text


def test_a_small_fuzzy_cluster_is_not_the_rest_of_all_rows(tmp_path: Path) -> None:
    """All rows minus the clusters described are at least the minimum of rows."""
    X = heavy_tailed(120, 0)
    X[0] = 75.0
    clustering = 'n_clusters = 4\nfuzzy = true\nfuzzifier = 1.3\nn_init = 5\ninit = "careful"'
    run = run_sites(tmp_path, X, np.arange(120) % 4, clustering=clustering)
    clusters = read(run, "profile.json")["clusters"]
    assert clusters[-1]["size"] == 1
    hidden = [c["size"] for c in clusters if c["features"][0]["mean"] is None]
    assert len(hidden) == 2
    assert all(c["entropy"] is None for c in clusters if c["size"] in hidden)
    assert sum(hidden) >= 5


@pytest.mark.parametrize(
    ("algorithm", "more"), [("lossless", "max_rounds = 2\ninit = 'careful'"), ("fkm", "")]
)
def test_statistics_of_other_rows_than_the_centre_are_rounded(
    tmp_path: Path, algorithm: str, more: str
) -> None:
    X, owner = sixty_sites()
    clustering = f"n_clusters = 3\n{more}"
    run = run_sites(tmp_path, X, owner, algorithm=algorithm, clustering=clustering)
    model, profile = load(run), read(run, "profile.json")
    rows = prepared(model, X)
    labels = model.nearest(rows)
    assert profile["rounded"]
    assert list(model.sizes) == np.bincount(labels).tolist()  # sizes are exact
    for c, cluster in enumerate(profile["clusters"]):
        own = rows[labels == c]
        step = 5 * rows.std(axis=0) / len(own)
        step = np.exp2(np.floor(np.log2(step))) * model.preparation.scale
        for name, values in (
            ("mean", model.preparation.in_units(own.mean(axis=0)[None])[0]),
            ("sd", own.std(axis=0) * model.preparation.scale),
        ):
            shown = np.array([feature[name] for feature in cluster["features"]])
            assert (np.abs(shown - values) <= 0.51 * step).all()
            assert (np.abs(shown - values) > 1e-6 * step).all()
    assert "are rounded" in Page(write_report(run).read_text()).text("clusters")


def test_one_column_and_one_client_have_totals_too(tmp_path: Path) -> None:
    X = heavy_tailed(80, 3)[:, :1]
    features = PLAIN.splitlines()[0]
    outcome = outcome_of(tmp_path, X, np.zeros(80, dtype=int), features=features)
    assert_pooled(outcome, X)
    profile = read(outcome.folder, "profile.json")
    assert profile["map"] is None
    assert profile["withheld"] == {"cells": 0, "rows": 0}
    assert [c["by_client"]["s00"] for c in profile["clusters"]] == [
        c["size"] for c in profile["clusters"]
    ]


class SilentAtTheEnd(InProcess):
    """One client does not reply to one of the queries about clusters."""

    silent = "Profile"

    def exchange(
        self, clients: Sequence[str], request: bytes, seconds: float
    ) -> Iterator[tuple[str, bytes | str]]:
        absent = "west" if unpack(request).header.get("algorithm") == self.silent else ""
        for client, answer in super().exchange(clients, request, seconds):
            if client != absent:
                yield client, answer


@pytest.mark.parametrize("silent", ["Profile", "ClientCounts"])
def test_totals_without_a_client_are_said_to_be_incomplete(tmp_path: Path, silent: str) -> None:
    transport = SilentAtTheEnd(write_kits(tmp_path / "kits"))
    transport.silent = silent
    remote = RemoteChannel(transport, about={"study": "s"})
    done = run_across(write_study(tmp_path, "llf-cm"), remote, tmp_path / "run")
    profile = done.profile
    assert profile.rows_used == 180
    sizes = [cluster.size or 0 for cluster in profile.clusters]
    assert (profile.coverage, sum(sizes)) == (
        ("replied", 120) if silent == "Profile" else ("all", 180)
    )
    # The difference between totals and counts would be the client that was silent.
    assert profile.withheld is None
    assert all(cluster.by_client == {} for cluster in profile.clusters)
    text = Page(write_report(tmp_path / "run").read_text()).text("clusters")
    assert ("some clients did not reply" in text) == (silent == "Profile")


@pytest.mark.parametrize("scaling", ["standard", "min-max", "none"])
@pytest.mark.parametrize("at", [0.0, 1e7])
def test_statistics_are_exact_on_every_scale_and_far_from_zero(
    tmp_path: Path, scaling: str, at: float
) -> None:
    X, owner = sixty_sites(2)
    X = X * [1e-3, 1.0, 1e3] + at
    features, data = "x0 = {}\nx1 = {}\nx2 = {}", f'scaling = "{scaling}"'
    run = run_sites(tmp_path, X, owner, features=features, data=data)
    model, profile = load(run), read(run, "profile.json")
    labels = model.nearest(prepared(model, X))
    assert not profile["rounded"]
    for c, cluster in enumerate(profile["clusters"]):
        shown = [feature["mean"] for feature in cluster["features"]]
        np.testing.assert_allclose(shown, X[labels == c].mean(axis=0), rtol=1e-9, atol=1e-9)
