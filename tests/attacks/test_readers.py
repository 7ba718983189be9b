"""The published files of followed studies give no record away, alone or together."""

import json
from pathlib import Path

import numpy as np
import pytest

from fedclust import load
from fedclust.report import write_report

from ..support.following import Federation
from .followed import DATA
from .readers import CONSENT, attack

pytest.importorskip("cryptography")


@pytest.mark.parametrize("name", DATA)
def test_files_of_several_studies_together_hold_no_record(name: str) -> None:
    """Exact centres, and means without clients that have few rows of a cluster, give records."""
    (exact, _), files = attack(name, splits=(1, 2))
    assert exact >= 1
    assert files == [0, 0]


@pytest.mark.parametrize("n_alone", [1, 4])
def test_no_file_shows_a_cluster_of_few_rows(tmp_path: Path, n_alone: int) -> None:
    """The size says that there is such a cluster; nothing says where, and words say what is so."""
    rng = np.random.default_rng(0)
    rows = {f"c{m:02d}": rng.uniform(0.1, 0.4, (30, 3)) for m in range(3)}
    alone = np.array([0.987654321, 0.912345678, 0.956789123])
    rows["c01"] = np.vstack([rows["c01"], np.tile(alone, (n_alone, 1))])
    there = Federation(tmp_path / "there", rows, k=2, consent=CONSENT)
    outcome = there.run(tmp_path / "run")
    exact = outcome.clustering.centers
    assert np.abs(exact - alone).max(axis=1).min() < 1e-9  # the server's totals hold it
    write_report(outcome.folder)
    files = {file.name: file.read_text() for file in outcome.folder.iterdir() if file.is_file()}
    for name in ("model.json", "profile.json", "report.html", "history.jsonl"):
        for value in alone:
            assert f"{value:.3f}"[:5] not in files[name].replace(" ", ""), name
    model, profile = (json.loads(files[f"{name}.json"]) for name in ("model", "profile"))
    few = next(c for c in model["clusters"] if c["size"] == n_alone)
    assert few["center"] is few["center_in_units"] is None
    assert "fewer than 5 rows, so its centre is withheld" in model["caveat"]
    described = next(c for c in profile["clusters"] if c["id"] == few["id"])
    assert all(f["mean"] is f["sd"] is f["effect"] is None for f in described["features"])
    overall = np.array([f["overall_mean"] for f in described["features"]])
    other = next(c for c in model["clusters"] if c["size"] != n_alone)
    n, mean = other["size"] + n_alone, np.array(other["center_in_units"])
    rest = (n * overall - other["size"] * mean) / n_alone  # all rows minus the other cluster
    assert np.abs(rest - alone).max() > 0.05
    labels = load(outcome.folder).predict({f"x{f}": alone[[f]] for f in range(3)})
    assert labels == [other["id"]]
