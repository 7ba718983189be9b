"""Which epsilon a study needs, tried on data of its size."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fedclust import ConfigError
from fedclust.cli import app
from fedclust.cli.tools.budget import draw, try_epsilons

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
def test_what_cannot_be_tried_is_said(change: dict[str, object], words: str) -> None:
    settings = {"n_rows": 100, "n_clusters": 2, "n_features": 2, "n_clients": 5, **change}
    with pytest.raises(ConfigError, match=words):
        try_epsilons(**settings)  # type: ignore[arg-type]


def test_pictures_are_of_two_kinds(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="use a .png or .svg file"):
        draw([], tmp_path / "x.pdf")
