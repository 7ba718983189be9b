"""Which epsilon a study needs, tried on data of its size."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fedclust import ConfigError
from fedclust.cli import app
from fedclust.cli.tools.budget import Sizes, draw, read_sizes, try_epsilons

pytest.importorskip("opendp", reason="noise needs fedclust[dp]")


def test_more_budget_finds_more(tmp_path: Path) -> None:
    found = try_epsilons(4_000, 4, 2, 4, epsilons=(0.01, 8.0), n_seeds=2)
    assert found[0].median < found[1].median
    assert found[1].worst > 0.9
    pytest.importorskip("matplotlib")
    draw(found, tmp_path / "budget.png")
    assert (tmp_path / "budget.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize("tier", ["dp", "secure+dp"])
def test_the_budget_command(tmp_path: Path, tier: str) -> None:
    words = ["budget", "--rows", "600", "--clusters", "2", "--clients", "3", "--seeds", "1"]
    shown = CliRunner().invoke(app, [*words, "--tier", tier])
    assert shown.exit_code == 0, shown.output
    assert shown.output.count("epsilon ") >= 7
    shown = CliRunner().invoke(app, [*words, "--tier", tier, "--json"])
    assert json.loads(shown.stdout)[0]["epsilon"] == 0.1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"tier": "none"}, "--tier must be one of dp, secure"),
        ({"n_clients": 2}, "needs at least 3 clients"),
        ({"n_seeds": 0}, "--seeds must be at least 1, got 0"),
        ({"n_features": 0}, "--features must be at least 1, got 0"),
    ],
)
def test_invalid_arguments_are_refused(change: dict[str, object], words: str) -> None:
    settings = {"n_rows": 100, "n_clusters": 2, "n_features": 2, "n_clients": 5, **change}
    with pytest.raises(ConfigError, match=words):
        try_epsilons(**settings)  # type: ignore[arg-type]


def test_pictures_are_png_or_svg(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="use a .png or .svg file"):
        draw([], tmp_path / "x.pdf")


def test_sizes_are_read_from_a_study(tmp_path: Path) -> None:
    text = (
        '[clients]\na = "a.csv"\nb = "b.csv"\nc = "c.csv"\n[clustering]\nalgorithm = "lossless"\n'
    )
    text += "n_clusters = 2\n[features]\nx = { low = 0, high = 9 }\ny = { low = 0, high = 9 }\n"
    text += 'kind = { categories = ["u", "v"] }\n[privacy]\ntier = "dp"\ndelta = 1e-7\n'
    path = tmp_path / "study.toml"
    path.write_text(text)
    for client in "abc":
        lines = [f"{i % 9},{i % 7},{'uv'[i % 2]}" for i in range(200)]
        (tmp_path / f"{client}.csv").write_text("\n".join(["x,y,kind", *lines]) + "\n")
    found = read_sizes(path)
    assert found == Sizes(600, 2, 4, 3, "dp", 1e-7)
    shown = CliRunner().invoke(app, ["budget", str(path), "--seeds", "1"])
    assert "600 rows of 3 clients, 2 clusters, 4 features, tier dp" in shown.output
    path.write_text(text.replace('"dp"\ndelta = 1e-7', '"none"'))
    assert read_sizes(path) == Sizes(600, 2, 4, 3)
    path.write_text(text.replace("n_clusters = 2", 'n_clusters = "auto"'))
    assert read_sizes(path) == Sizes(600, 15, 4, 3, "dp", 1e-7)  # no more than 15 are chosen
    (tmp_path / "b.csv").unlink()
    with pytest.raises(ConfigError, match="give --rows, which no study file says"):
        Sizes().complete(read_sizes(path))
