"""A study's rows, dealt to many clients."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fedclust import ConfigError
from fedclust.cli import app
from fedclust.cli.tools.simulate import simulate
from fedclust.study import read_study

from .example import SMALLEST, write


@pytest.mark.parametrize("split", ["iid", "dirichlet"])
@pytest.mark.parametrize("clients", [1, 7, 78])
def test_a_lossless_study_does_not_care_how_many_clients_there_are(
    tmp_path: Path, split: str, clients: int
) -> None:
    found = simulate(read_study(write(tmp_path)), clients, split)
    assert found.clients == clients
    assert found.inertia == pytest.approx(found.pooled, rel=1e-9)
    assert found.rows[0] <= found.rows[1] <= found.rows[2]
    assert found.bytes_up > 0


def test_algorithms_without_a_start_are_simulated_too(tmp_path: Path) -> None:
    study = read_study(write(tmp_path, SMALLEST.replace("lossless", "one-shot")))
    assert simulate(study, 5).inertia > 0


@pytest.mark.parametrize(
    ("change", "clients", "split", "words"),
    [
        (("n_clusters = 2", 'n_clusters = "auto"'), 5, "iid", "needs a number for n_clusters"),
        (("n_clusters = 2", "n_clusters = 2"), 79, "iid", "from 1 to 78"),
        (("n_clusters = 2", "n_clusters = 2"), 5, "fair", "--split must be one of iid, dirichlet"),
        (("[clustering]", "[data]\nbatch_rows = 9\n[clustering]"), 5, "iid", "set batch_rows = 0"),
    ],
)
def test_what_cannot_be_simulated_is_said(
    tmp_path: Path, change: tuple[str, str], clients: int, split: str, words: str
) -> None:
    study = read_study(write(tmp_path, SMALLEST.replace(*change)))
    with pytest.raises(ConfigError, match=words):
        simulate(study, clients, split)


def test_the_simulate_command(tmp_path: Path) -> None:
    path = str(write(tmp_path))
    shown = CliRunner().invoke(app, ["simulate", path, "--clients", "20"])
    assert shown.exit_code == 0, shown.output
    assert "llf-cm: 20 clients with 3 to 4 rows" in shown.output
    assert "1.000000 times that of one client with all rows" in shown.output
    shown = CliRunner().invoke(app, ["simulate", path, "--clients", "20", "--json"])
    assert json.loads(shown.stdout)["clients"] == 20
