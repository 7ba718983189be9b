"""Whether one row of a cluster has a rare category, which no published number may show."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fedclust
from fedclust.clustering.preparation import Preparation
from fedclust.clustering.summary import publish
from fedclust.clustering.summary.value import DataSummary
from fedclust.results import ChoiceRecord, ScoreRecord
from fedclust.study.precision import EXACT, Precision
from fedclust.typing import Array, FloatArray

pytest.importorskip("cryptography")
N = 360  # rows, in two clusters far apart
FEATURES = {
    "x": {"low": 0.0, "high": 1.0},
    "y": {"low": 0.0, "high": 1.0},
    "kind": {"categories": ["common", "rare"]},
}


def numbers_of(folder: Path, algorithm: str, kind: Array) -> dict[str, list[Any]]:
    """All numbers about the category in the files of a run."""
    rng = np.random.default_rng(0)
    rows = np.where(np.arange(N)[:, None] % 2, 0.2, 0.8) + rng.normal(0, 0.02, (N, 2))
    tables = {
        f"c{m}": {"x": rows[m::3, 0], "y": rows[m::3, 1], "kind": kind[m::3]} for m in range(3)
    }
    done = fedclust.run_study(
        tables,
        folder,
        n_clusters=2,
        algorithm=algorithm,
        privacy={"tier": "secure", "max_queries": 1000},
        features=FEATURES,
        settings={"outputs": {"labels": "none", "report": False}},
    )
    model, profile = (
        json.loads((done.folder / f"{name}.json").read_text()) for name in ("model", "profile")
    )
    found: dict[str, list[Any]] = {"centre": [c["center"][2:] for c in model["clusters"]]}
    found["profile"] = [
        {n: v for n, v in feature.items() if n != "unit"}
        for cluster in profile["clusters"]
        for feature in cluster["features"]
        if feature["name"].startswith("kind=")
    ]
    found["scale"] = [model["preparation"][name][2:] for name in ("offset", "scale")]
    if model.get("density"):
        density = np.array(model["density"])
        found["density"] = density[:, [0, 9, 10, 11, 12]].tolist()  # base, kind's weights and costs
    return found


def kinds(rare: int) -> Array:
    """The categories of all rows, of which so many in the first cluster are rare."""
    kind = np.full(N, "common", dtype=object)
    kind[: 2 * rare : 2] = "rare"
    return kind


@pytest.mark.parametrize("algorithm", ["lossless", "llf-prototypes", "llf-mixture"])
def test_one_row_with_a_rare_category_shows_nowhere(algorithm: str, tmp_path: Path) -> None:
    none, one = (numbers_of(tmp_path / str(n), algorithm, kinds(n)) for n in (0, 1))
    assert one == none
    assert numbers_of(tmp_path / "40", algorithm, kinds(40)) != none, "many rows do show"


@pytest.mark.parametrize("algorithm", ["lossless", "llf-mixture"])
def test_by_deviations_alone_it_would_show(
    algorithm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps of standard deviations are short where a category is rare."""
    monkeypatch.setattr(Preparation, "heights", property(lambda self: np.zeros(len(self.scale))))
    none, one = (numbers_of(tmp_path / str(n), algorithm, kinds(n)) for n in (0, 1))
    assert one != none


def test_a_summary_says_of_few_rows_neither_their_category_nor_that_they_agree() -> None:
    def summary(rare: float) -> FloatArray:
        weight = np.array([100.0, 200.0])
        share = np.array([[rare / 100.0], [0.0]])
        square = weight[:, None] * share * (1 - share)
        exact = DataSummary(share, weight, square, np.zeros((2, 2)))
        shown = publish(exact, 5, Preparation((KIND,), np.zeros(1), np.ones(1), None))
        return np.hstack([shown.centers, shown.square])

    assert (summary(0) == summary(1)).all()
    assert (summary(0) != summary(40)).any()


class _Kind:
    """A column with one encoded category."""

    categories = ("rare",)
    encoded_names = ("kind=rare",)


KIND: Any = _Kind()


def test_evidence_for_a_number_of_clusters_is_rounded_as_other_indices() -> None:
    """Two guesses of a record could be distinguished by the last digits of an index."""
    scores = (ScoreRecord(3, {"silhouette": 0.701234567, "inertia": None}),)
    exact = ChoiceRecord(recommended=3, why="", weak=False, scores=scores, favourites={})
    found = [
        Precision(5, 450.0)
        .round_choice(replace(exact, scores=(ScoreRecord(3, {"silhouette": v, "inertia": None}),)))
        .scores[0]
        .indices
        for v in (0.701234567, 0.7013)
    ]
    assert found[0] == found[1]
    assert found[0]["silhouette"] == pytest.approx(0.70, abs=0.01)
    assert found[0]["inertia"] is None
    assert EXACT.round_choice(exact) == exact
    perfect = replace(exact, scores=(ScoreRecord(3, {"stability": 1.0, "weakest-cluster": None}),))
    assert Precision(5, 450.0).round_choice(perfect) == perfect  # not above one


def test_a_likelihood_near_zero_has_no_more_digits() -> None:
    """A part of its value would be less than what one row adds."""
    digits = Precision(5, 450.0)
    assert digits.round_sum(0.3) == digits.round_sum(1.7)
    assert digits.round_sum(-900.0) == pytest.approx(-900.0, abs=10)
    assert EXACT.round_sum(0.3) == 0.3
