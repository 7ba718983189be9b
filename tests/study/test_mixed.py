"""Studies over numbers and categories: files, batches, labels, report, refusals."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedclust import ConfigError
from fedclust import load as load_model
from fedclust.core.files import write_text
from fedclust.study import read_study
from fedclust.study.export import export
from fedclust.study.run import run_study

from .example import read

STUDY = """
[clients]
north = "north.csv"
south = "south.csv"
west = "west.csv"

[clustering]
algorithm = "{algorithm}"
n_clusters = {k}
{clustering}

[data]
missing = "partial"
{data}

[privacy]
tier = "{tier}"

[features]
dose = {{ low = -10, high = 20, unit = "mg" }}
kind = {{ categories = ["red", "green", "blue"] }}

[outputs]
report = false
"""


def write(folder: Path, algorithm: str, tier: str = "none", k: str = "2", **more: str) -> Path:
    """Three clients with two clusters of numbers and words, some cells empty."""
    rng = np.random.default_rng(0)
    for name in ("north", "south", "west"):
        lines = ["dose,kind"]
        for row in range(60):
            own = row % 2
            dose = "" if rng.random() < 0.1 else f"{rng.normal(8 * own, 1 + own):.4f}"
            words = ["red", "green"] if own == 0 else ["blue", "green"]
            kind = "" if dose and rng.random() < 0.1 else words[int(rng.random() < 0.2)]
            lines.append(f"{dose},{kind}")
        write_text(folder / f"{name}.csv", "\n".join(lines) + "\n")
    settings = {"clustering": "", "data": "", **more}
    text = STUDY.format(algorithm=algorithm, tier=tier, k=k, **settings)
    write_text(folder / "study.toml", text)
    return folder / "study.toml"


def run(study: Path) -> tuple[Any, dict[str, Any]]:
    """The outcome of a study, and its profile."""
    done = run_study(read_study(study), study.parent / "run", force=True)
    return done, json.loads((study.parent / "run" / "profile.json").read_text())


@pytest.mark.parametrize("tier", ["none", "secure"])
@pytest.mark.parametrize("algorithm", ["llf-prototypes", "llf-mixture"])
def test_clusters_labels_and_shares(tmp_path: Path, algorithm: str, tier: str) -> None:
    done, profile = run(write(tmp_path, algorithm, tier))
    labels = [read(done, name) for name in ("north", "south", "west")]
    found = np.array([one["cluster"] for one in labels])
    same = np.mean(found == np.arange(60) % 2)
    assert max(same, 1 - same) > 0.9
    sizes = [cluster["size"] for cluster in profile["clusters"]]
    assert sizes == [int((found == c).sum()) for c in range(2)]
    shares = [[f["mean"] for f in c["features"][1:]] for c in profile["clusters"]]
    np.testing.assert_allclose(np.sum(shares, axis=1), 1.0, atol=0.2)  # shares of rows, not modes
    assert 0.6 < np.max(shares) < (0.95 if tier == "none" else 1.05)  # masked ones are rounded
    model = load_model(tmp_path / "run")
    table = {"dose": [0.0, 8.0, np.nan], "kind": ["red", None, "blue"]}
    predicted = model.predict(table)
    assert predicted[0] != predicted[1] == predicted[2]
    if algorithm == "llf-mixture":
        membership = np.array([labels[0]["membership_0"], labels[0]["membership_1"]])
        np.testing.assert_allclose(membership.sum(axis=0), 1.0)
        assert {q["index"] for q in profile["quality"]} == {"log-likelihood", "bic", "icl"}
        np.testing.assert_allclose(model.predict_proba(table).sum(axis=1), 1.0)


def test_a_category_centre_is_its_most_frequent_value(tmp_path: Path) -> None:
    done, _ = run(write(tmp_path, "llf-prototypes"))
    in_units = done.model.centers_in_units[:, 1:]
    np.testing.assert_allclose(np.sort(in_units, axis=1), [[0, 0, 1]] * 2, atol=1e-12)
    heavy, _ = run(write(tmp_path, "llf-prototypes", data="category_weight = 4.0"))
    scale = heavy.model.preparation.scale
    np.testing.assert_allclose(2.0 / scale[1:] ** 2, 4.0)
    assert scale[0] == done.model.preparation.scale[0]


@pytest.mark.parametrize("algorithm", ["llf-prototypes", "llf-mixture"])
def test_batches_give_the_same_result(tmp_path: Path, algorithm: str) -> None:
    whole, _ = run(write(tmp_path, algorithm, "secure"))
    parts, _ = run(write(tmp_path, algorithm, "secure", data="batch_rows = 16"))
    np.testing.assert_array_equal(whole.model.centers, parts.model.centers)


def test_bic_chooses_the_number_of_clusters(tmp_path: Path) -> None:
    done, _ = run(write(tmp_path, "llf-mixture", k='"auto"', clustering="k_range = [2, 4]"))
    assert done.choice.recommended == 2
    assert "lowest BIC" in done.choice.why
    scores = [score.indices["bic"] for score in done.choice.scores]
    assert scores[0] == min(scores)


def test_what_a_mixture_does_not_do_is_refused_in_words(tmp_path: Path) -> None:
    done, _ = run(write(tmp_path, "llf-mixture"))
    for suffix in ("onnx", "skops"):
        with pytest.raises(ConfigError, match="a mixture cannot be exported yet"):
            export(done.model, tmp_path / f"model.{suffix}")
    with pytest.raises(ConfigError, match="has no distances that weigh categories"):
        read_study(write(tmp_path, "llf-mixture", data="category_weight = 4.0"))
    with pytest.raises(ConfigError, match="no smaller protection than masks is known"):
        read_study(write(tmp_path, "llf-mixture", "guarded"))
