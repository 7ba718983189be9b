"""The command line."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from fedclust import __version__
from fedclust.algorithms import ALGORITHMS
from fedclust.cli import app

run = CliRunner().invoke


def test_help_shows_the_purpose() -> None:
    shown = run(app, ["--help"])
    assert shown.exit_code == 0
    assert "no row leaves its owner" in " ".join(shown.output.split())
    for command in ("demo", "algorithms"):
        assert command in shown.output


COMMANDS: Any = typer.main.get_command(app)


@pytest.mark.parametrize("command", sorted(COMMANDS.commands))
def test_every_option_is_explained_in_a_sentence(command: str) -> None:
    for parameter in COMMANDS.commands[command].params:
        text = str(getattr(parameter, "help", None) or "")
        if parameter.param_type_name == "option":
            assert re.fullmatch(r"[A-Z].{9,}\.", text.replace("\n", " ")), (parameter.name, text)
            assert not parameter.secondary_opts  # no --no-force beside --force


@pytest.mark.parametrize("command", ["", *sorted(COMMANDS.commands)])
def test_help_shows_no_type_for_options_without_a_value(command: str) -> None:
    shown = run(app, [*([command] if command else []), "--help"])
    assert shown.exit_code == 0
    for line in shown.output.splitlines():
        if re.search(r"--(help|version|force|resume|json|all)\b", line):
            assert "<bool>" not in line
            assert "BOOL" not in line


def test_help_shows_brackets_as_they_are() -> None:
    assert "fedclust[data]" in " ".join(run(app, ["example", "--help"]).output.split())


def test_the_version_is_shown() -> None:
    assert run(app, ["--version"]).output.strip() == f"fedclust {__version__}"


def test_all_algorithms_are_listed() -> None:
    shown = run(app, ["algorithms"])
    assert shown.exit_code == 0
    for key in ALGORITHMS:
        assert key in shown.output


def test_the_demo_prints_its_results_and_draws_them(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "birds.png"
    shown = run(app, ["demo", "--out", str(picture)])
    assert shown.exit_code == 0, shown.output
    text = " ".join(shown.output.split())
    for island in ("Biscoe", "Dream", "Torgersen"):
        assert f"{island} alone" in text
    assert "labels are identical" in text
    assert "What the server learns" in text
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert picture.stat().st_size > 30_000


def most_numbers_sent(rows: int, n_features: int, k: int, n_rounds: int) -> int:
    """What a client sends at most, by the steps in docs/starts.md."""
    of_cluster = n_features + 1  # its sum and its weight
    groups = rows // 3 * of_cluster
    micro_clusters = 3 * 128 * of_cluster
    rivals = 129 + (64 + 64 + 16 + 4) * (1 + k * of_cluster) + 4  # compared first, then four steps
    clustering = (n_rounds + 1) * (1 + k * of_cluster)  # and the final score
    return groups + micro_clusters + rivals + clustering


def test_the_demo_equals_the_pooled_run_and_beats_every_island() -> None:
    from fedclust.cli.demo.islands import run_islands

    for seed in range(3):
        found = run_islands(seed)
        gap, same_labels = found.against_pooled()
        assert gap < 1e-12
        assert same_labels
        together = found.accuracy(found.together)
        assert all(found.accuracy(alone) < together for alone in found.alone.values())
        largest = max(np.sum(found.birds.client == c) for c in range(3))
        limit = most_numbers_sent(int(largest), 4, 3, found.together.n_rounds_)
        assert max(found.together.bytes_sent_.values()) <= 8 * limit


def test_without_matplotlib_the_demo_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    shown = run(app, ["demo", "--out", str(tmp_path / "x.png")])
    assert shown.exit_code == 0
    assert "pip install 'fedclust[plot]'" in " ".join(shown.output.split())


def test_the_installed_command_runs() -> None:
    done = subprocess.run(
        [Path(sys.executable).parent / "fedclust", "--version"],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ,
    )
    assert done.stdout.startswith("fedclust ")


def test_a_mistake_is_reported_without_a_traceback(tmp_path: Path) -> None:
    shown = run(app, ["demo", "--out", str(tmp_path / "nowhere" / "x.png")])
    assert shown.exit_code == 1
    assert "fedclust: --out: there is no folder" in " ".join(shown.output.split())
    assert "Traceback" not in shown.output
    assert run(app, ["demo", "--seed", "-1"]).exit_code == 2


def test_the_vertical_demo_prints_its_results_and_draws_them(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "teams.png"
    shown = run(app, ["demo", "vertical", "--out", str(picture)])
    assert shown.exit_code == 0, shown.output
    text = " ".join(shown.output.replace("│", " ").split())
    for words in (
        "north team",
        "295 of your 325 rows take part",
        "labels are identical",
        "semi-trusted server",
    ):
        assert words in text
    assert picture.stat().st_size > 30_000


def test_without_matplotlib_the_vertical_demo_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    shown = run(app, ["demo", "vertical", "--out", str(tmp_path / "x.png")])
    assert "pip install 'fedclust[plot]'" in " ".join(shown.output.split())


def test_two_teams_find_more_than_one() -> None:
    from fedclust.cli.demo.teams import run_teams
    from fedclust.metrics import majority_accuracy

    for seed in range(3):
        found = run_teams(seed)
        species = found.birds.y[found.shared]  # type: ignore[index]
        together = majority_accuracy(species, found.model.labels_)
        assert all(majority_accuracy(species, alone) < together for alone in found.alone.values())
        assert found.difference < 1e-12
        assert (found.model.labels_ == found.pooled).all()
