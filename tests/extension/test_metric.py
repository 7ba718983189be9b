"""An index from outside the package, in one file: registered, federated, in a study's report."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from fedclust import ConfigError, metrics
from fedclust.channels import LocalChannel
from fedclust.cli import app
from fedclust.core import Data, Plan, Schema, run
from fedclust.typing import FloatArray


def within_and_sizes(rows: metrics.Rows) -> FloatArray:
    within = rows.weight @ rows.D.min(axis=1)
    return np.concatenate([[within], metrics.cluster_sizes(rows)])


def within_over_between(sums: FloatArray, centers: FloatArray) -> float:
    within, sizes = sums[0], sums[1:]
    mean = sizes @ centers / sizes.sum()
    return float(within / (sizes @ ((centers - mean) ** 2).sum(axis=1)))


RATIO = metrics.Index(
    name="within-between",
    title="Within/between",
    meaning="squared distances within clusters over those between them",
    better="lower",
    sums=within_and_sizes,
    formula=within_over_between,
    size=lambda n_clusters: n_clusters + 1,
    min_clusters=2,
    chooses_k=True,
)

STUDY = """
[clients]
north = "north.csv"
south = "south.csv"

[clustering]
algorithm = "lossless"
n_clusters = "auto"
k_range = [2, 4]
"""


@pytest.fixture
def ratio() -> Iterator[metrics.Index]:
    yield metrics.register(RATIO)
    metrics.unregister(RATIO.name)


def rows(middle: float, n: int = 60) -> FloatArray:
    rng = np.random.default_rng(int(middle))
    return rng.normal(size=(n, 2)) + middle * rng.integers(0, 2, (n, 1))


@pytest.mark.usefixtures("ratio")
def test_the_federated_index_equals_the_pooled_one() -> None:
    a, b = rows(5), rows(9)
    X, centers = np.vstack([a, b]), np.array([[0.0, 0.0], [5.0, 5.0], [9.0, 9.0]])
    D = ((X[:, None] - centers) ** 2).sum(axis=2)
    sizes = np.bincount(D.argmin(axis=1), minlength=3)
    between = sizes @ ((centers - sizes @ centers / len(X)) ** 2).sum(axis=1)
    expected = D.min(axis=1).sum() / between
    assert metrics.evaluate("within-between", X, centers) == pytest.approx(expected)
    assert RATIO(X, centers) == pytest.approx(expected)
    channel = LocalChannel({"a": Data.of(a), "b": Data.of(b)}, strict=True)
    alone = run(Plan(metrics.Evaluation(3, centers, "within-between")), channel, Schema(2)).model
    assert alone == pytest.approx(expected, rel=1e-12)
    several = metrics.Evaluation(3, centers, ("davies-bouldin", "within-between", "score"))
    found = run(Plan(several), channel, Schema(2)).model
    assert found.indices["within-between"] == pytest.approx(expected, rel=1e-12)
    assert found.indices["score"] == pytest.approx(metrics.score(X, centers), rel=1e-12)


@pytest.mark.usefixtures("ratio")
def test_a_study_reports_the_index_and_compares_numbers_of_clusters_by_it(tmp_path: Path) -> None:
    for client, middle in (("north", 5.0), ("south", 9.0)):
        lines = [f"{x:.3f},{y:.3f}" for x, y in rows(middle)]
        (tmp_path / f"{client}.csv").write_text("\n".join(["x,y", *lines]) + "\n")
    (tmp_path / "study.toml").write_text(STUDY)
    folder = tmp_path / "run"
    shown = CliRunner().invoke(app, ["run", str(tmp_path / "study.toml"), "--out", str(folder)])
    assert shown.exit_code == 0, shown.output
    quality = json.loads((folder / "profile.json").read_text())["quality"]
    [line] = [one for one in quality if one["index"] == "within-between"]
    assert line["value"] > 0
    assert line["better"] == "lower"
    choice = json.loads((folder / "choice.json").read_text())
    values = {one["n_clusters"]: one["indices"]["within-between"] for one in choice["scores"]}
    assert choice["favourites"]["within-between"] == min(values, key=lambda k: values[k])
    page = (folder / "report.html").read_text()
    assert "Within/between" in page
    assert RATIO.meaning in page


def test_without_registration_the_index_does_not_exist() -> None:
    assert "within-between" not in metrics.INDICES
    with pytest.raises(ConfigError, match="register a custom index on every machine"):
        metrics.Evaluation(2, np.zeros((2, 1)), "within-between")
